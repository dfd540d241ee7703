/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of the synthetic server: pending requests, sending, closing connections. */
#ifndef HOSTLAT_LOAD_SERVE_REPLY_H
#define HOSTLAT_LOAD_SERVE_REPLY_H

#include "load/serve_context.h"
#include "net/stream.h"

/* A request whose reply has not been sent yet. */
struct serve_waiting {
	struct link link;                /* link in the connection's list `waiting` or `ready` */
	struct serve_conn *conn;         /* NULL: the connection was closed */
	struct serve_waiting *spare;
	/* the reply is due, so the agenda (the queue of future replies) does not contain it */
	bool due;
	struct serve_request request;
};

struct serve_conn {
	struct link all, closed;
	struct net_stream stream;
	bool handshake;                  /* the TLS handshake is in progress */
	bool no_more;                    /* no more requests are read: the connection will end */
	bool gone;
	uint32_t events;
	uint64_t idle_ns;                /* idle since this time; UINT64_MAX: in service; atomic */
	/* The request being parsed. */
	struct serve_state state;
	struct serve_request request;
	bool complete;                   /* the request is complete after `skip` more bytes */
	uint64_t skip;
	char *stash;                     /* received bytes of an incomplete request */
	size_t stash_len;
	/* Replies that are not due or wait for earlier replies; replies ready to be sent. */
	struct link waiting, ready;
	char *unsent;                    /* bytes that the peer has not accepted, sent first */
	size_t unsent_at, unsent_len;
	uint64_t fill;                   /* payload bytes left of the current reply */
	const char *tail;
};

/* Returns whether the peer does not accept more bytes. */
static inline bool serve_blocked(const struct serve_conn *conn)
{
	return conn->unsent_len > 0;
}

/* Returns whether no replies are pending. */
static inline bool serve_idle(const struct serve_conn *conn)
{
	return list_empty(&conn->waiting) && list_empty(&conn->ready);
}

/* Appends a copy of the request to conn->waiting. Returns NULL if memory is exhausted. */
struct serve_waiting *serve_wait(struct serve_context *context, struct serve_conn *conn,
				 const struct serve_request *request);
void serve_waiting_free(struct serve_context *context, struct serve_waiting *waiting);

/*
 * Marks a reply as due. In protocols without request ids, it is sent after the replies to earlier
 * requests.
 */
void serve_make_ready(struct serve_context *context, struct serve_conn *conn,
		      struct serve_waiting *waiting);

/* Returns whether a reply may be sent; false: the peer does not accept more bytes at the moment. */
bool serve_may_send(struct serve_context *context, struct serve_conn *conn);

/* Buffers a reply, to be sent by serve_flush(); a datagram is sent at once. */
void serve_send(struct serve_context *context, struct serve_conn *conn,
		const struct serve_request *request);

/* Sends ready replies, as many as the peer accepts. */
void serve_send_ready(struct serve_context *context, struct serve_conn *conn);

/* Sends unsent bytes, then ready replies, as many as the peer accepts. */
void serve_send_unsent(struct serve_context *context, struct serve_conn *conn);

/* Sends the buffered replies. Called before replies of another connection are buffered. */
void serve_flush(struct serve_context *context, struct serve_conn *conn);

/*
 * Closes a connection and increments *count. The memory remains until serve_conn_sweep(), as
 * pending events may refer to it.
 */
void serve_close(struct serve_context *context, struct serve_conn *conn, uint64_t *count);

/*
 * Frees a connection and its requests, except requests whose reply is not due: the agenda (the
 * queue of future replies) still contains them.
 */
void serve_conn_free(struct serve_conn *conn);

#endif
