/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of the echo and synthetic protocols, for both sides; their description is
 * docs/design/synthetic-protocol.md. Big endian. A message has `size` bytes in all, its header
 * included; the payload after the header has no meaning.
 */
#ifndef HOSTLAT_LOAD_SYNTHETIC_H
#define HOSTLAT_LOAD_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

#define SYNTHETIC_VERSION 1
#define SYNTHETIC_SIZE_MAX (64U << 20)          /* of a message */
#define SYNTHETIC_SERVICE_MAX 3600000000000ULL  /* ns */

/* The echo protocol's message; the server sends it back unchanged. */
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
	uint64_t service_ns; /* requested service time; 0 to SYNTHETIC_SERVICE_MAX */
};

#define SYNTHETIC_REPLY_HEADER 40

enum synthetic_reply_flag {
	SYNTHETIC_REFUSED = 1, /* the request was understood, and not served */
};

struct synthetic_reply {
	uint8_t flags;
	uint32_t id;         /* id of the request */
	uint32_t size;       /* SYNTHETIC_REPLY_HEADER to SYNTHETIC_SIZE_MAX */
	uint64_t service_ns; /* intended service time */
	uint64_t in_ns;      /* the server's CLOCK_MONOTONIC: the request's last byte was read */
	uint64_t out_ns;     /* CLOCK_MONOTONIC just before the reply's first byte was written */
};

/* Write the header of a message; `to` must have room for it. */
void echo_put(void *to, const struct echo_message *message);
void synthetic_put_request(void *to, const struct synthetic_request *request);
void synthetic_put_reply(void *to, const struct synthetic_reply *reply);

/*
 * Read a complete header. Return 0, or -EPROTO: another protocol or version, or a value out of the
 * ranges above.
 */
int echo_get(const void *from, struct echo_message *out);
int synthetic_get_request(const void *from, struct synthetic_request *out);
int synthetic_get_reply(const void *from, struct synthetic_reply *out);

#endif
