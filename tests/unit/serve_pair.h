/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of the synthetic server and its peer, without threads: for tests. */
#ifndef HOSTLAT_TESTS_SERVE_PAIR_H
#define HOSTLAT_TESTS_SERVE_PAIR_H

#include <stdbool.h>
#include <stddef.h>

#include "load/serve_conn.h"
#include "load/serve_protocols.h"

struct serve_pair {
	struct serve_shared shared;
	struct serve_context *context;
	int peer;     /* the client's end; never blocks */
	int epoll;
	bool ended;   /* the server has closed */
};

/* Settings may be changed in `shared` before the first byte. */
void serve_pair_open(struct serve_pair *pair, enum serve_protocol_number protocol,
		     uint32_t reply_size);
void serve_pair_close(struct serve_pair *pair);

/* Lets the server do what it can. */
void serve_pair_turn(struct serve_pair *pair);

/*
 * Sends `size` bytes in pieces of `piece` bytes, each read before the next, and takes up to `cap`
 * bytes of replies. Returns how many.
 */
size_t serve_pair_talk(struct serve_pair *pair, const void *data, size_t size, size_t piece,
		       char *replies, size_t cap);

#endif
