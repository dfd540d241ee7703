/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and adds up the records of a connection. */
#ifndef HOSTLAT_CONNS_CONN_ACCUMULATE_H
#define HOSTLAT_CONNS_CONN_ACCUMULATE_H

#include <stdbool.h>

#include "event/layout.h"

/* Returns whether a record is consistent: its times and its samples by state fit their totals. */
bool conn_accumulate_accepts(const struct event_conn *e);

/*
 * Adds the later record `e` to `sum`. A counter of the sum is known if both records know it and the
 * sum has not overflowed; gauges become those of `e`.
 */
void conn_accumulate(struct event_conn *sum, const struct event_conn *e);

/*
 * Adds the next record of the connection and computes the times from the sums: time of an interval
 * without samples becomes known, as samples of other intervals stand for it.
 */
void conn_accumulate_next(struct event_conn *sum, const struct event_conn *next);

#endif
