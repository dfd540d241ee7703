/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a connection (session.h): writes its output, and ends it. */
#ifndef HOSTLAT_LOAD_CONN_SESSION_H
#define HOSTLAT_LOAD_CONN_SESSION_H

#include "load/thread.h"

/*
 * Submits the unwritten requests that the peer allows, and writes the session's output. Sets
 * c->blocked if the socket takes no more. Returns 0, or -errno: the connection is lost.
 */
int conn_session_flush(struct load_thread *t, struct load_conn *c);

/* Stores a description of received bytes that violate the protocol at data[used - 1]. */
void conn_session_garbled(struct load_conn *c, const char *data, size_t n, size_t used);

/* Tells the peer that this side closes the connection, if the socket takes that at once. */
void conn_session_finish(struct load_thread *t, struct load_conn *c);

/* Frees the session. Accepts a connection without one. */
void conn_session_close(struct load_conn *c);

#endif
