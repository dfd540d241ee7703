/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by nesting_gather.c, which fills it, and nesting_judge.c. */
#ifndef HOSTLAT_DIAGNOSE_NESTING_STATE_H
#define HOSTLAT_DIAGNOSE_NESTING_STATE_H

#include "base/vec.h"
#include "diagnose/nesting.h"

/*
 * Number of root nodes, one for each role and context. They have the lowest numbers; nodes of
 * functions follow.
 */
#define NESTING_ROOTS (PIECE_ROLE_MAX * SPAN_TYPE_MAX)

struct nesting_node {
	uint32_t parent;	/* number of the parent node, below its own; a root is its own
				 * parent */
	uint32_t what;
	uint32_t next;		/* number of the next node in the hash chain; 0: none */
};

/* Time and calls of one message in a node. */
struct nesting_value {
	uint64_t ns;
	uint32_t node;
	uint32_t count : 31;
	uint32_t partial : 1;
};

struct nesting_message {
	uint64_t window_ns;
	uint32_t first, n;	/* index of the message's first value; number of its values */
	bool reference;
};

/* A node's usual time and calls over the reference messages. */
struct nesting_usual {
	uint64_t ns, p95_ns, mad_ns;
	uint32_t count, p95_count;
	uint32_t present;
};

/* State of a node while one message is judged. */
struct nesting_work {
	const struct nesting_value *value;	/* NULL: the message lacks the node */
	uint64_t within;	/* ns charged to the node's children */
	uint64_t less;		/* ns by which the node's children were faster than usual */
	bool reported;
};

struct nesting_held {
	/* begin and end of the span, cut to the piece of the core's work on the message */
	uint64_t begin, end;
	uint32_t what;
	uint8_t type;
	uint8_t depth;
	bool charged;
	bool goes_on : 1;	/* the span continues a call that began earlier */
	bool partial : 1;
};

/* Sums of a node over the message that is being gathered. */
struct nesting_sum {
	uint64_t ns;
	uint64_t earliest;	/* begin of the node's first span */
	uint32_t serial;	/* number of the message that the sums belong to */
	uint32_t calls;
	bool went_on;		/* the node's first span continues an earlier call */
	bool partial;
};

struct nesting {
	struct nesting_limits limits;
	struct nesting_losses losses;
	struct nesting_node_vec VEC_OF(struct nesting_node) nodes;
	/* sums of the message that is being gathered (`now`), by node */
	struct nesting_sum_vec VEC_OF(struct nesting_sum) sums;
	uint32_t *hash;
	uint32_t hash_mask;
	struct nesting_value_vec VEC_OF(struct nesting_value) values;
	struct nesting_message_vec VEC_OF(struct nesting_message) messages;

	/* The message that is being gathered. */
	struct nesting_message now;
	struct nesting_held_vec VEC_OF(struct nesting_held) held;
	struct nesting_touched_vec VEC_OF(uint32_t) touched;
	uint32_t serial;
	/* enum piece_role of the current piece of a core's work; PIECE_NONE: none is open */
	uint8_t role;
	/* begin and end of the current piece of a core's work on the message */
	uint64_t begin, end;
	int err;

	/*
	 * The references' usual times, for the first `usual_messages` messages and `usual_nodes`
	 * nodes.
	 */
	struct nesting_usual *usual;
	uint32_t usual_nodes;
	uint32_t usual_messages;
	uint32_t references;
	struct nesting_work *work;
	struct nesting_cause_vec VEC_OF(struct nesting_cause) causes;
};

#endif
