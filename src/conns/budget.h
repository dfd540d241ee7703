/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how often connections are sampled and read, within a CPU budget. Pure.
 *
 * Connections are in levels, by their activity. A pass samples the state of all connections of the
 * first levels; besides, connection records are read. The part of a pass in one level is a walk.
 * After each interval the budget takes the cost of this work and sets the rates of the next
 * interval. Pushes, work of BPF programs in other tasks, cost CPU time as well; to limit it, only
 * one in so many connections is followed.
 *
 * Invariants:
 * - In any BUDGET_WINDOW consecutive intervals, hostlat uses at most `high` of a core, once costs
 *   are known to 5 %. Excepted are the interval of a step (a sudden change of the number of
 *   connections or of the cost of a visit) and the interval after it; their excess is not paid
 *   back.
 * - The use is below `low` only if every connection is at its level's maximum, if costs outside the
 *   budget's control (pushes, other work of hostlat) vary that much, or with BUDGET_UNSAMPLED: a
 *   level whose walk takes more than half of a window's CPU time is only read.
 * - No level is below its floor (minimum rate), unless the floors alone cost more than `high`: then
 *   the same factor reduces all floors, and BUDGET_BELOW_FLOOR is set.
 * - The rest of the budget goes to the levels by weight. Rates near their new value stay if the use
 *   is within the limits, so noise does not move them. No step depends on the step before: rates do
 *   not oscillate, and no sum of errors can wind up.
 *
 * Estimates stay unbiased because rates depend only on earlier intervals. The passes of an interval
 * are a Poisson process; each level thins the process of the level before. Exponential gaps give
 * the number of passes, which is then reduced as far as `high` requires. The number is thus known
 * in advance, and budget_next() draws independent uniform times, in order.
 *
 * A sample stands for sample_ns of its level: the interval's length over the number of samples and
 * over the chance of at least one sample. Sums of these times are unbiased (Horvitz and Thompson
 * 1952) as long as rates depend only on earlier intervals. That holds also for a connection that
 * changes its level within an interval, if its behavior and not the samples cause the change. An
 * interval without samples adds nothing: samples of other intervals stand for it. Skipping such
 * intervals without that weight, or counting samples of different rates alike, is wrong: rates are
 * high where problems are.
 *
 * Costs are learned per level as a part per walk and a part per connection. An error is divided
 * between the parts in proportion to the squares of their predictions.
 */
#ifndef HOSTLAT_CONNS_BUDGET_H
#define HOSTLAT_CONNS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

/*
 * Connections with problems now; active connections; others, which by default are read but not
 * sampled.
 */
enum budget_level { BUDGET_HOT, BUDGET_WARM, BUDGET_REST, BUDGET_LEVELS };

#define BUDGET_WINDOW 8 /* intervals over which the average CPU use stays below `high` */
/*
 * Least sampling: one in so many sockets has its calls and RTTs followed. Beyond it, BPF programs
 * spend most of their time on sockets that are not followed.
 */
#define BUDGET_THIN_MAX 64
/* Least sampling of new connections: one in so many is followed. */
#define BUDGET_FOLLOW_MAX 1024

/*
 * Weights and rates of a level of connections. Rates are per second and connection. `floor_hz`,
 * `max_hz` and `weight` may not rise from one level to the next. A level with max_hz 0 is never
 * sampled.
 */
struct budget_level_config {
	/*
	 * sampling of a connection: its rate relative to the rates of other work, limited to the
	 * least and the largest rate
	 */
	double weight, floor_hz, max_hz;
	/* the same for reading a connection's record, which happens at most once per interval */
	double read_weight, read_floor_hz, read_max_hz;
};

struct budget_config {
	double low, high; /* bounds of the CPU use as shares of one core, 0 <= low < high */
	uint64_t interval_ns; /* length of an interval in ns, > 0 */
	struct budget_level_config levels[BUDGET_LEVELS];
};

/* Work that hostlat has done in an interval, and its CPU time. */
struct budget_spent {
	uint64_t length_ns;
	uint64_t cpu_ns;	/* CPU time of all hostlat threads, with system calls */
	uint64_t push_ns;	/* CPU time of BPF programs in other tasks; measured or estimated */
	/*
	 * CPU time, besides cpu_ns and push_ns, for connections that began or ended; numbers of
	 * followed connections that began, and of connections that ended.
	 */
	uint64_t ends_ns, begun, ended;
	/*
	 * A walk is the part of a sampling pass in one level. walk_ns and read_ns are parts of
	 * cpu_ns; `walks` is the number of walks, `visited` the connections that they visited.
	 */
	uint64_t walk_ns[BUDGET_LEVELS], walks[BUDGET_LEVELS], visited[BUDGET_LEVELS];
	uint64_t read_ns[BUDGET_LEVELS], reads[BUDGET_LEVELS];
	/* Connections of each level at the end of the interval. */
	uint64_t members[BUDGET_LEVELS];
};

enum budget_state {
	BUDGET_AT_MAX = 1,	/* all connections have the highest rate of their level */
	BUDGET_BELOW_FLOOR = 2,	/* minimum rates are reduced: they cost more than `high` */
	BUDGET_UNSAMPLED = 4,	/* a level is not sampled: a pass exceeds the CPU time for it */
	/* BPF programs in other tasks cost too much even if they follow the fewest connections */
	BUDGET_PUSHES_TOO_DEAR = 8,
};

/* Sampling and reading planned for the next interval. */
struct budget_rates {
	unsigned state; /* enum budget_state */
	/* sampling passes per second; no level has more than the level before */
	double hz[BUDGET_LEVELS];
	/* planned passes; each is also a pass over the level before */
	uint32_t passes[BUDGET_LEVELS];
	double sample_ns[BUDGET_LEVELS]; /* time that one sample represents; 0: no passes */
	bool sampled[BUDGET_LEVELS]; /* the level is sampled, even if chance has left it 0 passes */
	double read_hz[BUDGET_LEVELS]; /* reads per second and connection */
	uint64_t reads[BUDGET_LEVELS]; /* records to read in this interval */
	uint32_t thin_one_in; /* one in so many sockets has its calls and RTTs followed */
	uint32_t follow_one_in; /* one in so many new connections is followed */
};

/* Cost in ns of walking over or reading n connections: fixed_ns + each_ns * n. */
struct budget_cost {
	double fixed_ns, each_ns;
	double over; /* connections in the last measurement; -1: the cost is a guess */
	int stepped; /* intervals for which a measured jump of this cost is recent; 0: no jump */
};

struct budget_use {
	double used_ns, length_ns;
};

struct budget {
	struct budget_config config;
	struct budget_rates rates;
	struct budget_cost walk[BUDGET_LEVELS], read[BUDGET_LEVELS];
	double unsure; /* recent maximum of the relative error of predicted CPU time */
	/*
	 * Shares of a core: hostlat's other work; BPF programs in other tasks, at the present
	 * thin_one_in; begins and ends of connections, at the present follow_one_in.
	 */
	double base, push, ends;
	double life_ns; /* CPU time in ns for the begin and end of one connection */
	uint64_t members[BUDGET_LEVELS];
	double read_due[BUDGET_LEVELS]; /* records that are due but not read yet, with fractions */
	struct budget_use window[BUDGET_WINDOW - 1]; /* earlier intervals, the latest first */
	double planned_ns; /* predicted cost of this interval */
	double used; /* CPU use in the last BUDGET_WINDOW intervals, as a share of one core */
	/*
	 * Sampling passes that this interval still has, per level. `at` and `end` are the time of
	 * the last pass and the end of the interval.
	 */
	uint32_t left[BUDGET_LEVELS];
	uint64_t at, end;
};

/* Sets defaults: 1 to 3 % of a core, intervals of 500 ms. */
void budget_config_default(struct budget_config *config);

/* Begins the first interval, without connections, at `now` (nanoseconds of any clock). */
void budget_init(struct budget *b, const struct budget_config *config, struct rng *rng,
		 uint64_t now);

/*
 * Ends the interval that cost `spent` and begins the next at `now`; b->rates is the plan of the
 * next interval. Intervals of length 0 do not change cost estimates.
 */
void budget_close(struct budget *b, const struct budget_spent *spent, struct rng *rng,
		  uint64_t now);

/*
 * Returns true and the next sampling pass, or false if this interval has no more passes. `at` is
 * the time of the pass, not before the previous pass; `levels` is the number of levels to sample,
 * at least 1.
 *
 * `used_ns` is hostlat's CPU time in this interval so far. If it is far above the plan, all work
 * has become more expensive, and the remaining passes are dropped. Samples then represent the time
 * until now, and the rest of the interval is unknown. Only the cost decides this, not the samples'
 * results.
 */
bool budget_next(struct budget *b, struct rng *rng, uint64_t used_ns, uint64_t *at,
		 unsigned *levels);

#endif
