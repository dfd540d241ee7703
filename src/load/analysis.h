/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a stream of load events to a result: how long requests took, how sure that is, or why it
 * can't be said. Pure and deterministic: live, from a file, from many agents or from a simulation,
 * the same events give the same bits, whatever the order of the samples between two ticks.
 *
 * Time series. Samples are counted by *intended* time into windows of exponential histograms of
 * schema LOAD_SCHEMA (0.27 % wide); when there are too many windows, neighbours are merged, so that
 * memory is bounded and every sample counts. A window is complete when a tick's `oldest_ns` has
 * passed its end: nothing is decided on requests some of which are still on their way. Times of all
 * agents must be in one clock: whoever joins streams of several hosts converts them before.
 */
#ifndef HOSTLAT_LOAD_ANALYSIS_H
#define HOSTLAT_LOAD_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/source.h"
#include "load/config.h"
#include "load/schedule.h"
#include "report/report.h"

#define LOAD_REPORT_SCHEMA 1
#define LOAD_SCHEMA 8

struct load_analysis_config {
	double rate;         /* of all agents that load, in equal shares; > 0 */
	struct arrival arrival;
	uint32_t loop;       /* enum load_loop */
	uint32_t stamps;     /* enum load_stamps: what was asked for */
	uint32_t method;     /* enum load_method: load/methods.h */
	uint32_t agents;     /* how many to expect: 1 to LOAD_AGENTS_MAX */
	/* of these, latency agents: if any, only theirs are latencies */
	uint32_t probes;
	double percentile;   /* of --ci-width, 0 < p < 1 */
	uint64_t ci_width_ns; /* 0: run until the end */
	double confidence;   /* 0.95 */
	uint64_t max_time_ns; /* of the schedule; > 0 */
	double max_errors;   /* share of failed requests that is still sound */
};

/* Where the state machine of the paper's Figure 4 stands. */
enum load_state {
	LOAD_STATE_CONNECTING, LOAD_STATE_LOADING, LOAD_STATE_ARRIVALS, LOAD_STATE_WARMUP,
	LOAD_STATE_DEPENDENCE, LOAD_STATE_STATIONARY, LOAD_STATE_INTERVAL, LOAD_STATE_DONE,
};

const char *load_state_name(enum load_state state);

/* For the progress line. Unknown is 0 / NaN. */
struct load_status {
	enum load_state state;
	uint64_t elapsed_ns, remaining_ns; /* remaining at most */
	uint64_t samples;                  /* usable so far */
	/* of config.percentile at the last look; 0: none */
	uint64_t quantile_ns, lo_ns, hi_ns;
	uint64_t needed;                   /* requests for ci_width_ns at that dispersion; 0 */
	uint32_t looks;
};

enum load_verdict { LOAD_MORE, LOAD_DECIDED };

struct load_analysis;

struct load_analysis *load_analysis_new(const struct load_analysis_config *config);
void load_analysis_free(struct load_analysis *analysis);

/*
 * Takes a block of any kind; those of no concern are ignored. Returns LOAD_MORE, LOAD_DECIDED
 * (the run may end: the interval is narrow enough, or nothing can be sent), -ENOMEM or -EBADMSG.
 */
int load_analysis_block(struct load_analysis *analysis, const struct event_block *block);

/* Reasons that only the caller can know. */
void load_analysis_interrupted(struct load_analysis *analysis);
void load_analysis_agent_lost(struct load_analysis *analysis, uint32_t agent, const char *why);

void load_analysis_status(const struct load_analysis *analysis, struct load_status *out);

/* Nothing more will come. Decides finally; then the two below may be called. */
int load_analysis_finish(struct load_analysis *analysis);

/* Borrows histograms of the analysis. Returns 0 or -errno. */
int load_analysis_report(struct load_analysis *analysis, struct report *r);

/*
 * The share of requests above each latency, as CSV (load/ccdf.h): of `intended`, in a closed loop
 * of `actual`. Of a finished analysis. Returns 0 or -ENOMEM.
 */
int load_analysis_ccdf(const struct load_analysis *analysis, struct strbuf *csv);

/*
 * Final numbers for sweeps, --find-max and --assert. Bounds only where they mean something: there
 * are enough requests, and host interference (load/interference_bound.h) met too few to be the
 * tail.
 */
struct load_quantile {
	uint64_t ns, lo_ns, hi_ns;
	bool known, bounded;
	double confidence; /* that the bounds were made for: more than asked for (load/interim.h) */
};
enum load_from { LOAD_INTENDED, LOAD_ACTUAL, LOAD_KERNEL, LOAD_FROMS };
bool load_analysis_sound(const struct load_analysis *analysis);
/* Says how the server ended all connections, if it answered nothing at all; otherwise NULL. */
const char *load_analysis_shut_out(const struct load_analysis *analysis);
/*
 * Whether the run would be sound if config.percentile were q: every gate that depends on it is
 * judged anew, without --ci-width, which is asked of config.percentile alone. Returns 1, 0 (`why`
 * is a sentence), or -ENOMEM.
 */
int load_analysis_sound_at(const struct load_analysis *analysis, double q, struct strbuf *why);
/*
 * Returns where the main latency starts: at the intended send; in a closed loop, and by some
 * methods, at the actual one.
 */
enum load_from load_analysis_main(const struct load_analysis *analysis);
/* "from intended send" */
const char *load_from_words(enum load_from from);
/* Samples of it that were used: its quantiles are theirs. */
uint64_t load_analysis_count(const struct load_analysis *analysis, enum load_from from);
/* Requests answered per second while they were sent; NaN: unknown. */
double load_analysis_achieved(const struct load_analysis *analysis);
/*
 * Of the whole run: replies, and those of them that held nothing. False: it is not known, since the
 * version that recorded it did not count them.
 */
struct load_misses {
	uint64_t completed, misses;
};
bool load_analysis_misses(const struct load_analysis *analysis, struct load_misses *out);
void load_analysis_quantile(const struct load_analysis *analysis, enum load_from from, double q,
			    struct load_quantile *out);

#endif
