/* SPDX-License-Identifier: Apache-2.0 */
/* The way out of the synthetic server: requests that wait, replies, the end of a connection. */
#ifndef HOSTLAT_LOAD_SERVE_REPLY_H
#define HOSTLAT_LOAD_SERVE_REPLY_H

#include "load/serve_context.h"
#include "net/stream.h"

/* A request whose reply isn't sent yet. */
struct serve_waiting {
	struct link link;                /* waiting or ready */
	struct serve_conn *conn;         /* NULL: it was closed */
	struct serve_waiting *spare;
	bool due;                        /* it isn't in the agenda any more */
	struct serve_request request;
};

struct serve_conn {
	struct link all, closed;
	struct net_stream stream;
	bool handshake;                  /* of TLS, still going on */
	bool no_more;                    /* no further request is taken from it */
	bool gone;
	uint32_t events;
	uint64_t idle_ns;                /* since then; UINT64_MAX: it is being served; atomic */
	/* What is being read. */
	struct serve_state state;
	struct serve_request request;
	bool complete;                   /* ... once `skip` bytes more have passed */
	uint64_t skip;
	char *stash;                     /* bytes that are not a whole request yet */
	size_t stash_len;
	/* What is to be sent, in order (or, by id, in any). */
	struct link waiting, ready;
	char *unsent;                    /* what the peer didn't take; it comes first */
	size_t unsent_at, unsent_len;
	uint64_t fill;                   /* of the reply being sent */
	const char *tail;
};

/* The peer doesn't take what was written. */
static inline bool serve_blocked(const struct serve_conn *conn)
{
	return conn->unsent_len > 0;
}

/* Nothing waits before what comes next. */
static inline bool serve_idle(const struct serve_conn *conn)
{
	return list_empty(&conn->waiting) && list_empty(&conn->ready);
}

/* The last of the connection's waiting requests: a copy. NULL: no memory. */
struct serve_waiting *serve_wait(struct serve_context *context, struct serve_conn *conn,
				 const struct serve_request *request);
void serve_waiting_free(struct serve_context *context, struct serve_waiting *waiting);

/* It is due. Without ids, it also waits for those before it. */
void serve_make_ready(struct serve_context *context, struct serve_conn *conn,
		      struct serve_waiting *waiting);

/* Whether a reply may be sent; false: the peer takes nothing more at the moment. */
bool serve_may_send(struct serve_context *context, struct serve_conn *conn);

/* Writes a reply; it leaves with serve_flush(), those of datagrams at once. */
void serve_send(struct serve_context *context, struct serve_conn *conn,
		const struct serve_request *request);

/* As many of those that are ready as the peer takes. */
void serve_send_ready(struct serve_context *context, struct serve_conn *conn);

/* Writes what the peer hadn't taken, then what is ready, as far as it takes it now. */
void serve_send_unsent(struct serve_context *context, struct serve_conn *conn);

/* Whatever was written before anything is written for another connection. */
void serve_flush(struct serve_context *context, struct serve_conn *conn);

/* One more of `count`. The connection stays to be named by events; see serve_conn_sweep(). */
void serve_close(struct serve_context *context, struct serve_conn *conn, uint64_t *count);

/* Closed or not, with the requests that only it knows of. */
void serve_conn_free(struct serve_conn *conn);

#endif
