/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what the analysis of a fleet costs, on a synthetic one with one bad resource:
 * fleetsim [NAME=VALUE...] [--quick | text | json]. Prints CPU time and memory of adding the
 * connections, the analysis and the report; or the report itself. `fleetsim help` lists the names.
 * The host side's limit is one host: fleetsim hosts=1 rack=1 connections=10000.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/version.h"
#include "fleet/report.h"
#include "output/json.h"
#include "output/text.h"
#include "tests/sim/fleet_world.h"

#define OUTPUT_MAX (256UL << 20)

enum param_name {
	HOSTS, RACK, CONNECTIONS, INTERVALS, APPS, HOST_APPS, SERVICES, UPLINKS, VARYING, RATE,
	MEMORY, LOAD, MISSING, CLOCK_ERROR, REMOTES, STRETCHES, FACTOR, SEED, PARAMS
};

static struct param {
	const char *name;
	double value;
	const char *help;
} params[PARAMS] = {
	[HOSTS] = { "hosts", 200, "hosts, a multiple of `rack`" },
	[RACK] = { "rack", 8, "hosts of a rack" },
	[CONNECTIONS] = { "connections", 150, "connections of a host" },
	[INTERVALS] = { "intervals", 1800, "intervals of 2 s" },
	[APPS] = { "apps", 100, "applications" },
	[HOST_APPS] = { "host-apps", 5, "applications of a host, each in a container" },
	[SERVICES] = { "services", 200, "services; an application talks to 3" },
	[UPLINKS] = { "uplinks", 4, "uplinks of a rack, each to a switch of its own" },
	[VARYING] = { "varying", 0.07, "share of connections' classes that have a problem" },
	[RATE] = { "rate", 0.02, "mean share of intervals with the problem, of these" },
	[MEMORY] = { "memory", 3, "mean length of a problem, in intervals" },
	[LOAD] = { "load", 0.3, "swing of the rates within the time, 0 to 1" },
	[MISSING] = { "missing", 0.05, "share of connections that are known half of the time" },
	[CLOCK_ERROR] = { "clock-error", 50, "hosts' clocks are off by up to so many ms" },
	[REMOTES] = { "remotes", 1, "connections share the other host, its rack and uplink: 0, 1" },
	[STRETCHES] = { "stretches", 1, "connections are added as stretches: 0, 1" },
	[FACTOR] = { "factor", 10, "how much more of the problem the bad resource has" },
	[SEED] = { "seed", 1, "seed" },
};

static enum fleet_kind problem_kind = FLEET_LINK;
static const char *form;

static double clock_s(clockid_t clock)
{
	struct timespec t;

	BUG_ON(clock_gettime(clock, &t));
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double memory_mib(void)
{
	struct rusage usage;

	BUG_ON(getrusage(RUSAGE_SELF, &usage));
	return (double)usage.ru_maxrss / 1024;
}

static void make_report(const struct fleet *f, const struct fleet_result *result)
{
	const struct provenance who = { .version = hostlat_version(), .command = "fleet",
					.schema = FLEET_SCHEMA };
	const struct text_style style = { .width = 160, .utf8 = true };
	const struct fleet_view view = { .application = FLEET_NONE };
	struct strbuf out = STRBUF_INIT(OUTPUT_MAX);
	struct report r;

	report_init(&r, &who);
	BUG_ON(fleet_report(f, result, &view, &r));
	if (form && !strcmp(form, "text"))
		text_report(&r, &style, &out);
	else
		json_report(&r, JSON_DOCUMENT, &out);
	if (form)
		fputs(strbuf_str(&out), stdout);
	else
		printf("report: %zu KiB of JSON, %zu findings\n", out.len / 1024,
		       result->findings.len);
	strbuf_release(&out);
	report_release(&r);
}

/* ---- parameters ---- */

static int usage(void)
{
	fprintf(stderr, "fleetsim [NAME=VALUE...] [--quick | text | json]\n");
	for (int i = 0; i < PARAMS; i++)
		fprintf(stderr, "  %-12s %s (%g)\n", params[i].name, params[i].help,
			params[i].value);
	fprintf(stderr, "  %-12s kind of the bad resource, such as link, rack, host (link)\n",
		"problem");
	return 2;
}

static bool take_problem(const char *name)
{
	for (unsigned int kind = 0; kind < FLEET_KINDS; kind++)
		if (!strcmp(name, fleet_kind_name(kind))) {
			problem_kind = kind;
			return true;
		}
	return false;
}

static bool take_param(const char *arg)
{
	const char *value = strchr(arg, '=');
	char *end;

	if (!value)
		return false;
	if (!strncmp(arg, "problem=", 8))
		return take_problem(value + 1);
	for (int i = 0; i < PARAMS; i++)
		if (strlen(params[i].name) == (size_t)(value - arg) &&
		    !strncmp(params[i].name, arg, (size_t)(value - arg))) {
			params[i].value = strtod(value + 1, &end);
			return end != value + 1 && !*end && params[i].value >= 0 &&
			       params[i].value <= 2e6;
		}
	return false;
}

static bool take(const char *arg)
{
	if (!strcmp(arg, "--quick")) {
		params[HOSTS].value = 24;
		params[RACK].value = 4;
		params[CONNECTIONS].value = 12;
		params[INTERVALS].value = 300;
		params[VARYING].value = 1;
		return true;
	}
	if (strcmp(arg, "text") != 0 && strcmp(arg, "json") != 0)
		return take_param(arg);
	form = arg;
	return true;
}

static uint32_t whole(enum param_name name)
{
	return (uint32_t)params[name].value;
}

static struct world_options make_options(void)
{
	struct world_options o = world_usual(whole(SEED));

	o.hosts = whole(RACK);
	o.racks = o.hosts ? whole(HOSTS) / o.hosts : 0;
	o.conns = whole(CONNECTIONS);
	o.intervals = whole(INTERVALS);
	o.apps = whole(APPS);
	o.host_apps = whole(HOST_APPS);
	o.services = whole(SERVICES);
	o.links = whole(UPLINKS);
	o.rate = params[RATE].value;
	o.burst = params[MEMORY].value;
	o.load = params[LOAD].value;
	o.missing = params[MISSING].value;
	o.clock_error_ns = (uint64_t)(params[CLOCK_ERROR].value * 1e6);
	o.quiet = 1 - params[VARYING].value;
	o.remotes = params[REMOTES].value > 0;
	o.stretches = params[STRETCHES].value > 0;
	o.classes = (1u << FLEET_CLASSES) - 1;
	return o;
}

/* ---- the run ---- */

static void tell(const struct world *w, double cpu, double wall, const struct fleet_result *result)
{
	const struct world_options *o = &w->options;
	const uint32_t hosts = o->racks * o->hosts;

	printf("analyzed: %.2f s CPU, %.2f s, %u tests, %.0f MiB at most\n", cpu, wall,
	       result->tested, memory_mib());
	printf("a host: %.3f ms CPU to add and analyze, %.1f KiB\n",
	       (w->adding_s + cpu) * 1e3 / hosts, memory_mib() * 1024 / hosts);
}

static void run(const struct world_options *o)
{
	const struct fleet_options options = { .alpha = 0.05, .seed = 1 };
	const struct world_problem bad = { .kind = problem_kind, .which = 1,
					   .class = FLEET_TIMEOUT, .factor = params[FACTOR].value };
	static struct world w;
	struct fleet_result result;
	double cpu, wall;

	cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	world_make(&w, o, &bad, 1);
	if (!form)
		printf("%u hosts, %u connections, %u intervals, %d classes\n"
		       "made up: %.2f s CPU; adding: %.2f s of it, %.0f MiB\n",
		       o->racks * o->hosts, o->racks * o->hosts * o->conns, o->intervals,
		       FLEET_CLASSES, clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu, w.adding_s,
		       memory_mib());
	cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	wall = clock_s(CLOCK_MONOTONIC);
	BUG_ON(fleet_analyze(w.f, &options, &result));
	cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = clock_s(CLOCK_MONOTONIC) - wall;
	if (!form)
		tell(&w, cpu, wall, &result);
	make_report(w.f, &result);
	if (!form)
		printf("after the report: %.0f MiB at most\n", memory_mib());
	fleet_result_release(&result);
	world_release(&w);
}

int main(int argc, char **argv)
{
	struct world_options o;

	for (int i = 1; i < argc; i++)
		if (!take(argv[i]))
			return usage();
	o = make_options();
	if (!o.racks || !o.conns || !o.intervals || o.intervals > FLEET_INTERVALS_MAX ||
	    !o.apps || !o.host_apps || !o.services || !o.links ||
	    (uint64_t)o.racks * o.hosts * (o.host_apps > o.links ? o.host_apps : o.links) >
	    WORLD_OF_A_KIND_MAX)
		return usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	run(&o);
	return 0;
}
