/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how often which connections are sampled and read, within a CPU budget. Pure.
 *
 * Connections are in levels, by their activity. A pass samples the state of all connections of some
 * levels; besides, records are read. After each interval the budget takes the cost of this work and
 * sets the rates of the next interval.
 *
 * What holds:
 * - In any BUDGET_WINDOW intervals in a row own CPU is at most `high` of a core, once costs are
 *   known to 5 %. The interval of a step (of the number of connections, of what a visit costs) and
 *   the one after it are the step's own, as nobody knew of it; what they took too much is not paid
 *   back.
 * - It is below `low` only with every connection at its level's maximum, when what nobody chooses
 *   here (pushes, the tool's other work) varies that much, or with BUDGET_UNSAMPLED: a walk that
 *   takes more than half of what a window may use is too dear, and its level only read.
 * - No level is below its floor, unless the floors alone cost more than `high`: then they are all
 *   made smaller by the same factor, and BUDGET_BELOW_FLOOR says so.
 * - What is left goes to the levels by weight. Rates stay as they are while they are near to that
 *   and the use is within the limits: noise doesn't move them. No step depends on the step before,
 *   so nothing swings, and no sum of errors is kept that could wind up.
 *
 * Estimates stay unbiased as all is decided at the beginning of an interval, from what was before.
 * The passes of an interval are a Poisson process, a level's a thinned one: exponential gaps are
 * counted into the interval, and if there are more than fit into `high`, some are dropped without
 * looking which. How many there are is then known in advance, their times are independent and
 * uniform, and it is as such that they are given: one after the other.
 *
 * A sample stands for the time that its level's sample_ns says: the interval's length over its
 * number of samples and over the chance that there is one at all. Times so summed are unbiased
 * (Horvitz and Thompson 1952), whatever made the rate what it is, as long as that was before the
 * interval; also for a connection that changes its level within, by what happens to it and not by
 * what was sampled. An interval without samples adds nothing: the samples of its like stand for it.
 * To leave such intervals out without that weight, or to count samples of different rates alike,
 * is wrong: rates are high where problems are.
 *
 * Costs are learned per level as a part per walk and a part per member; an error goes to the part
 * that is likely to have it, in proportion to the squares of what they predict.
 */
#ifndef HOSTLAT_CONNS_BUDGET_H
#define HOSTLAT_CONNS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

/* The first has problems now, the second is active, the last is read only. */
enum budget_level { BUDGET_HOT, BUDGET_WARM, BUDGET_REST, BUDGET_LEVELS };

#define BUDGET_WINDOW 8 /* intervals: what "never above" is an average over */
/* One socket of so many, at the least: what the others then still cost is the greater part. */
#define BUDGET_THIN_MAX 64
/* One of so many connections that begin. */
#define BUDGET_FOLLOW_MAX 1024

/*
 * Rates are per second and connection. From one level to the next they may not rise: neither
 * `floor_hz`, `max_hz` nor `weight`. A level with max_hz 0 is never sampled.
 */
struct budget_level_config {
	double weight, floor_hz, max_hz;		/* samples */
	/* Reads of its record, at most one per interval. */
	double read_weight, read_floor_hz, read_max_hz;
};

struct budget_config {
	double low, high; /* shares of one core, 0 <= low < high */
	uint64_t interval_ns; /* > 0 */
	struct budget_level_config levels[BUDGET_LEVELS];
};

/* The work of an interval and its cost. */
struct budget_spent {
	uint64_t length_ns;
	uint64_t cpu_ns;	/* of all own threads, system calls included */
	uint64_t push_ns;	/* of BPF programs in others' time; measured or estimated */
	/* Besides, of both: for connections that began, and are followed, and that ended. */
	uint64_t ends_ns, begun, ended;
	/*
	 * Parts of cpu_ns. A walk is a level's part of a pass; its time depends on the members
	 * visited.
	 */
	uint64_t walk_ns[BUDGET_LEVELS], walks[BUDGET_LEVELS], visited[BUDGET_LEVELS];
	uint64_t read_ns[BUDGET_LEVELS], reads[BUDGET_LEVELS];
	/* Connections of each level at the end. */
	uint64_t members[BUDGET_LEVELS];
};

enum budget_state {
	BUDGET_AT_MAX = 1,	/* all connections at their level's maximum */
	BUDGET_BELOW_FLOOR = 2,	/* the floors cost more than `high` */
	BUDGET_UNSAMPLED = 4,	/* a level's walk is more than is left, or too dear at all */
	BUDGET_PUSHES_TOO_DEAR = 8, /* even thinned as far as can be */
};

/* The rates of the next interval. */
struct budget_rates {
	unsigned state; /* enum budget_state */
	double hz[BUDGET_LEVELS]; /* of the Poisson process; the first is the highest */
	uint32_t passes[BUDGET_LEVELS]; /* that there will be: nested, the first has them all */
	double sample_ns[BUDGET_LEVELS]; /* time that one sample stands for; 0: there are none */
	bool sampled[BUDGET_LEVELS]; /* there may be some: none is chance */
	double read_hz[BUDGET_LEVELS]; /* per connection */
	uint64_t reads[BUDGET_LEVELS]; /* records to be read in all */
	uint32_t thin_one_in; /* sockets: one in so many has its calls and RTTs followed */
	uint32_t follow_one_in; /* connections that begin: one in so many is followed at all */
};

/* Cost of walking over or reading n connections: fixed_ns + each_ns * n. */
struct budget_cost {
	double fixed_ns, each_ns;
	double over; /* n when it was last measured; -1: this is a guess */
	int stepped; /* intervals for which a step that was measured is news */
};

struct budget_use {
	double used_ns, length_ns;
};

struct budget {
	struct budget_config config;
	struct budget_rates rates;
	struct budget_cost walk[BUDGET_LEVELS], read[BUDGET_LEVELS];
	double unsure; /* by what share work has cost more or less than expected, at worst lately */
	/* Shares of a core: other own work; pushes, at thin_one_in; ends, at follow_one_in. */
	double base, push, ends;
	double life_ns; /* what one takes that begins, and ends */
	uint64_t members[BUDGET_LEVELS];
	double read_due[BUDGET_LEVELS]; /* parts of a record that rounding has left */
	struct budget_use window[BUDGET_WINDOW - 1]; /* the intervals before, the last first */
	double planned_ns; /* what this interval is thought to cost */
	double used; /* in the window that ended with the last interval, a share of one core */
	/* Passes of the interval that are still to come. */
	uint32_t left[BUDGET_LEVELS];
	uint64_t at, end;
};

/* 1 to 3 % of a core, every 500 ms. */
void budget_config_default(struct budget_config *config);

/* The interval that begins at `now` (any clock's nanoseconds) knows no connection yet. */
void budget_init(struct budget *b, const struct budget_config *config, struct rng *rng,
		 uint64_t now);

/*
 * Closes an interval and begins the next at `now`: b->rates is what it is to do. Intervals of
 * length 0 teach nothing about cost.
 */
void budget_close(struct budget *b, const struct budget_spent *spent, struct rng *rng,
		  uint64_t now);

/*
 * The next pass: false if this interval has no more. Else `at` is when, not before the one before,
 * and `levels` is who takes part: the first so many of enum budget_level, at least 1.
 *
 * `used_ns`: own CPU time in this interval so far. Where it is far above what was planned, all has
 * become dearer, and the passes left are given up: what was sampled stands for the time until then,
 * the rest of the interval is unknown. That is decided by cost, not by what was found.
 */
bool budget_next(struct budget *b, struct rng *rng, uint64_t used_ns, uint64_t *at,
		 unsigned *levels);

#endif
