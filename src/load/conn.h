/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and replies of one open connection. Requests that wait to be written are not kept as
 * bytes: what a blocked socket did not take is encoded again, as chance comes from their numbers.
 */
#ifndef HOSTLAT_LOAD_CONN_H
#define HOSTLAT_LOAD_CONN_H

#include "load/thread.h"

/* Gives it a request that was due at `intended`; conn_flush_all() sends it. It must be free. */
void conn_assign(struct load_thread *t, struct load_conn *c, uint64_t number, uint64_t intended);

/* Puts it among the free ones, or takes it away, as its state says. */
void conn_settle(struct load_thread *t, struct load_conn *c);

/* Sends what was given to it. Returns 0, or -errno: the connection is lost. */
int conn_flush(struct load_thread *t, struct load_conn *c);

/*
 * Takes what has come; `to_end`: the peer has closed. Returns 0, or why it is lost: -EPROTO
 * (garbled), -EPIPE (the server has closed it, or says that it will), another -errno.
 */
int conn_receive(struct load_thread *t, struct load_conn *c, bool to_end);

/* Takes kernel stamps, or the socket's error: the same. */
int conn_errors(struct load_thread *t, struct load_conn *c);

/* The request waits for its reply no more. */
void conn_drop(struct load_thread *t, struct load_conn *c, struct load_request *r);

/*
 * The server has closed it after a reply. What it left unanswered, and may be sent again, waits for
 * another connection from now on: conn_take_again(), for which there must be one that waits, gives
 * the first to a free one.
 */
void conn_queue_resends(struct load_thread *t, struct load_conn *c);
void conn_resend(struct load_thread *t, struct load_conn *c);
/* It waits no more. */
void conn_drop_resend(struct load_thread *t, struct load_request *r);

/* Fails all that it waits for, as the connection is lost for this -errno. */
void conn_fail(struct load_thread *t, struct load_conn *c, int err);

#endif
