/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are sent again on another connection. */
#ifndef HOSTLAT_LOAD_CONN_RESEND_H
#define HOSTLAT_LOAD_CONN_RESEND_H

#include "load/thread.h"

/*
 * Moves a request of a connection to the queue of requests to send again, and counts it. Without
 * the count, conn_resend_move() moves it to the queue of a pool.
 */
void conn_resend_queue(struct load_thread *t, struct load_conn *c, struct load_request *r);
void conn_resend_move(struct load_thread *t, struct load_conn *c, struct load_request *r,
		      struct load_pool *pool);

/*
 * Called when the server has closed the connection after a reply: queues the unanswered requests
 * that may be sent again.
 */
void conn_resend_queue_all(struct load_thread *t, struct load_conn *c);

/* Assigns the first queued request of its pool, which must exist, to a free connection. */
void conn_resend_first(struct load_thread *t, struct load_conn *c);

/* Removes a request from the queue of requests to send again. */
void conn_resend_drop(struct load_thread *t, struct load_request *r);

#endif
