/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a connection, checked and added up. */
#ifndef HOSTLAT_CONNS_CONN_ACCUMULATE_H
#define HOSTLAT_CONNS_CONN_ACCUMULATE_H

#include <stdbool.h>

#include "event/layout.h"

/*
 * Whether a record is consistent: its times add up, and no state has more samples than there are.
 */
bool conn_accumulate_accepts(const struct event_conn *e);

/*
 * Adds the later record `e` to `sum`. A counter of the sum is known if it is known in both and has
 * not overflowed; gauges become those of `e`.
 */
void conn_accumulate(struct event_conn *sum, const struct event_conn *e);

/*
 * Adds the next record of the same connection, and computes the times from the sums: an interval
 * without samples is not unknown then, as samples of other intervals stand for it.
 */
void conn_accumulate_next(struct event_conn *sum, const struct event_conn *next);

#endif
