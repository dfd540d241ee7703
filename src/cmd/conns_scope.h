/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the connections of a run of `explain` from a recording of all of the host. The server's
 * end is known by its local port, the load generator's by its process: other clients may use the
 * same port, and address translation may change it.
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
