/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of single send and receive calls: as a table of the followed connection, and as JSON
 * lines.
 */
#ifndef HOSTLAT_CONNS_CALLS_H
#define HOSTLAT_CONNS_CALLS_H

#include "conns/state.h"

/* Stores a call of the followed connection; the oldest calls are dropped. 0 or -ENOMEM. */
int calls_add(struct conns *c, const struct event_call *call);

/*
 * Adds the table `call_log` of the followed connection to the report; nothing if none is followed.
 */
void calls_table(const struct conns *c, struct report *r);

#endif
