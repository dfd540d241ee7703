/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_many.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/parse.h"
#include "cmd/load_live.h"
#include "cmd/result.h"
#include "load/batch.h"
#include "load/methods.h"
#include "load/plots.h"
#include "load/protocol.h"
#include "load/runs_asserts.h"
#include "report/human.h"

#define RUN_TIME_DEFAULT (10 * NS_PER_S) /* default length of each run of a sweep or repetition */
#define PAIRS_DEFAULT 10
/*
 * Shortest slice, in ns: --against gives each slice of the run to one of its two servers. The rate
 * is judged on the last half of a slice, which must contain two ticks of the load generator. The
 * first half warms up connections and caches.
 */
#define SLICE_MIN_NS (5 * LOAD_TICK_NS)

const struct opt load_many_option_rows[] = {
	OPT_STRING(struct load_many_options, rates, .name = "rates",
		   .group = OPT_LOAD, .metavar = "FROM:TO:STEP",
		   .excludes = "rate,find-max,repeat,against",
		   .help = "Make two runs at each of these rates, in random order, 10s each "
			   "unless --for is given"),
	OPT_STRING(struct load_many_options, find_max, .name = "find-max",
		   .group = OPT_LOAD,
		   .metavar = "CONDITION", .excludes = "rate,ci-width,percentile,repeat,against",
		   .help = "Find the highest rate at which this condition holds with confidence, "
			   "such as 'p99<500us'"),
	OPT_U64(struct load_many_options, repeat, .name = "repeat",
		.group = OPT_LOAD, .min = 2,
		.max = BETWEEN_RUNS_MAX,
		.help = "Repeat the run N times on new connections, 10s each unless --for is "
			"given. With --against: N pairs of slices (default 10), each at least "
			"500ms long"),
	OPT_STRING(struct load_many_options, against, .name = "against",
		   .group = OPT_LOAD, .metavar = "URL",
		   .help = "Compare with this second server: slices of the run alternate between "
			   "the two in random order"),
	OPT_STRING(struct load_many_options, csv, .name = "csv",
		   .group = OPT_OUTPUT, .rare = true, .file = true,
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

/*
 * Number of requests above the quantile that each slice of --against needs: as many as an interval
 * of a single run needs. With fewer requests, the slice's quantile is mostly random.
 */
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
	strbuf_printf(why, "--against: p%g needs %.0f requests in each of %.0f slices: --for "
		      "%s or more, or --rate %.0f", 100 * q, needed, slices,
		      human_ns(time, (uint64_t)ceil(slices * needed / load->rate) * NS_PER_S),
		      ceil(needed / slice_s));
}

static void check_slices(const struct load_many_options *o, const struct load_options *load,
			 struct strbuf *why)
{
	char least[HUMAN_MAX];

	if (o->repeat && o->repeat < BETWEEN_RUNS_PAIRS_MIN)
		strbuf_printf(why, "--against needs %d pairs of slices or more; see --repeat",
			      BETWEEN_RUNS_PAIRS_MIN);
	else if (slice_ns(o, load) < SLICE_MIN_NS)
		strbuf_printf(why, "--against: each slice must last 500 ms, so %llu pairs need "
				   "--for %s or more (or use fewer pairs: --repeat)",
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
	else if (o->find_max && load->max_time_ns && load->max_time_ns < LOAD_BATCH_PROBE_NS)
		strbuf_puts(why, "--find-max: each trial run lasts at least 3 s, so --for "
				 "must be at least 3 s");
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
	struct keys *keys;
	/* servers that store their keys already (--preload): bit 0 the URL's, bit 1 --against's */
	uint32_t stored;
	struct load_batch batch;
};

/*
 * Returns the seed of the n-th run. Each run has its own seed, since a shared schedule's
 * peculiarities would affect all runs. 53 bits, which JSON numbers preserve.
 */
static uint64_t run_seed(uint64_t seed, uint64_t n)
{
	uint64_t own = rng_derive(seed, n) >> 11;

	return own ? own : 1;
}

/* Returns the bit in m->stored for the server of `run`: 1 for the URL's, 2 for --against's. */
static uint32_t store_of(const struct many *m, const struct load_batch_run *run)
{
	return run->url && run->url == m->o->against ? 2 : 1;
}

static int load_many_configure(struct many *m, const struct load_batch_run *run,
			       struct load_config *config, struct load_analysis_config *analysis)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct load_options load = *m->load;
	int err;

	if (load.seed)
		load.seed = run_seed(load.seed, m->batch.runs.len + 1);
	load.preload &= !(m->stored & store_of(m, run));
	if (run->url)
		load.urls = (struct opt_list){ .items = { run->url }, .len = 1 };
	err = load_options_config(&load, run->rate, run->duration_ns, config, analysis, &why);
	if (err)
		log_error("load: %s", why.len ? strbuf_str(&why) : strerror(-err));
	if (run->confidence > 0)
		analysis->confidence = run->confidence;
	analysis->percentile = m->batch.q;
	strbuf_release(&why);
	return err;
}

/* Makes one run: a callback of struct load_batch. Returns an enum exit_code. */
static int load_many_run_one(void *ctx, const struct load_batch_run *run, struct load_summary *out)
{
	struct many *m = ctx;
	struct load_analysis_config analysis;
	struct load_question none = { 0 };
	struct recording recording = { 0 };
	struct load_config config;
	struct load_consumer consumer;
	const struct load_live live = {
		.options = m->load, .config = &config, .analysis = &analysis, .stop = m->stop,
		.recording = &recording, .consumer = &consumer, .quiet = m->common->quiet,
		.keys = m->keys,
		.label = run->label,
	};
	int err, code;

	if (load_many_configure(m, run, &config, &analysis))
		return EXIT_CANNOT;
	load_consumer_init(&consumer, &none);
	code = load_live_run(&live);
	err = code ? 0 : load_consumer_summary(&consumer, m->batch.q,
						 &m->batch.conditions, out);
	if (!code && !err) {
		m->stored |= store_of(m, run);
		m->batch.end.interrupted = consumer.interrupted;
	}
	load_consumer_release(&consumer);
	if (err)
		log_error("%s", strerror(-err));
	return err ? EXIT_CANNOT : code;
}

/* ---- all runs ---- */

static int load_many_sweep(struct many *m, struct report *r)
{
	struct load_rates rates;

	if (load_rates_parse(m->o->rates, &rates))
		return EXIT_USAGE;
	return load_batch_sweep(&m->batch, &rates, m->load->seed ?: (uint64_t)getpid(), r);
}

static int load_many_find_max(struct many *m, struct report *r)
{
	struct load_condition condition;

	if (load_condition_parse(m->o->find_max, &condition))
		return EXIT_USAGE;
	m->batch.q = condition.q;
	m->batch.duration_ns = m->load->max_time_ns ?: LOAD_MAX_TIME_DEFAULT;
	return load_batch_find_max(&m->batch, &condition, r);
}

static int load_many_against(struct many *m, struct report *r)
{
	const char *const urls[2] = { m->load->urls.items[0], m->o->against };

	m->batch.duration_ns = slice_ns(m->o, m->load);
	return load_batch_against(&m->batch, urls, pairs_of(m->o),
				  m->load->seed ?: (uint64_t)getpid(), r);
}

/* Writes the table of --csv. Returns 0 or, after a message, -errno. */
static int load_many_write_csv(const struct load_batch *batch, const char *path)
{
	struct strbuf text = STRBUF_INIT(LOAD_RUNS_CSV_MAX);
	int err;

	load_runs_csv(&batch->runs, batch->q, &text);
	err = outfile_put(path, &text);
	if (err)
		log_error("cannot write the table to %s: %s", path, folder_strerror(err));
	strbuf_release(&text);
	return err;
}

/* Several runs keep some percentiles only, and a comparison one. */
static int load_many_check_conditions(const struct load_many_options *o, double asked,
				      const struct load_conditions *conditions)
{
	const struct load_summary none = { 0 };

	for (uint32_t i = 0; i < conditions->n; i++) {
		const struct load_condition *c = &conditions->list[i];

		if (c->seen || (o->against ? c->q == asked :
				!!runs_asserts_quantile(&none, asked, c->q)))
			continue;
		log_error("load: --assert %s with %s: the percentile must be that of --percentile "
			  "(p%g)%s", c->text, o->against ? "--against" : "--repeat", 100 * asked,
			  o->against ? "" : ", p50, p90, p99 or p99.9");
		return EXIT_USAGE;
	}
	return 0;
}

int load_many_run(const struct load_many_options *o, const struct load_options *load,
		  const struct load_conditions *conditions, const struct common_options *common,
		  bool plot, struct stop *stop, struct keys *keys)
{
	struct many m = {
		.o = o, .load = load, .common = common, .stop = stop, .keys = keys,
		.batch = {
			.q = load->percentile > 0 ? load->percentile : LOAD_PERCENTILE_DEFAULT,
			.confidence = load->confidence > 0 ? load->confidence :
							     LOAD_CONFIDENCE_DEFAULT,
			.rate = load->rate,
			.duration_ns = load->max_time_ns ? load->max_time_ns : RUN_TIME_DEFAULT,
			.run = load_many_run_one, .ctx = &m, .conditions = *conditions,
		},
	};
	struct report r;
	int code = load_many_check_conditions(o, m.batch.q, conditions);

	if (code)
		return code;

	log_info("measuring");
	vec_init(&m.batch.runs, 2 * BETWEEN_RUNS_MAX);
	result_begin(&r, "load", LOAD_REPORT_SCHEMA);
	if (o->rates)
		code = load_many_sweep(&m, &r);
	else if (o->find_max)
		code = load_many_find_max(&m, &r);
	else if (o->against)
		code = load_many_against(&m, &r);
	else
		code = load_batch_repeat(&m.batch, o->repeat, &r);
	if (code < 0) {
		log_error("%s", strerror(-code));
		code = EXIT_CANNOT;
	}
	if (!code && plot)
		load_plots_report(&r, m.batch.q);
	if (!code)
		code = result_print(&r, common);
	if (code == EXIT_PARTIAL && m.batch.judged.settled)
		code = EXIT_OK;
	if (code == EXIT_OK && m.batch.judged.fails)
		code = EXIT_ASSERT;
	if (code != EXIT_CANNOT && o->csv && load_many_write_csv(&m.batch, o->csv))
		code = EXIT_CANNOT;
	report_release(&r);
	vec_release(&m.batch.runs);
	return code;
}
