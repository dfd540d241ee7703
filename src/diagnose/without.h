/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A quantile of the latencies as it would be without a cause: each message's excess by the cause is
 * taken off its latency, and the quantile is that of what is left. The quantile is the one from
 * which on messages are explained, e.g. p99 for the slowest 1 %.
 *
 * Causes of different messages hide each other: with two of them in 2 % of the messages each, p99
 * stays without either, and falls without both. So there is the best pair of causes, too.
 *
 * Only the slowest messages are divided by cause (NEAR_TIMES as many as are explained). The others
 * took `floor_ns` at most, with all their causes: a quantile above it is exact, one below is only
 * known to be below. It is arithmetic, not a forecast: what a message would do to others if it were
 * faster is left out.
 */
#ifndef HOSTLAT_DIAGNOSE_WITHOUT_H
#define HOSTLAT_DIAGNOSE_WITHOUT_H

#include "diagnose/state.h"
#include "stats/contrast.h"

#define WITHOUT_CONFIDENCE 0.95

/* With fewer messages to explain, their least latency says little of any others. */
#define WITHOUT_MESSAGES_MIN 10u

#define WITHOUT_CAUSES	 6u	/* the causes with the most excess that are tried, at most */
#define WITHOUT_COMMANDS 3u	/* the same for commands that held CPUs */
#define WITHOUT_MAX	 (WITHOUT_CAUSES + WITHOUT_COMMANDS + 1)

struct without_quantile {
	uint64_t ns;
	bool below;             /* it is only known to be at most `ns` */
	bool bounded;           /* lo_ns and hi_ns hold values */
	bool lo_below;          /* its lower bound is only known to be at most `lo_ns` */
	uint64_t lo_ns, hi_ns;
};

struct without_case {
	unsigned int keys[2];   /* EXCESS_KEY() of each cause; one cause: the second is
				 * EXCESS_KEYS */
	uint32_t command;       /* only waits for a CPU that it held: index + 1 in the recording's
				 * commands; 0: all */
	struct without_quantile latency;
};

struct without {
	double q;               /* the quantile, 0 < q < 1 */
	uint64_t floor_ns;      /* greatest latency of messages that were not divided */
	size_t messages;        /* number of divided messages */
	struct without_quantile now; /* as it is, with all causes */
	/* single causes, most excess first, waits for a CPU followed by its commands; then the best
	 * pair, if it brings notably more than any cause alone */
	struct without_case cases[WITHOUT_MAX];
	uint32_t n;
};

/* A message that is divided by cause. */
struct divided {
	uint64_t latency;
	const struct excess *excess;	/* NULL: unknown, as its application has no baseline */
	uint32_t block;
	uint64_t held[WITHOUT_COMMANDS]; /* excess for which each command held the CPU, in ns; 0 */
};

/* Messages, or requests, of which the slowest are divided. */
struct without_input {
	const struct recorded *rec;	/* recording with the names of culprits */
	const struct breakdown *breakdowns; /* by subject of an excess */
	const struct excess_list *targets; /* excess of the explained messages */
	struct divided *slow;		/* explained and next slowest messages, in any order */
	size_t n;			/* number of `slow` */
	size_t n_targets;		/* number of explained messages among them */
	size_t all;			/* number of all messages */
	size_t n_blocks;		/* blocks of messages in the order of time */
	uint64_t rest[CONTRAST_BLOCKS];	/* number of other messages in each block */
};

/*
 * *out: the caller frees it; NULL: too few messages are explained. Changes `held`. Returns 0 or
 * -ENOMEM.
 */
int without_find(struct without **out, struct without_input *in);

/* The same for the messages of a diagnosis; NULL if those to explain are not the slowest. */
int without_find_messages(struct without **out, const struct diagnosis *d);

/* Returns the case of one key with all commands; NULL: there is none, or `without` is NULL. */
const struct without_case *without_single(const struct without *without, unsigned int key);

/* Returns by which share the quantile falls in a case, at least; 0 to 1. */
double without_gain(const struct without *without, const struct without_case *one);

#endif
