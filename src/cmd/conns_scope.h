/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects a run's connections from a recording of the whole host (`explain`). The server's end is
 * identified by its local port, the client's end by the load generator's process: other clients may
 * use the same port, and address translation may change it.
 */
#ifndef HOSTLAT_CMD_CONNS_SCOPE_H
#define HOSTLAT_CMD_CONNS_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/reader.h"

struct conn_view;

struct conns_scope {
	uint64_t port; /* port of the server; 0: unknown */
	uint64_t pid;  /* pid of the load generator; 0: unknown */
	bool no_tcp;   /* no target of the load is reached by TCP: UDP, or sockets of files */
};

/*
 * Reads the server's port from the facts of the recording `server`, and the load generator's pid
 * and targets from the facts of the recording `load`. Returns 0 or -errno.
 */
int conns_scope_read(struct conns_scope *scope, struct event_reader *server,
		     struct event_reader *load);

/* Returns whether the run owns the connection: the `select` callback of struct conns_options. */
bool conns_scope_selects(const struct conn_view *view, void *scope);

#endif
