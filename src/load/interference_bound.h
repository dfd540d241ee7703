/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upper bounds of the share of requests that host interference affected: sent late, without a
 * sample, or in flight while a thread did not run. Which lateness or gap is harmful depends on the
 * latency in question. If affected requests may be most of the requests beyond a quantile, no
 * number of requests makes the quantile's interval valid.
 */
#ifndef HOSTLAT_LOAD_INTERFERENCE_BOUND_H
#define HOSTLAT_LOAD_INTERFERENCE_BOUND_H

#include "load/analysis_state.h"

/*
 * Returns the share of affected requests that quantile q, 0 < q < 1, tolerates: half the share of
 * requests beyond it.
 */
double interference_bound_limit(double q);

/* Returns the share of requests sent later than is harmless for a latency of `ns`. */
double interference_bound_late(const struct load_analysis *analysis, uint64_t ns);

/*
 * Returns the send lags of the requests that only generate load or of those that measure latency,
 * whichever are more often too late for a latency of `ns`.
 */
const struct hist *interference_bound_lag(const struct load_analysis *analysis, uint64_t ns);

/* Returns the share of requests without a sample, of the agent with the largest share. */
double interference_bound_lost(const struct load_analysis *analysis);

/*
 * Returns the share of time in which a thread that measures latency did not run, in gaps not short
 * compared to `ns`. Agents that only load are judged by their send lag.
 */
double interference_bound_gaps(const struct load_analysis *analysis, uint64_t ns);

/*
 * Returns the largest change that gaps may have caused in quantile q of the latency measured from
 * `from`, as a share of the quantile's value `ns`.
 */
double interference_bound_bias(const struct load_analysis *analysis, enum load_from from, double q,
			       uint64_t ns);

/* Returns the share of measuring threads' time that was stolen or runnable without a CPU. */
double interference_bound_stolen(const struct load_analysis *analysis);

/*
 * Returns flags for the kernel files that could not be read: LOAD_NO_STAT, LOAD_NO_SCHEDSTAT.
 * `all`: by any agent, not only by agents that measure the reported latencies.
 */
uint32_t interference_bound_unknown(const struct load_analysis *analysis, bool all);

/*
 * Returns whether host interference invalidates the confidence interval of quantile q of the
 * latency measured from `from`.
 */
bool interference_bound_breaks(const struct load_analysis *analysis, enum load_from from, double q,
			       const struct interval *interval);

#endif
