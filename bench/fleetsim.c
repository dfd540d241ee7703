/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what the analysis of a fleet costs, on a synthetic one with a lossy link:
 * fleetsim [RACKS HOSTS CONNECTIONS INTERVALS [text|json]], by default 25 racks of 8 hosts with 50
 * connections each, 1,800 intervals. Prints CPU time and memory of reading and of the analysis, or
 * the report itself. The host side's limit is one host: fleetsim 1 1 10000 1800.
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

static double cpu_s(void)
{
	struct timespec t;

	BUG_ON(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t));
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double memory_mib(void)
{
	struct rusage usage;

	BUG_ON(getrusage(RUSAGE_SELF, &usage));
	return (double)usage.ru_maxrss / 1024;
}

static void make_report(const struct fleet *f, const struct fleet_result *result, const char *form)
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

static uint32_t number(int argc, char **argv, int i, uint32_t usual)
{
	uint64_t n = usual;

	if (argc > i && (parse_u64(argv[i], &n) || !n || n > 1000000)) {
		fprintf(stderr, "fleetsim [RACKS HOSTS CONNECTIONS INTERVALS [text|json]]\n");
		exit(2);
	}
	return (uint32_t)n;
}

int main(int argc, char **argv)
{
	static struct world w;
	const struct fleet_options options = { .alpha = 0.05, .seed = 1 };
	const struct world_problem lossy = { .kind = FLEET_LINK, .which = 1,
					     .class = FLEET_TIMEOUT, .factor = 10 };
	struct world_options o = world_usual(1);
	const char *form = argc > 5 ? argv[5] : NULL;
	struct fleet_result result;
	double before, made;

	o.racks = number(argc, argv, 1, 25);
	o.hosts = number(argc, argv, 2, 8);
	o.conns = number(argc, argv, 3, 50);
	o.intervals = number(argc, argv, 4, 1800);
	before = cpu_s();
	world_make(&w, &o, &lossy, 1);
	made = cpu_s();
	BUG_ON(fleet_analyze(w.f, &options, &result));
	if (!form)
		printf("%u hosts, %u connections, %u intervals, %d classes\n"
		       "read: %.2f s CPU, with making them up\n"
		       "analyzed: %.2f s CPU, %u tests, %.0f MiB at most\n",
		       o.racks * o.hosts, o.racks * o.hosts * o.conns, o.intervals, FLEET_CLASSES,
		       made - before, cpu_s() - made, result.tested, memory_mib());
	make_report(w.f, &result, form);
	fleet_result_release(&result);
	world_release(&w);
	return 0;
}
