/* SPDX-License-Identifier: Apache-2.0 */
/* A stretch of time, and another clock: see conns_set_window(). */
#ifndef HOSTLAT_CONNS_WINDOW_H
#define HOSTLAT_CONNS_WINDOW_H

#include "conns/conns.h"
#include "event/layout.h"

/*
 * Moves from..to to the other clock; returns whether it lies in the window. Impossible times are
 * left unchanged and accepted, so that the consumer refuses and counts them.
 */
bool window_apply(const struct conns_window *w, __u64 *from, __u64 *to);

/* The same of a record and all times in it. */
bool window_apply_conn(const struct conns_window *w, struct event_conn *e);

#endif
