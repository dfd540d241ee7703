/* SPDX-License-Identifier: Apache-2.0 */
/* State of an HTTP/2 connection and of its streams, shared by the files of h2. */
#ifndef HOSTLAT_LOAD_H2_SESSION_H
#define HOSTLAT_LOAD_H2_SESSION_H

#include <nghttp2/nghttp2.h>

#include "load/protocol.h"
#include "load/session.h"

#define H2_FRAME_HEAD 9 /* bytes before the payload of a frame */
#define H2_CAUSE_MAX 32

/* How a stream's reply ended. */
enum h2_end {
	H2_OPEN,        /* it did not end yet */
	H2_COMPLETE,
	H2_UNPROCESSED, /* refused by the server before any processing (RFC 9113, 8.7) */
	H2_RESET,       /* reset by the server */
	H2_INVALID,     /* the reply violates the protocol */
};

/* A request: its fields, and its body. They point into `text`. */
struct h2_request {
	char *text;         /* owned; NULL: none */
	nghttp2_nv *fields; /* owned */
	size_t n_fields;
	const unsigned char *body;
	size_t body_size;
};

/* A request and its reply, in use until the stream is closed and the reply was returned. */
struct h2_stream {
	struct h2_stream *next;    /* next in the list of ready or of spare streams */
	struct h2_stream *next_all; /* next in the list of all streams, for their release */
	struct h2_request own;     /* the request, unless it is in h2_session.same */
	const unsigned char *body; /* bytes of the request's body not sent yet */
	size_t body_left;
	uint64_t received;         /* size of the reply's body so far */
	uint32_t id;
	uint32_t reset_code;       /* error code of the stream's end */
	uint32_t grpc_status;
	uint16_t status;           /* HTTP status; 0: none yet */
	uint8_t end;               /* enum h2_end */
	bool begun, has_grpc_status, closed, returned, reset_by_peer;
	bool redirect;             /* the text has the target of a redirect */
	struct error_text text;    /* text of an error reply */
};

struct h2_session {
	struct protocol_session base; /* must be the first member */
	nghttp2_session *ng;
	const struct workload *workload;
	bool grpc;
	bool tls;
	/* requests of `workload` that are alike whenever they are sent */
	struct h2_request same[OPERATIONS];
	struct h2_stream *all, *spare;
	struct h2_stream *ready, **ready_end; /* streams whose reply parse() returns next */
	struct error_text *text;   /* member of the connection's reply_parser */
	/* makes a stream spare that is closed and whose reply was returned */
	void (*release)(struct h2_session *session, struct h2_stream *stream);
	char cause[H2_CAUSE_MAX];
	uint8_t head[H2_FRAME_HEAD]; /* begin of the next frame's head */
	uint8_t head_size;
	uint32_t frame_left;       /* bytes of the current frame still to come */
};

/* Registers the callbacks for frames from the peer. */
void h2_reply_callbacks(nghttp2_session_callbacks *callbacks);

/* Fills a reply from an ended stream. */
void h2_reply_fill(struct h2_session *session, const struct h2_stream *stream, struct reply *out);

/*
 * Makes a request of the workload from its text for HTTP/1.1. Returns 0 or -ENOMEM.
 * h2_request_release() accepts zeroed memory.
 */
int h2_request_make(struct h2_request *request, const struct h2_session *session,
		    const struct workload *workload, const struct operation *operation);
void h2_request_release(struct h2_request *request);

/* Returns whether all requests of an operation are alike. */
bool h2_request_is_same(const struct workload *workload, enum operation_kind kind);

#endif
