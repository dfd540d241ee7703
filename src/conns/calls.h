/* SPDX-License-Identifier: Apache-2.0 */
/* The log of single calls: of the connection that is followed, and as lines. */
#ifndef HOSTLAT_CONNS_CALLS_H
#define HOSTLAT_CONNS_CALLS_H

#include "conns/state.h"

/* Keeps those of the connection that is followed; the oldest go. 0 or -ENOMEM. */
int calls_add(struct conns *c, const struct event_call *call);

/* `call_log` of the connection that is followed; nothing without. */
void calls_table(const struct conns *c, struct report *r);

#endif
