/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a connection, checked and added up. */
#ifndef HOSTLAT_CONNS_CONN_ACCUMULATE_H
#define HOSTLAT_CONNS_CONN_ACCUMULATE_H

#include <stdbool.h>

#include "event/layout.h"

/* Whether the numbers can be: times that add up, samples that are no more than there were. */
bool conn_accumulate_accepts(const struct event_conn *e);

/*
 * Adds what came later to `sum`. A counter is known of the sum if it is of all that it is made of,
 * and if it has not run over; what is a state is the later one's.
 */
void conn_accumulate(struct event_conn *sum, const struct event_conn *e);

/*
 * The same of what one connection did next. Its times are then found from the sums: an interval in
 * which nothing was sampled is no unknown one, as samples of others stand for it.
 */
void conn_accumulate_next(struct event_conn *sum, const struct event_conn *next);

#endif
