/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: protocols whose connections have state and output of their own. HTTP/2 needs both: its
 * requests depend on the requests before (compressed fields, stream numbers), and the client sends
 * frames that no request asks for (settings, acknowledgements, window updates).
 *
 * A connection with a session differs from others in this:
 *   - open() makes the session after the connection (and TLS) is established, and close() frees it
 *     with the connection. No request is sent before `ready`.
 *   - Requests are started with submit(), each once: they are never encoded again. All bytes to
 *     send come from output(), which the engine calls whenever `has_output` is set, and writes in
 *     order. Bytes that a blocked socket does not take are kept by the engine.
 *   - The protocol's parse() finds its session in the reply_parser. Replies are matched by id.
 *   - `requests_max` and `going_away` limit the requests of the connection.
 */
#ifndef HOSTLAT_LOAD_SESSION_H
#define HOSTLAT_LOAD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/error_text.h"
#include "load/operation.h"

/* Bytes of the largest piece of output. */
#define SESSION_PIECE_MAX (17 << 10)

struct encoded_request;
struct protocol;
struct workload;

/* The part of a session that the engine reads; the protocol writes it. */
struct protocol_session {
	uint32_t requests_max;  /* requests that the peer allows at a time */
	uint32_t requests;      /* requests submitted whose stream is not closed */
	uint32_t replies_begun; /* replies that have arrived only in part */
	/* ended replies that parse() has not returned yet: output() may end some, too */
	uint32_t replies_ready;
	bool ready;             /* the peer has confirmed the protocol: requests may be sent */
	bool going_away;        /* no more requests: the connection ends after the last reply */
	bool has_output;        /* output() has bytes, as far as known */
	/* description of the peer's last violation, or why it goes away; may be empty */
	struct error_text why;
};

/* A piece of output. */
struct session_piece {
	uint32_t id; /* id of the request to which the bytes belong; 0: no request */
	bool last;   /* they are the last bytes of this request */
};

struct session_ops {
	/*
	 * Makes a session, which may keep requests of `workload` (borrowed) made for later ones.
	 * Returns NULL if memory is short.
	 */
	struct protocol_session *(*open)(const struct protocol *protocol,
					 const struct workload *workload);
	/* Frees a session. Accepts NULL. */
	void (*close)(struct protocol_session *session);
	/*
	 * Starts a request of a workload, which may be another than that of open() (--urls): sets
	 * out->id and out->type. The workload must outlive the session. Returns 0 or -ENOMEM.
	 */
	int (*submit)(struct protocol_session *session, const struct workload *workload,
		      const struct operation *operation, struct encoded_request *out);
	/*
	 * Copies the next piece of output to `to`, which has at least SESSION_PIECE_MAX bytes.
	 * Returns its size, 0 if there is nothing to send now, or -errno: the session is unusable.
	 */
	int (*output)(struct protocol_session *session, void *to, struct session_piece *piece);
	/* Returns whether the first part of the reply to request `id` has arrived. */
	bool (*reply_begun)(const struct protocol_session *session, uint32_t id);
	/* Gives request `id` up: its reply is not returned any more. Ignores an unknown id. */
	void (*cancel)(struct protocol_session *session, uint32_t id);
	/* Makes the last output of a connection that this side closes. */
	void (*finish)(struct protocol_session *session);
};

#endif
