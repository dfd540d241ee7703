/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocols of the synthetic server: a row of functions each. The server stores nothing and only
 * takes time, so a request holds only the data that its reply needs.
 */
#ifndef HOSTLAT_LOAD_SERVE_REQUEST_H
#define HOSTLAT_LOAD_SERVE_REQUEST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVE_KEY_MAX 250             /* largest key, or argument that a reply repeats, bytes */
#define SERVE_HEAD_MAX 512            /* largest reply before its payload, bytes */
#define SERVE_TAIL_MAX 16             /* largest reply after its payload, bytes */
#define SERVE_LINE_MAX 16384          /* largest text line, or HTTP headers together, bytes */
#define SERVE_BODY_MAX (1ULL << 30)   /* largest data of a request, bytes */
#define SERVE_DRAWN UINT64_MAX        /* value of service_ns: the server draws the time */

struct serve_request {
	const char *text;     /* the whole reply, NUL-terminated; NULL: made by write() */
	uint8_t kind;         /* protocol-specific, for write() */
	bool refused;         /* the request is refused: queue full */
	bool silent;          /* the client wants no reply */
	bool last;            /* the connection ends after this reply */
	uint32_t id;
	uint32_t size;        /* echo and synthetic: bytes of the reply */
	uint64_t service_ns;  /* requested service time, or SERVE_DRAWN */
	uint64_t in_ns;       /* CLOCK_MONOTONIC when the request was read */
	uint32_t asked;       /* bytes of the request, if it is a datagram */
	uint32_t key_len;
	union {
		char key[SERVE_KEY_MAX];
		struct sockaddr_in6 peer; /* sender of a datagram: IPv6, or IPv4 as a sockaddr_in */
	};
};

/* Parser state of a connection; zeroed at first. */
struct serve_state {
	uint32_t scanned;     /* bytes already searched for the end of line */
	uint32_t left, index; /* RESP: arguments left; index of the next argument */
	uint8_t command;
};

struct serve_settings {
	uint32_t reply_size;  /* bytes of a value or page; 0: a miss, or empty */
	char page[160];       /* HTTP status line and headers of the page */
};

struct serve_reply {
	size_t head;          /* bytes that serve_protocol.write() wrote, before the payload */
	uint64_t fill;        /* payload bytes that follow the head */
	const char *tail;     /* text after the payload (SERVE_TAIL_MAX bytes); NULL: none */
	size_t stamp;         /* offset in the head of the departure time; 0: none */
};

struct serve_protocol {
	const char *name;
	bool stream, datagram;
	bool by_id;           /* replies have ids and may overtake each other */
	const char *refusal;  /* reply if the queue is full; NULL: write() makes it */
	/*
	 * Parses bytes of the stream, or one whole datagram. Sets *used, and *skip: the number of
	 * bytes after the used ones to skip. Returns 1 if a request is complete with these bytes, 0
	 * if more are needed (from *used on, unless some are skipped), or -EPROTO: the connection
	 * is unusable, and out->text, if set, tells the peer why. `out` is zeroed before the first
	 * call for a request.
	 */
	int (*parse)(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out);
	/* Writes the head of a reply, at most SERVE_HEAD_MAX bytes, and fills in `out`. */
	void (*write)(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out);
};

#endif
