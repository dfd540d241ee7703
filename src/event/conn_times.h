/* SPDX-License-Identifier: Apache-2.0 */
/* How an interval of a connection divides into its five times: docs/design/connections.md. Pure. */
#ifndef HOSTLAT_EVENT_CONN_TIMES_H
#define HOSTLAT_EVENT_CONN_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

/* Whether its samples carry weights (ns each stands for); otherwise only their counts are known. */
bool conn_is_weighted(const struct event_conn *c);

/* Samples needed to divide time that only samples can divide. */
#define CONN_SAMPLES_MIN 5

/*
 * Shares `ns`, in which the samples of `by` were taken, out to the times of `to`; what was unclear
 * is added to its unknown_ns. Without CONN_KNOWS_LOSSES recovery is in `ns`, and found by samples
 * as well. False: they are too few.
 */
bool conn_share_out(uint64_t ns, const struct event_conn *by, struct event_conn *to);

/* Returns the part of `ns` in its from..to that could not be sampled. */
uint64_t conn_unsampled(uint64_t ns, const struct event_conn *c);

/* Returns `squares` of one interval, in which samples of the same state weigh the same. */
uint64_t conn_squares(const struct event_conn *c);

/*
 * Fills in sender_app_ns ... delayed_ack_ns and unknown_ns of `c`, which sum to `to` - `from`, from
 * busy_ns, kernel_rwnd_ns, recovery_ns (if losses are known), sampled_ns[] (sampled[], if that has
 * nothing), unclear_ns and unsampled_ns. What these have beyond the interval (ticks, stalls that
 * are known only when they are over) is cut. `c` may be the sum of a connection's successive
 * intervals: then its times are unbiased, which sums of the intervals' times are not, as those
 * without samples are unknown.
 */
void conn_times(struct event_conn *c);

#endif
