/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of single send and receive calls: as a table of the followed connection, and as JSON
 * lines.
 */
#ifndef HOSTLAT_CONNS_CALLS_H
#define HOSTLAT_CONNS_CALLS_H

#include "conns/state.h"

/* Stores a call of the connection of --follow; a full log drops its oldest half. 0 or -ENOMEM. */
int calls_add(struct conns *c, const struct event_call *call);

/* Adds the table `call_log` of the connection of --follow to the report; nothing without it. */
void calls_table(const struct conns *c, struct report *r);

#endif
