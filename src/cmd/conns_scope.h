/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which connections are those of a run of `explain`: a recording has all of the host. The server's
 * end is known by its local port, as its messages are; the load's by who made it: another client
 * of the same port is none of its connections, and behind an address that is translated the port
 * is another one.
 */
#ifndef HOSTLAT_CMD_CONNS_SCOPE_H
#define HOSTLAT_CMD_CONNS_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/reader.h"

struct conn_view;

struct conns_scope {
	uint64_t port; /* of the server; 0: not known */
	uint64_t pid;  /* of the load; 0: not known */
};

/* By the facts of both recordings. 0 or -errno. */
int conns_scope_read(struct conns_scope *scope, struct event_reader *server,
		     struct event_reader *load);

/* `select` of struct conns_options. */
bool conns_scope_selects(const struct conn_view *view, void *scope);

#endif
