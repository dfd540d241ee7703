/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of the echo and synthetic protocols, for both sides; their description is
 * docs/design/synthetic-protocol.md. Big endian. A message has `size` bytes in all, its header
 * included; what follows the header is of no meaning.
 */
#ifndef HOSTLAT_LOAD_SYNTHETIC_H
#define HOSTLAT_LOAD_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

#define SYNTHETIC_VERSION 1
#define SYNTHETIC_SIZE_MAX (64U << 20)          /* of a message */
#define SYNTHETIC_SERVICE_MAX 3600000000000ULL  /* ns */

/* Both ways; the server sends back what it got. */
#define ECHO_HEADER 12

struct echo_message {
	uint32_t id;
	uint32_t size; /* ECHO_HEADER to SYNTHETIC_SIZE_MAX */
};

#define SYNTHETIC_REQUEST_HEADER 24

enum synthetic_request_flag {
	SYNTHETIC_SERVER_DRAWS = 1, /* service_ns is 0: the server's own distribution counts */
};

struct synthetic_request {
	uint8_t flags;
	uint32_t id;
	uint32_t size;       /* SYNTHETIC_REQUEST_HEADER to SYNTHETIC_SIZE_MAX */
	uint32_t reply_size; /* SYNTHETIC_REPLY_HEADER to SYNTHETIC_SIZE_MAX */
	uint64_t service_ns; /* what the server should take; 0 to SYNTHETIC_SERVICE_MAX */
};

#define SYNTHETIC_REPLY_HEADER 40

enum synthetic_reply_flag {
	SYNTHETIC_REFUSED = 1, /* the request was understood, and not served */
};

struct synthetic_reply {
	uint8_t flags;
	uint32_t id;         /* of the request */
	uint32_t size;       /* SYNTHETIC_REPLY_HEADER to SYNTHETIC_SIZE_MAX */
	uint64_t service_ns; /* what the service was meant to take */
	uint64_t in_ns;      /* the server's CLOCK_MONOTONIC: the request's last byte was read */
	uint64_t out_ns;     /* ... and just before the reply's first byte was written */
};

/* Write the header of the message; there must be room for it. */
void echo_put(void *to, const struct echo_message *message);
void synthetic_put_request(void *to, const struct synthetic_request *request);
void synthetic_put_reply(void *to, const struct synthetic_reply *reply);

/*
 * Read a header, all bytes of which are there. Returns 0, or -EPROTO: not this protocol and
 * version, or a value out of the ranges above.
 */
int echo_get(const void *from, struct echo_message *out);
int synthetic_get_request(const void *from, struct synthetic_request *out);
int synthetic_get_reply(const void *from, struct synthetic_reply *out);

#endif
