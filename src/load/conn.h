/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and replies of one open connection. Unwritten requests are not stored as bytes: after a
 * blocked write they are encoded again, which gives the same bytes since random numbers are seeded
 * by request number.
 */
#ifndef HOSTLAT_LOAD_CONN_H
#define HOSTLAT_LOAD_CONN_H

#include "load/thread.h"

/*
 * Sends the assigned requests and, with a session, its output. Returns 0, or -errno: the connection
 * is lost.
 */
int conn_flush(struct load_thread *t, struct load_conn *c);

/*
 * Reads and parses replies; `to_end`: the peer has closed. Returns 0, or why the connection is
 * lost: -EPROTO (garbled), -EPIPE (the server has closed or will close), another -errno.
 */
int conn_receive(struct load_thread *t, struct load_conn *c, bool to_end);

/* Reads kernel time stamps, or the socket's error. Returns 0, or -errno: connection lost. */
int conn_errors(struct load_thread *t, struct load_conn *c);

/*
 * Removes a request that timed out, if the connection can go on without its reply: a datagram's, or
 * a stream of a session. Returns false if the reply may still come and must match no other request,
 * or if a session's peer has been silent since the request. Otherwise settles the connection.
 */
bool conn_cancel(struct load_thread *t, struct load_conn *c, struct load_request *r);

/* Fails all requests of a lost connection; `err` (-errno) is the reason for the loss. */
void conn_fail(struct load_thread *t, struct load_conn *c, int err);

#endif
