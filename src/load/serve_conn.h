/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection of the synthetic server, or a datagram socket: parses requests, queues them and
 * sends replies when they are due. While a peer does not read its replies, the server does not read
 * from the peer. A connection belongs to one thread at a time.
 */
#ifndef HOSTLAT_LOAD_SERVE_CONN_H
#define HOSTLAT_LOAD_SERVE_CONN_H

#include "load/serve_context.h"
#include "net/stream.h"

/* Initializes a zeroed context. Returns 0 or -ENOMEM. */
int serve_context_init(struct serve_context *context, struct serve_shared *shared, int epoll,
		       bool one_shot, uint64_t seed);
void serve_context_release(struct serve_context *context);

/*
 * Adds a connection, and owns `stream` if it returns 0. Its events may arrive at once. Returns 0 or
 * -errno. Callable from any thread.
 */
int serve_conn_new(struct serve_context *context, const struct net_stream *stream);

/*
 * Shuts down streams that were idle for `idle_ns`, except those that wait for a reply. The
 * connection's own thread then closes it. Returns the number of streams. Callable from any thread.
 */
uint64_t serve_conn_end_idle(struct serve_shared *shared, uint64_t idle_ns);

/* Returns the number of open streams. Callable from any thread. */
uint32_t serve_conn_count(struct serve_shared *shared);

/* Handles the epoll events of the connection `tag`. */
void serve_conn_event(struct serve_context *context, void *tag, uint32_t events);

/* Sends due replies. Returns the next reply's time (CLOCK_MONOTONIC, ns), or UINT64_MAX. */
uint64_t serve_conn_due(struct serve_context *context);

/* Frees closed connections. Called after all events of an epoll_wait() are handled. */
void serve_conn_sweep(struct serve_context *context);

/* Closes all connections, after the threads have ended. Returns the number of open streams. */
uint64_t serve_conn_close_all(struct serve_shared *shared);

#endif
