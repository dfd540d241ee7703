/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions made a message slow, and how much of it each one accounts for: calls nest, so
 * the same time is in all functions of a call path, and must be charged to one of them only.
 *
 * Of each message the functions that ran in its windows become a tree of call paths: how often and
 * for how long, the functions called from there included. What the reference messages did is the
 * model: the median of both, of each node. A message's node is anomalous if it took longer than
 * the median by more than the threshold. Of anomalous nodes that nest, those are told that the
 * ones within them don't explain: the 80 % rule of NSight (Haecki et al., NSDI 2022, 4.2 and 5.2).
 *
 *	nesting_new(&n, &(struct nesting_limits)NESTING_LIMITS);
 *	for each message:
 *		nesting_begin(n, is_reference);
 *		for each of its pieces, in time order:
 *			nesting_piece(n, role, begin, end);
 *			for each span of the core that ends there: nesting_span(n, &span, false);
 *			nesting_open(n, &walk.track, 0);
 *		nesting_end(n, &message);
 *	nesting_judge(n, message, &options, &verdict);
 *
 * One of these is for messages that may be compared: of one class. All times are in ns or all in
 * ticks. The result depends on what was put in, not on the order of the messages, as long as no
 * limit was reached. Blind time is for the caller to see: functions in it are merely missing.
 */
#ifndef HOSTLAT_DIAGNOSE_NESTING_H
#define HOSTLAT_DIAGNOSE_NESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"
#include "event/spans.h"

struct nesting;

/* Bounds of its memory: 200 bytes a node, 24 a span, 28 a value; twice that while it grows. */
struct nesting_limits {
	uint32_t nodes;		/* call paths, of all messages together */
	uint32_t spans;		/* in one piece */
	uint32_t values;	/* nodes of each message, added up over messages */
};

#define NESTING_LIMITS { .nodes = 1U << 16, .spans = 1U << 18, .values = 1U << 22 }

/* Limits that were met so far. */
struct nesting_losses {
	uint64_t spans_without_node;	/* their time is their caller's own: coarser, not wrong */
	uint64_t references;		/* messages that are missing as a whole */
	uint64_t targets;
	uint64_t overlapping;		/* spans that did not nest, cut so that they do */
};

/* 0 or -ENOMEM. */
int nesting_new(struct nesting **out, const struct nesting_limits *limits);
void nesting_free(struct nesting *n);

void nesting_begin(struct nesting *n, bool reference);

/*
 * From here on spans are those of the core on which the message was from `begin` to before `end`,
 * in a role (enum piece_role). A piece that begins before the last one's end, ends before its
 * begin or has no such role makes the message invalid: nesting_end() says so.
 */
void nesting_piece(struct nesting *n, uint8_t role, uint64_t begin, uint64_t end);

/*
 * The next span of the core, as event_walk_next() yields them: by their end, inner ones first.
 * What is outside of the piece is left away. Functions become nodes. Tasks, idling, interrupts,
 * softirqs and blind spans are contexts of their own: functions in them are not under those
 * around them, and their time is not the time of those. Other spans change nothing. `charged`, of
 * a context: its time is somebody's already, and nothing within it is seen.
 */
void nesting_span(struct nesting *n, const struct event_span *span, bool charged);

/* The open spans behind the last one; bit i of `charged` is that of the i-th from outside. */
void nesting_open(struct nesting *n, const struct event_track *track, uint64_t charged);

/*
 * 0 and the number to judge it by, from 0 in their order; -EINVAL: invalid; -E2BIG: a limit was
 * reached; -ENOMEM. After an error the message is forgotten, as if it had never been.
 */
int nesting_end(struct nesting *n, uint32_t *message);

void nesting_losses(const struct nesting *n, struct nesting_losses *losses);

enum nesting_type {
	NESTING_SLOWER,		/* called as often as usual, or less */
	NESTING_MORE_FREQUENT,	/* called more often than the reference's median */
	NESTING_UNEXPECTED,	/* less than half of the reference messages have it at all */
	NESTING_TYPE_MAX,
};

/* How nested functions share a deviation. `within`: time charged to functions inside this one. */
struct nesting_rule {
	/* Charged to a function that those within it don't explain; above 0. */
	uint64_t (*own)(uint64_t deviation, uint64_t within);
	/* Counts towards the caller of a function that those within it explain. */
	uint64_t (*explained)(uint64_t deviation, uint64_t within);
	/* Called after all functions are judged; may remove causes. NULL: all stay. */
	void (*select)(struct nesting *n);
};

struct nesting_options {
	uint64_t granularity_ns;	/* smaller deviations are ignored */
	/* Deviations up to so many times the reference's median absolute one are none, either. */
	uint32_t mads;
	/* NULL: a function keeps the part that nothing within it is charged with. */
	const struct nesting_rule *rule;
};

struct nesting_cause {
	uint64_t self_ns;	/* time charged to it; never 0 */
	uint64_t deviation_ns;	/* beyond the reference's median, at least self_ns */
	uint64_t ns;		/* its time, with all functions called from there */
	uint64_t usual_ns;	/* the reference's median, 0 if most don't have it */
	uint64_t usual_p95_ns;
	uint32_t count;		/* calls that had begun or went on in the message's windows */
	uint32_t usual_count;
	uint32_t usual_p95_count;
	uint32_t present;	/* reference messages that have it */
	uint32_t node;		/* for nesting_path() */
	uint8_t type;		/* enum nesting_type */
	uint8_t role;		/* enum piece_role */
	uint8_t context;	/* enum span_type of what it ran in; SPAN_NONE: nobody said */
	bool partial;		/* a window's border cut it */
};

struct nesting_verdict {
	/* Largest self_ns first, then by path. Valid until the next call with this `n`. */
	const struct nesting_cause *causes;
	uint32_t n_causes;
	uint32_t references;	/* messages that the model is made of */
	uint64_t window_ns;	/* its pieces' time */
	uint64_t charged_ns;	/* the sum of self_ns: at most window_ns */
	/*
	 * Charges to outermost functions beyond their own deviation: something else within them
	 * took less time than usual.
	 */
	uint64_t over_ns;
	uint64_t saved_ns;	/* by functions that took less than usual, by the same rules */
};

/*
 * Judges any message against all reference messages taken so far; of n values the median is the
 * one of rank ceil(n / 2), p95 that of rank ceil(0.95 n), and who doesn't have a node has 0.
 * A message put in between makes the model anew: judge when all are in. Returns 0, -ENODATA
 * without a reference, -EINVAL for a message that is not there, -ENOMEM.
 */
int nesting_judge(struct nesting *n, uint32_t message, const struct nesting_options *options,
		  struct nesting_verdict *verdict);

/* The symbols from the outermost caller to the node. Returns how many. */
uint32_t nesting_path(const struct nesting *n, uint32_t node,
		      uint32_t symbols[static EVENT_DEPTH_MAX]);

#endif
