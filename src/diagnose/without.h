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
	enum cause causes[2];   /* causes whose excess is taken off; one: the second is CAUSE_MAX */
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

/*
 * Call after excesses are known. *out: the caller frees it; NULL: the explained messages are not
 * the slowest, or too few. Returns 0 or -ENOMEM.
 */
int without_find(struct without **out, const struct diagnosis *d);

/* Returns the case of one cause with all commands; NULL: there is none, or `without` is NULL. */
const struct without_case *without_cause(const struct without *without, enum cause cause);

/* Returns by which share the quantile falls in a case, at least; 0 to 1. */
double without_gain(const struct without *without, const struct without_case *one);

#endif
