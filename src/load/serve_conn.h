/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the synthetic server, or one socket of datagrams: bytes to requests, requests
 * to the queue, replies when they are due. While the peer doesn't take its replies, nothing more
 * is read from it. A connection belongs to one thread at a time.
 */
#ifndef HOSTLAT_LOAD_SERVE_CONN_H
#define HOSTLAT_LOAD_SERVE_CONN_H

#include "load/serve_context.h"
#include "net/stream.h"

/* Zeroed before. Returns 0 or -ENOMEM. */
int serve_context_init(struct serve_context *context, struct serve_shared *shared, int epoll,
		       bool one_shot, uint64_t seed);
void serve_context_release(struct serve_context *context);

/* Takes `stream` over if it returns 0; events may come at once. For any thread. */
int serve_conn_new(struct serve_context *context, const struct net_stream *stream);

/*
 * Ends the streams on which nothing has happened for that long, but for those that wait for a
 * reply. Returns how many. For any thread; each one's own thread then closes it.
 */
uint64_t serve_conn_end_idle(struct serve_shared *shared, uint64_t idle_ns);

/* Open streams. For any thread. */
uint32_t serve_conn_count(struct serve_shared *shared);

/* epoll's events for a connection: `tag` is their data. */
void serve_conn_event(struct serve_context *context, void *tag, uint32_t events);

/* Sends what is due. Returns when the next is: CLOCK_MONOTONIC, or UINT64_MAX. */
uint64_t serve_conn_due(struct serve_context *context);

/* Frees those that were closed; after all events of a wait. */
void serve_conn_sweep(struct serve_context *context);

/* Closes all; the threads have ended. Returns how many were open. */
uint64_t serve_conn_close_all(struct serve_shared *shared);

#endif
