/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the synthetic server speaks: a row of functions per protocol. It stores nothing and does no
 * work but to take its time; so a request is what of it the reply needs.
 */
#ifndef HOSTLAT_LOAD_SERVE_REQUEST_H
#define HOSTLAT_LOAD_SERVE_REQUEST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVE_KEY_MAX 250             /* bytes of a key, or of what is to be repeated */
#define SERVE_HEAD_MAX 512            /* bytes of a reply before its payload */
#define SERVE_TAIL_MAX 16             /* and behind it */
#define SERVE_LINE_MAX 16384          /* of a line or of HTTP's headers */
#define SERVE_BODY_MAX (1ULL << 30)   /* of what is skipped of one request at a time */
#define SERVE_DRAWN UINT64_MAX        /* the service time is the server's own to draw */

struct serve_request {
	const char *text;     /* the whole reply, NUL-terminated; NULL: the protocol writes one */
	uint8_t kind;         /* by protocol, for its write() */
	bool refused;         /* the queue was full */
	bool silent;          /* no reply is wanted */
	bool last;            /* the connection ends after its reply */
	uint32_t id;
	uint32_t size;        /* of the reply: echo, synthetic */
	uint64_t service_ns;  /* or SERVE_DRAWN */
	uint64_t in_ns;       /* CLOCK_MONOTONIC: it had been read */
	uint32_t asked;       /* bytes of the request's datagram */
	uint32_t key_len;
	union {
		char key[SERVE_KEY_MAX];
		struct sockaddr_in6 peer; /* of a datagram: a sockaddr_in fits, too */
	};
};

/* Of one connection's parser; begins zeroed. */
struct serve_state {
	uint32_t scanned;     /* bytes at hand that hold no end */
	uint32_t left, index; /* RESP: arguments */
	uint8_t command;
};

struct serve_settings {
	uint32_t reply_size;  /* of a value or a page; 0: a miss, an empty page */
	char page[160];       /* HTTP's headers of it */
};

struct serve_reply {
	size_t head;          /* bytes written */
	uint64_t fill;        /* bytes without meaning that follow */
	const char *tail;     /* what follows them, at most SERVE_TAIL_MAX; NULL: nothing */
	size_t stamp;         /* where in the head the time of departure belongs; 0: nowhere */
};

struct serve_protocol {
	const char *name;
	bool stream, datagram;
	bool by_id;           /* replies may overtake each other */
	const char *refusal;  /* the text of a reply when the queue is full; NULL: write() knows */
	/*
	 * Takes bytes of the stream, or one whole datagram. Sets *used, and *skip: how many bytes
	 * behind them are passed over. Returns 1 when a request is complete with those, 0 when
	 * more is needed (from *used on, if nothing is to be skipped), or -EPROTO: the connection
	 * is of no more use, and out->text, if any, says why to the peer. `out` is zeroed before
	 * the first call for a request.
	 */
	int (*parse)(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out);
	/* At most SERVE_HEAD_MAX bytes. */
	void (*write)(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out);
};

#endif
