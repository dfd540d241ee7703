/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions that made a message slow, and charges each with its part. Calls nest: the
 * same time is in all functions of a call path, and must be charged to only one of them.
 *
 * The functions that ran in a message's windows become a tree of call paths, with the calls and the
 * time of each node, called functions included. The model is the median of both over the reference
 * messages, by node. A node of a message is anomalous if its time exceeds the median by more than
 * the threshold. An anomalous node is reported unless those within it explain it: the 80 % rule of
 * NSight (Haecki et al., NSDI 2022, 4.2 and 5.2).
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
 * One struct nesting is for messages that may be compared: of one class. All times are in ns or all
 * in ticks. The result depends on the input, not on the order of the messages, while no limit is
 * reached. Unrecorded time is the caller's concern: functions in it are merely missing.
 */
#ifndef HOSTLAT_DIAGNOSE_NESTING_H
#define HOSTLAT_DIAGNOSE_NESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"
#include "event/spans.h"

struct nesting;

/* Memory limits: 200 bytes a node, 24 a span, 28 a value; twice that while an array grows. */
struct nesting_limits {
	uint32_t nodes;		/* nodes of the tree that holds the call paths of all messages */
	uint32_t spans;		/* spans in one piece (an interval of a core's work on a message) */
	uint32_t values;	/* nodes of each message, summed over all messages */
};

#define NESTING_LIMITS { .nodes = 1U << 16, .spans = 1U << 18, .values = 1U << 22 }

/* Number of losses because of limits, so far. */
struct nesting_losses {
	uint64_t spans_without_node;	/* spans left out at the limit: their time counts as their
					 * caller's own */
	uint64_t references;		/* reference messages that are missing as a whole */
	uint64_t targets;
	uint64_t overlapping;		/* spans that did not nest, and were cut so that they do */
};

/* Creates a model without messages. Returns 0 or -ENOMEM. */
int nesting_new(struct nesting **out, const struct nesting_limits *limits);
void nesting_free(struct nesting *n);

void nesting_begin(struct nesting *n, bool reference);

/*
 * Begins a piece: later spans are those of the core that processed the message from `begin` to
 * before `end`, in a role (enum piece_role). nesting_end() fails with -EINVAL if the piece begins
 * before the last one's end, ends before its begin, or has no such role.
 */
void nesting_piece(struct nesting *n, uint8_t role, uint64_t begin, uint64_t end);

/*
 * Adds the core's next span, in the order of event_walk_next(): by their end, inner spans first.
 * Time outside of the piece is cut off. Functions become nodes. Tasks, idling, interrupts, softirqs
 * and unrecorded spans are contexts: functions in them are not callees of the interrupted ones,
 * whose time excludes the context's. Other types are ignored. `charged`: the context's time is
 * charged to another cause, and spans within it are ignored.
 */
void nesting_span(struct nesting *n, const struct event_span *span, bool charged);

/*
 * Adds spans without a recorded end to the current piece, an interval of a core's work on the
 * message. Bit i of `charged` is nesting_span()'s `charged` of the i-th span, from the outermost
 * on.
 */
void nesting_open(struct nesting *n, const struct event_track *track, uint64_t charged);

/*
 * Ends a message: sets *message to its number for nesting_judge(), from 0 on. Returns 0; -EINVAL:
 * the message is invalid; -E2BIG: a limit was reached; -ENOMEM. An error discards the message.
 */
int nesting_end(struct nesting *n, uint32_t *message);

void nesting_losses(const struct nesting *n, struct nesting_losses *losses);

enum nesting_type {
	NESTING_SLOWER,		/* called as often as in the median of the reference messages, or
				 * less */
	NESTING_MORE_FREQUENT,	/* called more often than in the median of the reference messages */
	NESTING_UNEXPECTED,	/* fewer than half of the reference messages have the function */
	NESTING_TYPE_MAX,
};

/* How nested functions share a deviation. `within`: ns charged to functions inside this one. */
struct nesting_rule {
	/* Returns ns > 0 charged to a function that the functions within it do not explain. */
	uint64_t (*own)(uint64_t deviation, uint64_t within);
	/* Returns ns charged to the caller of a function that the functions within it explain. */
	uint64_t (*explained)(uint64_t deviation, uint64_t within);
	/* Called after all functions are judged; may remove causes. NULL: all causes stay. */
	void (*select)(struct nesting *n);
};

struct nesting_options {
	uint64_t granularity_ns;	/* smaller deviations are ignored, in ns */
	/*
	 * Deviations up to this many median absolute deviations of the reference messages are
	 * ignored.
	 */
	uint32_t mads;
	/* NULL: a function keeps the time that is not charged to functions within it. */
	const struct nesting_rule *rule;
};

struct nesting_cause {
	uint64_t self_ns;	/* ns charged to this function; never 0 */
	uint64_t deviation_ns;	/* ns above the references' median, at least those charged */
	uint64_t ns;		/* ns in the function and all functions that it called */
	uint64_t usual_ns;	/* median of the reference messages in ns; 0: most lack the
				 * function */
	uint64_t usual_p95_ns;
	uint32_t count; /* calls that began or continued while a core worked on the message */
	uint32_t usual_count;
	uint32_t usual_p95_count;
	uint32_t present;	/* reference messages that have the function */
	uint32_t node;		/* number of the node, for nesting_path() */
	uint8_t type;		/* enum nesting_type */
	uint8_t role;		/* enum piece_role */
	uint8_t context;	/* enum span_type in which the function ran; SPAN_NONE: unknown */
	/* the function's time was cut where a core's work on the message begins or ends */
	bool partial;
};

struct nesting_verdict {
	/*
	 * Functions that made the message slow: largest self_ns first, then by path. Valid until
	 * the next call with this nesting.
	 */
	const struct nesting_cause *causes;
	uint32_t n_causes;
	uint32_t references;	/* reference messages in the model */
	uint64_t window_ns; /* sum of the message's pieces, the intervals of cores' work on it */
	uint64_t charged_ns;	/* ns charged to all functions together, at most window_ns */
	/*
	 * Time charged within outermost functions beyond their own deviation, since other functions
	 * within them took less time than usual.
	 */
	uint64_t over_ns;
	/* ns by which faster functions were below their usual time; nested functions count once */
	uint64_t saved_ns;
};

/*
 * Judges any message against all reference messages added so far. The median of n values has rank
 * ceil(n / 2), p95 rank ceil(0.95 n); messages without a node count as 0 there. A message added in
 * between invalidates the model: judge when all are added. Returns 0, -ENODATA without a reference,
 * -EINVAL for an unknown message, -ENOMEM.
 */
int nesting_judge(struct nesting *n, uint32_t message, const struct nesting_options *options,
		  struct nesting_verdict *verdict);

/* Fills in the symbols from the outermost caller to the node. Returns their number. */
uint32_t nesting_path(const struct nesting *n, uint32_t node,
		      uint32_t symbols[static EVENT_DEPTH_MAX]);

#endif
