/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upper bounds of the share of requests that host interference affected: sent late, without a
 * sample, or in flight while a thread did not run. Which lateness or gap is harmful depends on the
 * latency in question. A delay only adds to a latency from the intended send, so the upper bound of
 * a quantile holds, and the lower bound is that of a quantile lower by this share.
 */
#ifndef HOSTLAT_LOAD_INTERFERENCE_BOUND_H
#define HOSTLAT_LOAD_INTERFERENCE_BOUND_H

#include "load/analysis_state.h"

/*
 * Largest share of time in gaps for which bounds are given: if a server serves bunches of requests
 * faster than single ones, a delay does not only add, and with more bunches that matters.
 */
#define INTERFERENCE_GAPS_MOST 0.2

/*
 * Returns the share of affected requests, as a share of all, above which quantile q, 0 < q < 1, may
 * be mostly theirs: half the share of requests beyond it. Above, reports say so.
 */
double interference_bound_limit(double q);

/*
 * Returns whether an agent's latencies count: if there are latency agents, only their latencies do.
 */
bool interference_bound_counts(const struct load_analysis *analysis,
			       const struct load_agent *agent);

/* Returns the share of requests sent later than is harmless for a latency of `ns`. */
double interference_bound_late(const struct load_analysis *analysis, uint64_t ns);

/*
 * Returns the send lags of the requests that only generate load or of those that measure latency,
 * whichever are more often too late for a latency of `ns`.
 */
const struct hist *interference_bound_lag(const struct load_analysis *analysis, uint64_t ns);

/* Returns the number of requests without a sample, which may have any latency. */
uint64_t interference_bound_lost(const struct load_analysis *analysis);

/* Returns the length, in ns, up to which a gap is short compared to a latency of `ns`. */
uint64_t interference_bound_harmless(uint64_t ns);

/*
 * Returns the share of time in which a thread that measures latency did not run, in gaps not short
 * compared to `ns`. Agents that only load are judged by their send lag.
 */
double interference_bound_gaps(const struct load_analysis *analysis, uint64_t ns);

/* Returns the share of measuring threads' time that was stolen or runnable without a CPU. */
double interference_bound_stolen(const struct load_analysis *analysis);

/*
 * Returns flags for the kernel files that could not be read: LOAD_NO_STAT, LOAD_NO_SCHEDSTAT.
 * `all`: by any agent, not only by agents that measure the reported latencies.
 */
uint32_t interference_bound_unknown(const struct load_analysis *analysis, bool all);

/*
 * Returns an upper bound of the share of requests that host interference delayed, 0..1, by more
 * than is harmless for a latency of `ns` measured from `from`.
 */
double interference_bound_touched(const struct load_analysis *analysis, enum load_from from,
				  uint64_t ns);

/* Returns whether there is so much host interference that no bound of a latency is sure. */
bool interference_bound_breaks(const struct load_analysis *analysis, uint64_t ns);

#endif
