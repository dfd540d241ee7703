/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides an interval of a connection by what limited it into the five times sender_app_ns to
 * delayed_ack_ns of struct event_conn: docs/design/connections.md. Pure.
 */
#ifndef HOSTLAT_EVENT_CONN_TIMES_H
#define HOSTLAT_EVENT_CONN_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

/* Returns whether samples have weights (ns that each stands for); else only counts are known. */
bool conn_is_weighted(const struct event_conn *c);

/* Least number of samples by which an interval's time is divided. */
#define CONN_SAMPLES_MIN 5

/*
 * Divides `ns`, in which the samples of `by` were taken, among the times of `to`, in proportion to
 * the samples' states. The part of samples that fit several states is added to its unknown_ns.
 * Without CONN_KNOWS_LOSSES, `ns` includes loss recovery, which is then found by samples as well.
 * Returns false if `by` has fewer than CONN_SAMPLES_MIN samples.
 */
bool conn_share_out(uint64_t ns, const struct event_conn *by, struct event_conn *to);

/* Returns the part of `ns` that could not be sampled: `ns` times the unsampled share of c. */
uint64_t conn_unsampled(uint64_t ns, const struct event_conn *c);

/*
 * Returns event_conn.squares, the sum of the squares of the samples' times, of one interval. Within
 * one interval, all samples of a state stand for equal times.
 */
uint64_t conn_squares(const struct event_conn *c);

/*
 * Fills in sender_app_ns ... delayed_ack_ns and unknown_ns of `c`, which sum to its interval, from
 * busy_ns, kernel_rwnd_ns, recovery_ns (if losses are known), sampled_ns[] (sampled[], if that is
 * all 0), unclear_ns and unsampled_ns. Times that exceed the interval (ticks, stalls that are known
 * only at their end) are cut. `c` may be the sum of a connection's successive intervals: its times
 * are then unbiased. Sums of the intervals' times are not, as intervals without samples are
 * unknown.
 */
void conn_times(struct event_conn *c);

#endif
