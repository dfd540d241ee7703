/* SPDX-License-Identifier: Apache-2.0 */
/* A stretch of time, and another clock: see conns_set_window(). */
#ifndef HOSTLAT_CONNS_WINDOW_H
#define HOSTLAT_CONNS_WINDOW_H

#include "conns/conns.h"
#include "event/layout.h"

/*
 * Moves from..to; whether it is taken. Times that can't be are left as they are and taken, to be
 * refused by who looks at them.
 */
bool window_apply(const struct conns_window *w, __u64 *from, __u64 *to);

/* The same of a record and all times in it. */
bool window_apply_conn(const struct conns_window *w, struct event_conn *e);

#endif
