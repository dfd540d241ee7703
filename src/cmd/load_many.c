/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_many.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "clock/clock.h"
#include "cmd/load_live.h"
#include "cmd/load_many_report.h"
#include "cmd/load_result.h"
#include "cmd/result.h"
#include "load/findmax.h"
#include "load/methods.h"
#include "load/protocol.h"
#include "load/rates.h"
#include "report/human.h"

#define RUN_TIME_DEFAULT (10 * NS_PER_S) /* of each run of a sweep or repetition */
#define FINDMAX_PRECISION 0.03
#define FINDMAX_START 1000
#define FINDMAX_RATE_MIN 1
#define FINDMAX_RATE_MAX 1e7
#define FINDMAX_PROBE_NS (3 * NS_PER_S) /* the warm-up is left out of each */
#define PAIRS_DEFAULT 10
#define PAIRS_MIN 5
/*
 * Of a slice: decisions are made at ticks, and the rate is judged on the last half of the time. Two
 * ticks in it, and as much before it as connections and caches need to warm up.
 */
#define SLICE_MIN_NS (5 * LOAD_TICK_NS)
#define LABEL_MAX 128

const struct opt load_many_option_rows[] = {
	OPT_STRING(struct load_many_options, rates, .name = "rates", .metavar = "FROM:TO:STEP",
		   .excludes = "rate,find-max,repeat,against",
		   .help = "Make one run at each of these rates, 10s each unless --max-time is "
			   "given"),
	OPT_STRING(struct load_many_options, find_max, .name = "find-max",
		   .metavar = "CONDITION", .excludes = "rate,ci-width,percentile,repeat,against",
		   .help = "Find the highest rate at which this condition holds with confidence, "
			   "such as 'p99<500us'"),
	OPT_U64(struct load_many_options, repeat, .name = "repeat", .min = 2,
		.max = BETWEEN_RUNS_MAX,
		.help = "Repeat the run N times on new connections, 10s each unless --max-time is "
			"given. With --against: N pairs of slices (default 10), each at least "
			"500ms long"),
	OPT_STRING(struct load_many_options, against, .name = "against", .metavar = "URL",
		   .help = "Compare with this second server: slices of the run alternate between "
			   "the two in random order"),
	OPT_STRING(struct load_many_options, csv, .name = "csv", .file = true,
		   .help = "Write the table of the runs of --rates, --find-max, --repeat or "
			   "--against as CSV"),
	OPT_END,
};

bool load_many_asked(const struct load_many_options *o)
{
	return o->rates || o->find_max || o->repeat || o->against;
}

bool load_many_has_rate(const struct load_many_options *o)
{
	return o->rates || o->find_max;
}

static uint64_t pairs_of(const struct load_many_options *o)
{
	return o->repeat ? o->repeat : PAIRS_DEFAULT;
}

static uint64_t slice_ns(const struct load_many_options *o, const struct load_options *load)
{
	uint64_t all = load->max_time_ns ? load->max_time_ns : LOAD_MAX_TIME_DEFAULT;

	return all / (2 * pairs_of(o));
}

/* As a run's interval needs: below it, a quantile is some request's, not the target's. */
#define SLICE_BEYOND 10.0

static void check_slice_rate(const struct load_many_options *o, const struct load_options *load,
			     struct strbuf *why)
{
	const double q = load->percentile > 0 ? load->percentile : LOAD_PERCENTILE_DEFAULT;
	const double needed = ceil(SLICE_BEYOND / (1 - q) - 1e-6);
	const double slices = 2 * (double)pairs_of(o);
	const double slice_s = (double)slice_ns(o, load) / NS_PER_S;
	char time[HUMAN_MAX];

	if (load->loop == LOOP_CLOSED || !load->rate || load->rate * slice_s > needed - 1e-6)
		return;
	strbuf_printf(why, "--against: p%g needs %.0f requests in each of %.0f slices: --max-time "
		      "%s or more, or --rate %.0f", 100 * q, needed, slices,
		      human_ns(time, (uint64_t)ceil(slices * needed / load->rate) * NS_PER_S),
		      ceil(needed / slice_s));
}

static void check_slices(const struct load_many_options *o, const struct load_options *load,
			 struct strbuf *why)
{
	char least[HUMAN_MAX];

	if (o->repeat && o->repeat < PAIRS_MIN)
		strbuf_puts(why, "--against needs 5 pairs of slices or more; see --repeat");
	else if (slice_ns(o, load) < SLICE_MIN_NS)
		strbuf_printf(why, "--against: each slice must last 500 ms, so %llu pairs need "
				   "--max-time %s or more (or use fewer pairs: --repeat)",
			      (unsigned long long)pairs_of(o),
			      human_ns(least, 2 * pairs_of(o) * SLICE_MIN_NS));
	else
		check_slice_rate(o, load, why);
}

int load_many_check(const struct load_many_options *o, const struct load_options *load,
		    struct strbuf *why)
{
	struct load_condition condition;
	struct load_rates rates;
	struct target target;

	if (o->against && target_parse(o->against, &target, why))
		return -EINVAL;
	if (o->rates && load_rates_parse(o->rates, &rates))
		strbuf_printf(why, "--rates takes " LOAD_RATES_TAKES ", not '%s'", o->rates);
	else if (o->find_max && load_condition_parse(o->find_max, &condition))
		strbuf_printf(why, "--find-max takes " LOAD_CONDITION_TAKES ", not '%s'",
			      o->find_max);
	else if (o->find_max && load->method && !load_method(load->method - 1)->keeps_confidence)
		strbuf_printf(why, "--find-max cannot be combined with --method %s, whose "
			      "intervals are too narrow", load_method_name(load->method - 1));
	else if (o->find_max && load->max_time_ns && load->max_time_ns < FINDMAX_PROBE_NS)
		strbuf_puts(why, "--find-max: a probe lasts 3 s, so --max-time must be at least 3 "
				 "s");
	else if (o->against && load->urls.len != 1)
		strbuf_puts(why, "--against compares two servers: give one URL");
	else if (o->against)
		check_slices(o, load, why);
	else if (o->csv && !load_many_asked(o))
		strbuf_puts(why, "--csv needs --rates, --find-max, --repeat or --against, whose "
				 "table it writes");
	return why->len ? -EINVAL : 0;
}

/* ---- one run ---- */

struct many {
	const struct load_many_options *o;
	const struct load_options *load;
	const struct common_options *common;
	struct stop *stop;
	struct load_runs runs;
	double q;          /* the quantile that is in question */
	double confidence;
	uint32_t stored;   /* --preload is done: bit 0 of the URLs, 1 of --against */
	struct load_many_end end;
	char failed[LABEL_MAX];
};

struct one {
	double rate;
	uint64_t duration_ns;
	double confidence; /* 0: that of the options */
	const char *url;   /* NULL: those of the options */
	const char *label;
};

/* Of the n-th run: one schedule in all of them would be one mistake. JSON is sure of 53 bits. */
static uint64_t run_seed(uint64_t seed, uint64_t n)
{
	uint64_t own = rng_derive(seed, n) >> 11;

	return own ? own : 1;
}

/* The bit of `stored` of what this run loads. */
static uint32_t store_of(const struct many *m, const struct one *one)
{
	return one->url && one->url == m->o->against ? 2 : 1;
}

static int configure(struct many *m, const struct one *one, struct load_config *config,
		     struct load_analysis_config *analysis)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct load_options load = *m->load;
	int err;

	if (load.seed)
		load.seed = run_seed(load.seed, m->runs.len + 1);
	load.preload &= !(m->stored & store_of(m, one));
	if (one->url)
		load.urls = (struct opt_list){ .items = { one->url }, .len = 1 };
	err = load_options_config(&load, one->rate, one->duration_ns, config, analysis, &why);
	if (err)
		log_error("load: %s", why.len ? strbuf_str(&why) : strerror(-err));
	if (one->confidence > 0)
		analysis->confidence = one->confidence;
	analysis->percentile = m->q;
	strbuf_release(&why);
	return err;
}

/* The summary is the last of m->runs then. Returns an enum exit_code. */
static int run_one(struct many *m, const struct one *one)
{
	struct load_analysis_config analysis;
	struct load_question none = { 0 };
	struct recording recording = { 0 };
	struct load_config config;
	struct load_summary summary;
	struct load_intake intake;
	const struct load_live live = {
		.options = m->load, .config = &config, .analysis = &analysis, .stop = m->stop,
		.recording = &recording, .intake = &intake, .quiet = m->common->quiet,
		.label = one->label,
	};
	int err, code;

	if (configure(m, one, &config, &analysis))
		return EXIT_CANNOT;
	load_intake_init(&intake, &none, NULL);
	code = load_live_run(&live);
	err = code ? 0 : load_summary_make(&intake, m->q, &summary);
	if (!code && !err) {
		summary.url = one->url;
		m->stored |= store_of(m, one);
		err = vec_push(&m->runs, summary);
		m->end.interrupted = intake.interrupted;
	}
	load_intake_release(&intake);
	if (err)
		log_error("%s", strerror(-err));
	return err ? EXIT_CANNOT : code;
}

static void label(char out[LABEL_MAX], uint64_t n, uint64_t of, double rate)
{
	char count[HUMAN_MAX];

	human_rate(count, rate);
	if (of)
		snprintf(out, LABEL_MAX, "run %llu of %llu%s%s%s", (unsigned long long)n,
			 (unsigned long long)of, rate > 0 ? ", " : "", rate > 0 ? count : "",
			 rate > 0 ? "/s" : "");
	else
		snprintf(out, LABEL_MAX, "probe %llu, %s/s", (unsigned long long)n, count);
}

/* What was measured before a run failed is worth a report: 0, or the code if that is nothing. */
static int ended(struct many *m, int code, const char *label)
{
	if (!code || !m->runs.len)
		return code;
	snprintf(m->failed, sizeof(m->failed), "%s", label);
	m->end.failed = m->failed;
	return EXIT_OK;
}

/* ---- sweeps and repetitions ---- */

static uint64_t run_time(const struct many *m)
{
	return m->load->max_time_ns ? m->load->max_time_ns : RUN_TIME_DEFAULT;
}

static int sweep(struct many *m, struct report *r)
{
	struct load_rates rates;
	char text[LABEL_MAX] = "";
	int code = load_rates_parse(m->o->rates, &rates) ? EXIT_USAGE : EXIT_OK;

	for (uint32_t i = 0; !code && !m->end.interrupted && i < rates.n; i++) {
		const struct one one = {
			.rate = load_rates_at(&rates, i), .duration_ns = run_time(m),
			.label = text,
		};

		label(text, i + 1, rates.n, one.rate);
		code = run_one(m, &one);
	}
	code = ended(m, code, text);
	if (!code)
		load_sweep_report(&m->runs, m->q, &m->end, r);
	return code;
}

static int repeat(struct many *m, struct report *r)
{
	char text[LABEL_MAX] = "";
	int code = EXIT_OK;

	for (uint64_t i = 0; !code && !m->end.interrupted && i < m->o->repeat; i++) {
		const struct one one = {
			.rate = m->load->rate, .duration_ns = run_time(m), .label = text,
		};

		label(text, i + 1, m->o->repeat, one.rate);
		code = run_one(m, &one);
	}
	code = ended(m, code, text);
	if (!code)
		load_repeat_report(&m->runs, m->q, m->confidence, &m->end, r);
	return code;
}

/* ---- the highest rate ---- */

static void feed(struct findmax *fm, const struct load_condition *condition,
		 const struct load_summary *s, uint64_t took_ns)
{
	struct load_quantile measured;
	bool doubtful;
	enum load_truth truth = load_summary_judge(s, condition, &measured, &doubtful);

	if (doubtful)
		findmax_doubt(fm, &measured, took_ns);
	else
		findmax_feed(fm, truth, &measured, took_ns);
}

static int find_max(struct many *m, struct report *r)
{
	uint64_t budget = m->load->max_time_ns ? m->load->max_time_ns : LOAD_MAX_TIME_DEFAULT;
	struct load_condition condition;
	struct findmax_probe probe;
	char text[LABEL_MAX] = "";
	struct findmax fm;
	int code = load_condition_parse(m->o->find_max, &condition) ? EXIT_USAGE : EXIT_OK;

	m->q = condition.q;
	findmax_init(&fm, &(struct findmax_config){
		.q = condition.q, .limit_ns = condition.limit_ns, .confidence = m->confidence,
		.precision = FINDMAX_PRECISION, .start = FINDMAX_START, .min = FINDMAX_RATE_MIN,
		.max = FINDMAX_RATE_MAX, .probe_ns = FINDMAX_PROBE_NS, .budget_ns = budget,
	});
	while (!code && !m->end.interrupted && findmax_next(&fm, &probe)) {
		/* Its intervals are two-sided: each bound has the share of one side. */
		const struct one one = {
			.rate = probe.rate, .duration_ns = probe.duration_ns,
			.confidence = 2 * probe.confidence - 1, .label = text,
		};
		uint64_t begun_ns = clock_now();

		label(text, fm.probes, 0, probe.rate);
		code = run_one(m, &one);
		if (!code && !m->end.interrupted)
			feed(&fm, &condition, vec_last(&m->runs), clock_now() - begun_ns);
	}
	code = ended(m, code, text);
	if (!code)
		load_find_max_report(&m->runs, &condition, &fm, &m->end, r);
	return code;
}

/* ---- two targets ---- */

static int against(struct many *m, struct report *r)
{
	uint64_t pairs = pairs_of(m->o);
	const char *urls[2] = { m->load->urls.items[0], m->o->against };
	char text[LABEL_MAX] = "";
	struct rng rng;
	int code = EXIT_OK;

	rng_init(&rng, m->load->seed ? m->load->seed : (uint64_t)getpid());
	for (uint64_t i = 0; !code && !m->end.interrupted && i < pairs; i++) {
		unsigned int first = (unsigned int)rng_below(&rng, 2);

		for (unsigned int k = 0; !code && !m->end.interrupted && k < 2; k++) {
			const struct one one = {
				.rate = m->load->rate,
				.duration_ns = slice_ns(m->o, m->load),
				.url = urls[first ^ k], .label = text,
			};

			label(text, 2 * i + k + 1, 2 * pairs, one.rate);
			code = run_one(m, &one);
		}
	}
	code = ended(m, code, text);
	if (!code)
		code = load_against_report(&m->runs, urls, m->q, m->confidence, &rng,
					   &m->end, r) ? EXIT_CANNOT : EXIT_OK;
	return code;
}

/* ---- all ---- */

int load_many_run(const struct load_many_options *o, const struct load_options *load,
		  const struct common_options *common, struct stop *stop)
{
	struct many m = {
		.o = o, .load = load, .common = common, .stop = stop,
		.q = load->percentile > 0 ? load->percentile : LOAD_PERCENTILE_DEFAULT,
		.confidence = load->confidence > 0 ? load->confidence : LOAD_CONFIDENCE_DEFAULT,
	};
	struct report r;
	int code;

	log_info("measuring");
	vec_init(&m.runs, 2 * BETWEEN_RUNS_MAX);
	result_begin(&r, "load", LOAD_REPORT_SCHEMA);
	if (o->rates)
		code = sweep(&m, &r);
	else if (o->find_max)
		code = find_max(&m, &r);
	else if (o->against)
		code = against(&m, &r);
	else
		code = repeat(&m, &r);
	if (!code)
		code = result_print(&r, common);
	if (code != EXIT_CANNOT && o->csv && load_runs_csv(&m.runs, m.q, o->csv))
		code = EXIT_CANNOT;
	report_release(&r);
	vec_release(&m.runs);
	return code;
}
