/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every reason for n/a of `load`: it fires in runs made for it, and stays quiet in the same runs
 * without the fault. How often each gate raises a false alarm, and how often the arrival gates see
 * what they must. Coordinated omission: latency from the intended send is the truth with any number
 * of connections, and latency from the actual send must fail the same check. HOSTLAT_RUNS=N: so
 * many runs of each scene.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "load/analysis_state.h"
#include "load/gates.h"
#include "load_feed.h"
#include "output/json.h"
#include "stats/special.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL
#define POWER_LEAST 0.95
#define SOUND_LEAST 0.7 /* share of the runs with an allowed gate that are sound */
#define FALSE_MOST 0.06
#define BURSTS_MOST 0.05 /* runs that begin within a burst may look like a warm-up */

static bool failed;

/* 40,000 requests in 8 s at half load: some 30 effective ones beyond p99. */
static const struct model base = {
	.service = SERVICE_EXPONENTIAL, .mean_ns = 100000, .load = 0.5,
	.duration_ns = 8 * NS_PER_S };

/* ---- one run ---- */

struct scene {
	const char *code;  /* the reason that it must give */
	/* or the gate that must fail, but that the bounds allow for; GATE_SERVER: none */
	enum gate_id allows;
	bool run_only; /* the gates of `code` leave bounds of the run alone */
	/* the agents' models; the second one counts if it has a service time */
	struct model model, second;
	struct feed_faults faults;
	double percentile;          /* 0: 0.99 */
	uint64_t ci_width_ns;
	uint32_t stamps;
	bool interrupted, loses_agent;
	bool probes;                /* the second agent only probes */
};

static struct load_analysis *analyse(const struct scene *scene, uint64_t seed, bool unordered)
{
	const uint32_t agents = scene->second.mean_ns > 0 ? 2 : 1;
	struct requests requests[2] = { 0 };
	struct feed_agent feeds[2];
	struct load_analysis *a;
	struct model model;

	a = feed_analysis(&scene->model, agents,
			  scene->percentile > 0 ? scene->percentile : 0.99, scene->ci_width_ns);
	a->config.stamps = scene->stamps;
	a->config.probes = scene->probes;
	for (uint32_t i = 0; i < agents; i++) {
		model = i ? scene->second : scene->model;
		model.seed = 2 * seed + i;
		if (!scene->faults.unreachable)
			model_run(&model, &requests[i]);
		feeds[i] = (struct feed_agent){ &requests[i], scene->faults };
		feeds[i].faults.unordered = unordered;
		feeds[i].faults.probe = i && scene->probes;
	}
	if (scene->loses_agent)
		feeds[0].faults.stops_ns = 0; /* only the other one stops */
	feed(feeds, agents, scene->model.duration_ns, &a, 1);
	if (scene->loses_agent)
		load_analysis_agent_lost(a, 1, "killed");
	if (scene->interrupted)
		load_analysis_interrupted(a);
	BUG_ON(load_analysis_finish(a));
	for (uint32_t i = 0; i < agents; i++)
		requests_release(&requests[i]);
	return a;
}

static bool gives(struct load_analysis *a, const char *code)
{
	const struct provenance nobody = { .version = "1", .command = "load",
					   .schema = LOAD_REPORT_SCHEMA };
	struct report r;
	bool found = false;

	report_init(&r, &nobody);
	BUG_ON(load_analysis_report(a, &r));
	for (const struct table_row *row = r.reasons->first; row; row = row->next)
		found |= !strcmp(row->cells[0].string, code);
	BUG_ON(!strcmp(r.verdict, "ok") != (r.reasons->nrows == 0));
	BUG_ON(!strcmp(r.verdict, "ok") != load_analysis_sound(a));
	report_release(&r);
	return found;
}

/* ---- reasons ---- */

#define WITH(...) { .service = SERVICE_EXPONENTIAL, .mean_ns = 100000, .load = 0.5,              \
		    .duration_ns = 8 * NS_PER_S, __VA_ARGS__ }
#define SHORT(...) { .service = SERVICE_FIXED, .mean_ns = 100000, .load = 0.1,                   \
		     .duration_ns = 2 * NS_PER_S, __VA_ARGS__ }

static const struct scene scenes[] = {
	{ .code = "rate-not-reached",
	  .model = { .mean_ns = 100000, .load = 1.05, .duration_ns = 8 * NS_PER_S } },
	{ .code = "arrivals-violated", .model = WITH(.spacing = SPACING_LOGNORMAL) },
	{ .code = "arrivals-violated", .model = WITH(.rate_factor = 1.18) },
	{ .code = "arrivals-violated", .allows = GATE_ARRIVALS,
	  .model = WITH(.client_stall = { .every_ns = 20 * NS_PER_MS, .ns = 5 * NS_PER_MS }) },
	{ .code = "closed-loop-behaviour",
	  .model = WITH(.connections = 4,
			.stall = { .every_ns = 1030 * NS_PER_MS, .ns = 100 * NS_PER_MS }),
	  .faults.connections = 4 },
	/* Late sends are allowed for, unless so many come after the end that the rate is missed. */
	{ .code = "client-saturated", .allows = GATE_CLIENT,
	  .model = WITH(.client_stall = { .every_ns = 200 * NS_PER_MS, .ns = 5 * NS_PER_MS }) },
	{ .code = "client-saturated", .allows = GATE_CLIENT, .second = WITH(), .probes = true,
	  .model = WITH(.client_stall = { .every_ns = 200 * NS_PER_MS, .ns = 5 * NS_PER_MS }) },
	{ .code = "client-saturated",
	  .model = WITH(.client_stall = { .every_ns = 8200 * NS_PER_MS, .ns = 900 * NS_PER_MS }) },
	{ .code = "client-saturated", .model = WITH(), .faults.cpu = 0.95 },
	{ .code = "client-saturated", .model = WITH(), .faults.samples_lost = 0.01 },
	{ .code = "host-noisy", .allows = GATE_NOISE, .model = WITH(),
	  .faults = { .noise_every_ns = 100 * NS_PER_MS, .noise_ns = 5 * NS_PER_MS } },
	{ .code = "host-noisy", .model = WITH(),
	  .faults = { .noise_every_ns = 100 * NS_PER_MS, .noise_ns = 25 * NS_PER_MS } },
	{ .code = "host-unknown", .model = WITH(), .faults.unread = LOAD_NO_STAT },
	{ .code = "host-unknown", .model = WITH(), .faults.unread = LOAD_NO_SCHEDSTAT },
	{ .code = "errors-above-limit", .model = WITH(.failing = 0.03) },
	{ .code = "connections-unbalanced", .model = WITH(), .faults.favoured = 0.5 },
	{ .code = "timestamps-missing", .model = WITH(), .stamps = STAMPS_KERNEL,
	  .faults.unstamped = 0.05 },
	{ .code = "agents-disagree", .model = WITH(),
	  .second = WITH(.shift = 0.3, .shift_at = 0) },
	{ .code = "non-stationary-trend", .run_only = true, .model = WITH(.drift = 0.25) },
	{ .code = "non-stationary-shift", .run_only = true,
	  .model = WITH(.shift = 0.2, .shift_at = 0.5) },
	/* So much that it looks like dependence, and that the run's length makes the result. */
	{ .code = "non-stationary-trend", .model = SHORT(.drift = 4) },
	{ .code = "non-stationary-shift", .model = SHORT(.shift = 2, .shift_at = 0.5) },
	{ .code = "non-stationary-periodic", .run_only = true,
	  .model = WITH(.slow_factor = 1.3,
			.slow = { .every_ns = 667 * NS_PER_MS, .ns = 200 * NS_PER_MS }) },
	/* So many periods that the quantile of all phases is well known. */
	{ .code = "non-stationary-periodic", .allows = GATE_PERIODIC_MEDIAN,
	  .model = WITH(.stall = { .every_ns = 350 * NS_PER_MS, .ns = 35 * NS_PER_MS }) },
	{ .code = "not-converged", .model = WITH(), .ci_width_ns = 20000 },
	{ .code = "heavy-tail", .model = { .service = SERVICE_PARETO, .mean_ns = 100000,
					   .load = 0.2, .duration_ns = 30 * NS_PER_S },
	  .ci_width_ns = 20000 },
	{ .code = "too-few-exceedances", .model = WITH(), .percentile = 0.9999 },
	{ .code = "server-unreachable", .model = WITH(), .faults.unreachable = true },
	{ .code = "schedule-exhausted", .model = WITH(), .faults.ends_ns = 7 * NS_PER_S },
	{ .code = "agent-lost", .model = WITH(), .second = WITH(), .loses_agent = true,
	  .faults.stops_ns = 6 * NS_PER_S },
	{ .code = "interrupted", .model = WITH(), .interrupted = true },
};

/* The same run without what is wrong with it. */
static struct scene control_of(const struct scene *scene)
{
	struct scene control = { .code = scene->code, .allows = scene->allows,
				 .run_only = scene->run_only, .model = base,
				 .stamps = scene->stamps, .probes = scene->probes };

	if (scene->second.mean_ns > 0)
		control.second = base;
	/* A light tail must not be blamed for an interval that is too wide. */
	control.ci_width_ns = scene->ci_width_ns;
	if (!strcmp(scene->code, "not-converged"))
		control.ci_width_ns *= 50;
	return control;
}

/* Whether a gate with this code leaves only bounds of the run. */
static bool is_run_only(const struct load_analysis *a, const char *code)
{
	for (int i = 0; i < GATES; i++) {
		if (a->result.gates[i].run_only && !strcmp(gate_code(i), code))
			return true;
	}
	return false;
}

static uint32_t count_fires(const struct scene *scene, uint32_t runs, uint32_t *sound)
{
	uint32_t fires = 0;

	*sound = 0;

	for (uint32_t i = 0; i < runs; i++) {
		struct load_analysis *a = analyse(scene, i + 1, false);

		if (scene->run_only)
			fires += is_run_only(a, scene->code) && !gives(a, scene->code);
		else if (scene->allows)
			fires += a->result.gates[scene->allows].allowed && !gives(a, scene->code);
		else
			fires += gives(a, scene->code);
		*sound += load_analysis_sound(a);
		load_analysis_free(a);
	}
	return fires;
}

static void check_reasons(uint32_t runs)
{
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		const struct scene control = control_of(&scenes[i]);
		uint32_t sound, control_sound;
		const uint32_t fires = count_fires(&scenes[i], runs, &sound);
		const uint32_t false_ones = count_fires(&control, runs, &control_sound);

		printf("%-24s %s in %u of %u, control %u\n", scenes[i].code,
		       scenes[i].run_only ? "is of the run" :
		       scenes[i].allows ? "is allowed for" : "fires", fires, runs, false_ones);
		failed |= fires < POWER_LEAST * runs || false_ones > FALSE_MOST * runs;
		/* Other gates may fail by chance, and so may the tail's at periodic stalls. */
		failed |= (scenes[i].allows || scenes[i].run_only) && sound < SOUND_LEAST * runs;
	}
}

/* ---- false alarms ---- */

/* P(more than 6 % of alarms by chance, if 6 % are true) is 1 % from there on. */
static bool too_many(uint32_t alarms, uint32_t runs)
{
	return alarms && beta_sf(FALSE_MOST, alarms, (double)(runs - alarms) + 1) > 0.99;
}

static void check_false_alarms(uint32_t runs)
{
	static const enum service services[] = {
		SERVICE_EXPONENTIAL, SERVICE_FIXED, SERVICE_BIMODAL, SERVICE_AR1 };
	uint32_t alarms[GATES] = { 0 }, any = 0;
	const uint32_t all = runs * ARRAY_LEN(services);

	for (uint32_t i = 0; i < all; i++) {
		struct scene scene = { .model = base };
		struct load_analysis *a;
		bool alarm = false;

		scene.model.service = services[i % ARRAY_LEN(services)];
		if (scene.model.service == SERVICE_AR1)
			scene.model.duration_ns *= 3;
		a = analyse(&scene, 1000 + i, false);
		for (int k = 0; k < GATES; k++) {
			alarms[k] += !a->result.gates[k].pass;
			alarm |= !a->result.gates[k].pass;
		}
		any += alarm;
		load_analysis_free(a);
	}
	printf("false alarms in %u runs:", all);
	for (int k = 0; k < GATES; k++) {
		if (alarms[k])
			printf("  %s %.1f %%", gate_name(k), 100.0 * alarms[k] / all);
		failed |= too_many(alarms[k], all);
	}
	printf("  any %.1f %%\n", 100.0 * any / all);
	failed |= too_many(any, all);
}

/* ---- warm-up ---- */

static uint32_t count_cuts(const struct model *model, uint32_t runs)
{
	uint32_t cuts = 0;

	for (uint32_t i = 0; i < runs; i++) {
		const struct scene scene = { .model = *model };
		struct load_analysis *a = analyse(&scene, 3000 + i, false);

		cuts += a->result.from > 0;
		load_analysis_free(a);
	}
	return cuts;
}

/* A warm-up is left out; slow stretches that come by chance belong to the server. */
static void check_warmup(uint32_t runs)
{
	const struct model warmup = {
		.service = SERVICE_EXPONENTIAL, .mean_ns = 100000, .load = 0.3,
		.duration_ns = 12 * NS_PER_S, .warmup = 2, .warmup_ns = 0.4e9 };
	const struct model regimes = {
		.service = SERVICE_EXPONENTIAL, .mean_ns = 100000, .load = 0.1,
		.duration_ns = 60 * NS_PER_S, .slow_factor = 3,
		.slow = { .law = LAW_EXPONENTIAL, .every_ns = 42 * NS_PER_S, .ns = 2 * NS_PER_S } };
	const uint32_t cuts = count_cuts(&warmup, runs), bursts = count_cuts(&regimes, runs);

	printf("a warm-up is left out in %u of %u runs, bursts in %u\n", cuts, runs, bursts);
	failed |= cuts < POWER_LEAST * runs || bursts > BURSTS_MOST * runs;
}

/* ---- arrivals ---- */

static void check_arrivals(uint32_t runs)
{
	static const struct {
		const char *name;
		struct model model;
		uint32_t n;
		bool null;
	} cases[] = {
		{ "Poisson", WITH(), 500, true },
		{ "lognormal, cv 0.8", WITH(.spacing = SPACING_LOGNORMAL), 500, false },
		{ "gamma, shape 2", WITH(.spacing = SPACING_GAMMA), 500, false },
		{ "one in ten bunched", WITH(.spacing = SPACING_BUNCHED), 500, false },
		{ "rate off by 18 %", WITH(.rate_factor = 1.18), 1000, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint32_t fires = 0;

		for (uint32_t k = 0; k < runs; k++) {
			struct scene scene = { .model = cases[i].model };
			struct load_analysis *a;

			scene.model.duration_ns = (uint64_t)cases[i].n * 200000;
			a = analyse(&scene, 5000 + k, false);
			fires += !a->result.gates[GATE_SCHEDULE].pass;
			load_analysis_free(a);
		}
		printf("arrivals, %u requests, %s: %.1f %%\n", cases[i].n, cases[i].name,
		       100.0 * fires / runs);
		failed |= cases[i].null ? too_many(fires, runs) : fires < POWER_LEAST * runs;
	}
}

/* ---- coordinated omission ---- */

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* p50 within 30 us and p99 within 3 % of when the server was really done with each request. */
static bool truthful(struct load_analysis *a, enum load_from from, const uint64_t *truth, size_t n)
{
	struct load_quantile p50, p99;
	const uint64_t true_p50 = truth[n / 2], true_p99 = truth[n - n / 100];

	load_analysis_quantile(a, from, 0.5, &p50);
	load_analysis_quantile(a, from, 0.99, &p99);
	return llabs((int64_t)(p50.ns - true_p50)) <= 30000 &&
		fabs((double)p99.ns / (double)true_p99 - 1) <= 0.03;
}

static void check_omission(uint32_t connections)
{
	struct model model = {
		.service = SERVICE_FIXED, .mean_ns = 50000, .load = 0.05,
		.duration_ns = 30 * NS_PER_S, .connections = connections, .seed = 3,
		.stall = { .every_ns = NS_PER_S, .ns = 100 * NS_PER_MS } };
	struct load_analysis *a = feed_analysis(&model, 1, 0.99, 0);
	struct requests requests = { 0 };
	struct feed_agent agent = { .requests = &requests };
	bool intended, actual;
	uint64_t *truth;

	model_run(&model, &requests);
	truth = calloc(requests.n, sizeof(*truth));
	BUG_ON(!truth);
	for (size_t i = 0; i < requests.n; i++)
		truth[i] = requests.items[i].done - requests.items[i].intended;
	qsort(truth, requests.n, sizeof(*truth), by_value);
	feed(&agent, 1, model.duration_ns, &a, 1);
	BUG_ON(load_analysis_finish(a));
	intended = truthful(a, LOAD_INTENDED, truth, requests.n);
	actual = truthful(a, LOAD_ACTUAL, truth, requests.n);
	printf("stalls, %u connections: intended %s, actual %s\n", connections,
	       intended ? "true" : "FALSE", actual ? "true" : "false");
	/* With 128 no request waits, and both are one; else the actual send must be found out. */
	failed |= !intended || (connections < 100 && actual);
	load_analysis_free(a);
	requests_release(&requests);
	free(truth);
}

static void put_json(struct load_analysis *a, struct strbuf *out)
{
	const struct provenance nobody = { .version = "1", .command = "load",
					   .schema = LOAD_REPORT_SCHEMA };
	struct report r;

	report_init(&r, &nobody);
	BUG_ON(load_analysis_report(a, &r));
	json_report(&r, JSON_DOCUMENT, out);
	BUG_ON(out->error);
	report_release(&r);
}

/* ---- gates that can't be tested ---- */

static void check_confidence(const char *name, const struct scene *scene, const char *confidence,
			     const char *untested)
{
	struct strbuf text = STRBUF_INIT(1 << 24), word = STRBUF_INIT(256);
	struct load_analysis *a = analyse(scene, 5, false);
	bool found;

	put_json(a, &text);
	strbuf_printf(&word, "\"confidence\": \"%s\"", confidence);
	found = strstr(strbuf_str(&text), strbuf_str(&word));
	found &= !strstr(strbuf_str(&text), "\"pass\": null") == !untested;
	found &= strstr(strbuf_str(&text), untested ? untested : "\"not_tested\": []") != NULL;
	printf("gates, %s: %s, %s%s\n", name, confidence, untested ? untested : "all are tested",
	       found ? "" : ": NO");
	failed |= !found;
	strbuf_release(&text);
	strbuf_release(&word);
	load_analysis_free(a);
}

/* A short run must not pass for one that shows stationarity. */
static void check_untested(void)
{
	const struct scene longer = { .model = base };
	struct scene shorter = { .model = SHORT() }, few = { .model = SHORT() };
	const char *why = "{\"name\": \"trend-tail\", "
			  "\"why\": \"the run is too short to compare 20 parts of it\"}";

	shorter.model.duration_ns = 3500 * NS_PER_MS;
	few.model.duration_ns = 20 * NS_PER_MS;
	check_confidence("8 s", &longer, "sound", NULL);
	check_confidence("15 blocks", &shorter, "indicative", why);
	check_confidence("20 requests", &few, "unusable", why);
}

/* ---- stamps of several replies ---- */

/* The model's request is 1/10 of its way to the driver, and its reply 1/5 before its end. */
static void check_censored(void)
{
	struct scene scene = { .model = base, .stamps = STAMPS_KERNEL };
	struct load_quantile q[2];
	bool missing = false;

	for (int i = 0; i < 2; i++) {
		struct load_analysis *a;

		scene.faults.censored = i ? 0.5 : 0;
		a = analyse(&scene, 77, false);
		load_analysis_quantile(a, LOAD_KERNEL, 0.5, &q[i]);
		missing |= gives(a, "timestamps-missing");
		load_analysis_free(a);
	}
	printf("censored stamps: kernel p50 %llu ns, without the censored half %llu ns%s\n",
	       (unsigned long long)q[0].ns, (unsigned long long)q[1].ns,
	       q[1].bounded ? ", bounded" : "");
	failed |= missing || !q[0].bounded || q[1].bounded ||
		fabs((double)q[1].ns / (double)q[0].ns - 1) > 0.02;
}

/* ---- bits ---- */

/* Samples in another order between two ticks: the same document, byte for byte. */
static void check_order(void)
{
	const struct scene scene = { .model = base, .second = base, .ci_width_ns = 200000 };
	struct strbuf text[2] = { STRBUF_INIT(1 << 24), STRBUF_INIT(1 << 24) };

	for (int i = 0; i < 2; i++) {
		struct load_analysis *a = analyse(&scene, 42, i);

		put_json(a, &text[i]);
		load_analysis_free(a);
	}
	if (strcmp(strbuf_str(&text[0]), strbuf_str(&text[1]))) {
		printf("the order of the samples changes the result\n");
		failed = true;
	}
	strbuf_release(&text[0]);
	strbuf_release(&text[1]);
}

int main(void)
{
	const char *full_length = getenv("HOSTLAT_LONG"), *some = getenv("HOSTLAT_RUNS");
	const uint32_t scale = full_length && *full_length ? 10 : 1;
	const uint32_t runs = some ? (uint32_t)atoi(some) : 20 * scale;

	check_order();
	check_censored();
	check_untested();
	check_omission(1);
	check_omission(4);
	check_omission(128);
	check_warmup(2 * runs);
	check_arrivals(10 * runs);
	check_reasons(runs);
	check_false_alarms(5 * runs / 2);
	printf("%s\n", failed ? "FAILED" : "passed");
	return failed;
}
