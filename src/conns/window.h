/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a time window and a clock shift; see conns_set_window(). */
#ifndef HOSTLAT_CONNS_WINDOW_H
#define HOSTLAT_CONNS_WINDOW_H

#include "conns/conns.h"
#include "event/layout.h"

/*
 * Shifts from..to to the other clock; returns whether at least half of it lies in the window.
 * Impossible times are unchanged and accepted, so that the consumer refuses and counts them.
 */
bool window_apply(const struct conns_window *w, __u64 *from, __u64 *to);

/* Shifts all times of a record; returns whether at least half of it lies in the window. */
bool window_apply_conn(const struct conns_window *w, struct event_conn *e);

#endif
