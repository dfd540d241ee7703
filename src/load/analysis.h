/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a stream of load events into a result: how long requests took, with confidence intervals,
 * or the reasons why there is no result. Pure and deterministic: the same events give the same
 * bits, whether they come live, from a file, from many agents or from a simulation, in any order of
 * the samples between two ticks.
 *
 * Time series. Samples are counted by *intended* time into windows of exponential histograms of
 * schema LOAD_SCHEMA (0.27 % wide); when there are too many windows, neighbors are merged, so that
 * memory is bounded and every sample counts. A window is complete when a tick's `oldest_ns` has
 * passed its end, so that no decision is based on a window with requests in flight. The times of
 * all agents must be on one clock: the caller converts the times of other hosts.
 */
#ifndef HOSTLAT_LOAD_ANALYSIS_H
#define HOSTLAT_LOAD_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/source.h"
#include "load/abort_on.h"
#include "load/config.h"
#include "load/schedule.h"
#include "report/report.h"

#define LOAD_REPORT_SCHEMA 1
#define LOAD_SCHEMA 8

struct load_analysis_config {
	double rate;         /* requests/s of all loading agents together, in equal shares; > 0 */
	struct arrival arrival;
	uint32_t loop;       /* enum load_loop */
	uint32_t stamps;     /* enum load_stamps: the requested time stamps */
	uint32_t method;     /* enum load_method (load/methods.h) */
	uint32_t agents;     /* number of agents, 1 to LOAD_AGENTS_MAX */
	/* number of latency agents among `agents`; if > 0, only their requests count as latency */
	uint32_t probes;
	double percentile;   /* the percentile that --ci-width applies to, 0 < p < 1 */
	uint64_t ci_width_ns; /* width of confidence interval that ends the run early; 0: none */
	double confidence;   /* confidence level of the intervals, such as 0.95 */
	/* earliest interim analysis, ns: runs that end earlier are those without slow stretches */
	uint64_t first_look_ns;
	uint64_t max_time_ns; /* length of the schedule in ns; > 0 */
	double max_errors;   /* largest share of failed requests of a sound result */
	/* also compute latencies without the time around gaps: the server does not cause them */
	bool excise;
	struct abort_on_limits abort_on; /* conditions that end the run early */
	uint64_t tolerated;  /* gates (gate_mask()) whose failure is no objection; not recorded */
};

/* States of the state machine in Figure 4 of the Lancet paper (load/lancet.h). */
enum load_state {
	LOAD_STATE_CONNECTING, LOAD_STATE_LOADING, LOAD_STATE_ARRIVALS, LOAD_STATE_WARMUP,
	LOAD_STATE_DEPENDENCE, LOAD_STATE_STATIONARY, LOAD_STATE_INTERVAL, LOAD_STATE_DONE,
};

const char *load_state_name(enum load_state state);

/* Numbers for the progress line; 0: unknown. */
struct load_status {
	enum load_state state;
	/* time since the start, and an upper bound of the time to the end */
	uint64_t elapsed_ns, remaining_ns;
	uint64_t samples;                  /* samples so far that count as latency */
	/* value and interval of config.percentile at the last interim analysis; 0: none */
	uint64_t quantile_ns, lo_ns, hi_ns;
	uint64_t needed; /* number of requests needed for ci_width_ns; 0: unknown */
	uint32_t looks;
};

enum load_verdict { LOAD_MORE, LOAD_DECIDED };

struct load_analysis;

struct load_analysis *load_analysis_new(const struct load_analysis_config *config);
void load_analysis_free(struct load_analysis *analysis);

/*
 * Adds a block of events; kinds that the analysis does not use are ignored. Returns LOAD_MORE,
 * LOAD_DECIDED (the run may end: the interval is narrow enough, or nothing can be sent), -ENOMEM or
 * -EBADMSG.
 */
int load_analysis_block(struct load_analysis *analysis, const struct event_block *block);

/* Note that the run was interrupted, or that an agent was lost: only the caller knows this. */
void load_analysis_interrupted(struct load_analysis *analysis);
void load_analysis_agent_lost(struct load_analysis *analysis, uint32_t agent, const char *why);

void load_analysis_status(const struct load_analysis *analysis, struct load_status *out);

/*
 * Ends the stream and evaluates the whole run, which finishes the analysis. load_analysis_report(),
 * _ccdf(), _quantile(), _sound() and _sound_at() need a finished analysis. Returns 0 or -ENOMEM.
 */
int load_analysis_finish(struct load_analysis *analysis);

/* Fills the report, which borrows strings of the analysis. Returns 0 or -errno. */
int load_analysis_report(struct load_analysis *analysis, struct report *r);

/*
 * Writes the share of requests above each latency as CSV (load/ccdf.h), for latency from the
 * intended send, or in a closed loop from the actual send. Returns 0 or -ENOMEM.
 */
int load_analysis_ccdf(const struct load_analysis *analysis, struct strbuf *csv);

/* Why a quantile lacks a bound. */
enum load_why {
	LOAD_WHY_NONE,             /* it has both */
	LOAD_WHY_NO_SAMPLES,
	LOAD_WHY_FEW_REQUESTS,     /* too few requests lie beyond it: see `needed` */
	LOAD_WHY_SHORT,            /* the run is too short for the dependence of its latencies */
	LOAD_WHY_FAILURES,         /* a bound may be a request without a latency */
	LOAD_WHY_DISTURBED,        /* this host may have delayed all requests beyond it */
	LOAD_WHY_STOPPED,          /* this host stood still for too long for any bound */
	LOAD_WHY_CENSORED,         /* too many replies have no time stamp of their own */
	LOAD_WHY_UNSTABLE,         /* --excise: it depends on how much time is left out */
	LOAD_WHY_METHOD,           /* --method computes no bounds of this latency */
};

/* Returns the reason as JSON has it, such as "few-requests"; NULL for LOAD_WHY_NONE. */
const char *load_why_code(enum load_why why);

/*
 * A quantile for reports, sweeps, --find-max and --assert. Requests that the measuring host delayed
 * (load/interference_bound.h) leave the upper bound as it is and lower the lower bound.
 */
struct load_quantile {
	uint64_t ns, lo_ns, hi_ns;
	bool known;        /* `ns` is valid */
	bool upper;        /* `hi_ns` is valid */
	bool bounded;      /* both bounds are valid */
	enum load_why why; /* why not */
	/* the bounds hold for this run, not for the server at other times: it changes too slowly */
	bool run_only;
	/* least number of requests for both bounds, if the latency stays as it is; 0: unknown */
	uint64_t needed;
	double touched;    /* share of requests that the measuring host may have delayed, 0..1 */
	double confidence; /* confidence of the bounds (load/interim.h) */
};
enum load_from {
	LOAD_INTENDED, LOAD_ACTUAL, LOAD_KERNEL,
	LOAD_UNDISTURBED, /* from the intended send, without the time around gaps (--excise) */
	LOAD_FROMS,
};
bool load_analysis_sound(const struct load_analysis *analysis);
/* Returns whether this or another agent's host delayed more requests than is harmless. */
bool load_analysis_noisy(const struct load_analysis *analysis);
/*
 * Returns whether the server ended all connections without any answer, or refused each request
 * from this client, and adds a sentence to `why`. False if it answered requests.
 */
bool load_analysis_shut_out(const struct load_analysis *analysis, struct strbuf *why);
/* Factors by which the latency rose and fell over the run, >= 1: 1: not, or not far. */
struct load_drift {
	double rose, fell;
};

#define LOAD_DRIFT_NONE ((struct load_drift){ 1, 1 })

/* How far a sound quantile reaches. */
struct load_scope {
	bool run_only; /* as in load_quantile */
	struct load_drift drift;
	/* a lower bound of this run is sound, even if the quantile is not */
	bool below;
};
/*
 * Sets *least_ns to a lower bound, which allows for requests that the host delayed by more than is
 * harmless for `limit_ns`, of quantile q of the main latency in this run; 0: none. Returns 0 or
 * -ENOMEM.
 */
int load_analysis_least(const struct load_analysis *analysis, double q, uint64_t limit_ns,
			uint64_t *least_ns);
/*
 * Returns whether the run would be sound if config.percentile were q, with bounds that are wider
 * by the drift: 1, 0 (`why` is a sentence), or -ENOMEM. Judges again every gate that depends on the
 * percentile, without --ci-width, which applies to config.percentile only.
 */
int load_analysis_sound_at(const struct load_analysis *analysis, double q, struct load_scope *scope,
			   struct strbuf *why);
/*
 * Returns where the main latency, which the verdict and --ci-width apply to, starts: at the
 * intended send, or in a closed loop and by some methods at the actual send.
 */
enum load_from load_analysis_main(const struct load_analysis *analysis);
/* Returns the name of a latency for users: "from intended send". */
const char *load_from_words(enum load_from from);
/* Returns the number of samples from which the quantiles of a latency were computed. */
uint64_t load_analysis_count(const struct load_analysis *analysis, enum load_from from);
/* Sets the intended times of the evaluated requests, [*from_ns, *to_ns): without the warm-up. */
void load_analysis_evaluated(const struct load_analysis *analysis, uint64_t *from_ns,
			     uint64_t *to_ns);
/* Returns the requests answered per second while requests were sent; NaN: unknown. */
double load_analysis_achieved(const struct load_analysis *analysis);
/*
 * Number of replies of the whole run, and of misses among them. load_analysis_misses() returns
 * false if the recording comes from a version that did not count misses.
 */
struct load_misses {
	uint64_t completed, misses;
};
bool load_analysis_misses(const struct load_analysis *analysis, struct load_misses *out);
void load_analysis_quantile(const struct load_analysis *analysis, enum load_from from, double q,
			    struct load_quantile *out);
/*
 * Counts the requests of the evaluated part of the run, and those among them that took `ns` or
 * longer (to 0.3 %) by the main latency, failed, or never ended; beside them, answered requests
 * whose sample was lost.
 */
struct load_beyond {
	uint64_t requests, beyond, lost;
};
void load_analysis_beyond(const struct load_analysis *analysis, uint64_t ns,
			  struct load_beyond *out);

#endif
