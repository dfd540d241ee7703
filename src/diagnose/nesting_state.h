/* SPDX-License-Identifier: Apache-2.0 */
/* State that nesting_gather.c gathers and nesting_judge.c judges. */
#ifndef HOSTLAT_DIAGNOSE_NESTING_STATE_H
#define HOSTLAT_DIAGNOSE_NESTING_STATE_H

#include "base/vec.h"
#include "diagnose/nesting.h"

/* The first nodes stand for nothing but a role and a context: functions are below them. */
#define NESTING_ROOTS (PIECE_ROLE_MAX * SPAN_TYPE_MAX)

struct nesting_node {
	uint32_t parent;	/* a smaller number; of a root, itself */
	uint32_t what;
	uint32_t next;		/* in the hash; 0 = the last */
};

/* One message's part of a node. */
struct nesting_value {
	uint64_t ns;
	uint32_t node;
	uint32_t count : 31;
	uint32_t partial : 1;
};

struct nesting_message {
	uint64_t window_ns;
	uint32_t first, n;	/* values */
	bool reference;
};

/* A node's figures over the reference messages. */
struct nesting_usual {
	uint64_t ns, p95_ns, mad_ns;
	uint32_t count, p95_count;
	uint32_t present;
};

/* State of a node while one message is judged. */
struct nesting_work {
	const struct nesting_value *value;	/* NULL: the message doesn't have it */
	uint64_t within;	/* charged to its children */
	uint64_t less;		/* by how much its children took less */
	bool reported;
};

struct nesting_held {
	uint64_t begin, end;	/* within the piece */
	uint32_t what;
	uint8_t type;
	uint8_t depth;
	bool charged;
	bool goes_on : 1;	/* its begin is not the begin of a call */
	bool partial : 1;
};

/* State of a node while a message is gathered. */
struct nesting_sum {
	uint64_t ns;
	uint64_t earliest;	/* begin of the first of its spans */
	uint32_t serial;	/* number of the message it belongs to */
	uint32_t calls;
	bool went_on;		/* the first of its spans did */
	bool partial;
};

struct nesting {
	struct nesting_limits limits;
	struct nesting_losses losses;
	struct nesting_node_vec VEC_OF(struct nesting_node) nodes;
	struct nesting_sum_vec VEC_OF(struct nesting_sum) sums;	/* by node */
	uint32_t *hash;
	uint32_t hash_mask;
	struct nesting_value_vec VEC_OF(struct nesting_value) values;
	struct nesting_message_vec VEC_OF(struct nesting_message) messages;

	/* The message that is being gathered. */
	struct nesting_message now;
	struct nesting_held_vec VEC_OF(struct nesting_held) held;
	struct nesting_touched_vec VEC_OF(uint32_t) touched;
	uint32_t serial;
	uint8_t role;		/* PIECE_NONE: no piece */
	uint64_t begin, end;	/* the piece's */
	int err;

	/* The model, of the first `modelled` messages and nodes. */
	struct nesting_usual *usual;
	uint32_t usual_nodes;
	uint32_t usual_messages;
	uint32_t references;
	struct nesting_work *work;
	struct nesting_cause_vec VEC_OF(struct nesting_cause) causes;
};

#endif
