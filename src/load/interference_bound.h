/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the load generator itself may have done to requests: it sent them late, lost their samples,
 * or did not run while they were under way. Shares of all requests, at most; which of them harm
 * depends on the latency in question. If they may be most of what lies beyond a quantile, then no
 * number of requests makes an interval of it valid.
 */
#ifndef HOSTLAT_LOAD_INTERFERENCE_BOUND_H
#define HOSTLAT_LOAD_INTERFERENCE_BOUND_H

#include "load/analysis_state.h"

/* The share that the quantile q, 0 < q < 1, stands: half of what lies beyond it. */
double interference_bound_limit(double q);

/* Sent later than is harmless for a latency of `ns`. */
double interference_bound_late(const struct load_analysis *analysis, uint64_t ns);

/* How late: of the requests that load or of those that probe, whichever have more late ones. */
const struct hist *interference_bound_lag(const struct load_analysis *analysis, uint64_t ns);

/* Without a sample: of the agent that lost most. */
double interference_bound_lost(const struct load_analysis *analysis);

/*
 * In times, not short against `ns`, in which a thread didn't run: one that takes latencies. What
 * loads beside it is judged by its lag.
 */
double interference_bound_gaps(const struct load_analysis *analysis, uint64_t ns);

/* What these can have done to the quantile q of `from`, which is `ns` > 0, as a share of it. */
double interference_bound_bias(const struct load_analysis *analysis, enum load_from from, double q,
			       uint64_t ns);

/* Stolen from these threads, or runnable without a CPU: of their time. */
double interference_bound_stolen(const struct load_analysis *analysis);

/*
 * What is not known of the last: LOAD_NO_STAT, LOAD_NO_SCHEDSTAT. `all`: of all agents, not only of
 * those whose requests' latencies count.
 */
uint32_t interference_bound_unknown(const struct load_analysis *analysis, bool all);

/* Whether one of the above is too much for an interval of the quantile q of `from`. */
bool interference_bound_breaks(const struct load_analysis *analysis, enum load_from from, double q,
			       const struct interval *interval);

#endif
