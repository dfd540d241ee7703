/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocols of the synthetic server: a row of functions each. The server stores nothing and only
 * takes time, so a request holds just what its reply needs.
 */
#ifndef HOSTLAT_LOAD_SERVE_REQUEST_H
#define HOSTLAT_LOAD_SERVE_REQUEST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVE_KEY_MAX 250             /* bytes of a key, or of an argument to repeat */
#define SERVE_HEAD_MAX 512            /* bytes of a reply before its payload */
#define SERVE_TAIL_MAX 16             /* bytes of a reply after its payload */
#define SERVE_LINE_MAX 16384          /* bytes of a line or of HTTP's headers */
#define SERVE_BODY_MAX (1ULL << 30)   /* bytes of a request's data */
#define SERVE_DRAWN UINT64_MAX        /* the server draws the service time */

struct serve_request {
	const char *text;     /* the whole reply, NUL-terminated; NULL: the protocol writes one */
	uint8_t kind;         /* protocol-specific, for write() */
	bool refused;         /* the request is refused: queue full */
	bool silent;          /* no reply is wanted */
	bool last;            /* the connection ends after its reply */
	uint32_t id;
	uint32_t size;        /* of the reply: echo, synthetic */
	uint64_t service_ns;  /* or SERVE_DRAWN */
	uint64_t in_ns;       /* CLOCK_MONOTONIC at which it had been read */
	uint32_t asked;       /* bytes of the request's datagram */
	uint32_t key_len;
	union {
		char key[SERVE_KEY_MAX];
		struct sockaddr_in6 peer; /* sender of a datagram; also holds a sockaddr_in */
	};
};

/* Parser state of a connection; begins zeroed. */
struct serve_state {
	uint32_t scanned;     /* bytes already searched for the end */
	uint32_t left, index; /* RESP: arguments left, and index of the next */
	uint8_t command;
};

struct serve_settings {
	uint32_t reply_size;  /* bytes of a value or page; 0: a miss, or an empty page */
	char page[160];       /* HTTP head of the page */
};

struct serve_reply {
	size_t head;          /* bytes written */
	uint64_t fill;        /* payload bytes that follow */
	const char *tail;     /* text after the payload, at most SERVE_TAIL_MAX bytes; NULL: none */
	size_t stamp;         /* offset of the departure time in the head; 0: none */
};

struct serve_protocol {
	const char *name;
	bool stream, datagram;
	bool by_id;           /* replies may overtake each other */
	const char *refusal;  /* reply when the queue is full; NULL: written by write() */
	/*
	 * Parses bytes of the stream, or one whole datagram. Sets *used, and *skip: how many bytes
	 * behind them are passed over. Returns 1 when a request is complete with those, 0 when more
	 * is needed (from *used on, if nothing is to be skipped), or -EPROTO: the connection is of
	 * no more use, and out->text, if any, says why to the peer. `out` is zeroed before the
	 * first call for a request.
	 */
	int (*parse)(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out);
	/* At most SERVE_HEAD_MAX bytes. */
	void (*write)(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out);
};

#endif
