/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the echo and synthetic protocols, for client and server;
 * docs/design/synthetic-protocol.md describes them. Big endian. `size` is the number of bytes of
 * the whole message, with its header; the payload after the header has no meaning.
 */
#ifndef HOSTLAT_LOAD_SYNTHETIC_H
#define HOSTLAT_LOAD_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

#define SYNTHETIC_VERSION 1
#define SYNTHETIC_SIZE_MAX (64U << 20)          /* bytes of a message */
#define SYNTHETIC_SERVICE_MAX 3600000000000ULL  /* 1 h in ns */

/* Bytes of a message's header in the echo protocol. The server returns messages unchanged. */
#define ECHO_HEADER 12

struct echo_message {
	uint32_t id;
	uint32_t size; /* bytes: ECHO_HEADER to SYNTHETIC_SIZE_MAX */
};

#define SYNTHETIC_REQUEST_HEADER 24

enum synthetic_request_flag {
	SYNTHETIC_SERVER_DRAWS = 1, /* service_ns is 0: the server draws the service time */
};

struct synthetic_request {
	uint8_t flags;
	uint32_t id;
	uint32_t size;       /* bytes: SYNTHETIC_REQUEST_HEADER to SYNTHETIC_SIZE_MAX */
	uint32_t reply_size; /* bytes: SYNTHETIC_REPLY_HEADER to SYNTHETIC_SIZE_MAX */
	uint64_t service_ns; /* requested service time, 0 to SYNTHETIC_SERVICE_MAX */
};

#define SYNTHETIC_REPLY_HEADER 40

enum synthetic_reply_flag {
	SYNTHETIC_REFUSED = 1, /* the server understood the request, but refused it */
};

struct synthetic_reply {
	uint8_t flags;
	uint32_t id;         /* id of the request */
	uint32_t size;       /* bytes: SYNTHETIC_REPLY_HEADER to SYNTHETIC_SIZE_MAX */
	uint64_t service_ns; /* intended service time, ns */
	uint64_t in_ns;      /* server's CLOCK_MONOTONIC when it had read the whole request */
	uint64_t out_ns;     /* CLOCK_MONOTONIC just before the write of the reply */
};

/* Write a message's header to `to`, which has space for it. */
void echo_put(void *to, const struct echo_message *message);
void synthetic_put_request(void *to, const struct synthetic_request *request);
void synthetic_put_reply(void *to, const struct synthetic_reply *reply);

/*
 * Read a complete header. Return 0, or -EPROTO for another protocol or version, or values out of
 * the ranges in this file.
 */
int echo_get(const void *from, struct echo_message *out);
int synthetic_get_request(const void *from, struct synthetic_request *out);
int synthetic_get_reply(const void *from, struct synthetic_reply *out);

#endif
