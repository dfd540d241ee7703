/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether requests follow the declared arrival process. The gaps between consecutive requests
 * of an agent, as scheduled and as sent, are transformed by the declared distribution (arrival.h),
 * which makes them uniform in 0..1 if it holds. Gaps are computed within time slots, from all
 * requests of a slot once it is complete; long runs use only some of the slots. So the order of
 * samples does not matter, and requests sent out of order count in the order of sending.
 *
 * Memory: GAPS_PENDING requests per agent whose slot is not complete, and GAPS_KEPT values each of
 * scheduled and of actual gaps. When the values are full, every other value is dropped, and from
 * then on only every other value is stored.
 */
#ifndef HOSTLAT_LOAD_GAPS_H
#define HOSTLAT_LOAD_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "load/arrival.h"

#define GAPS_PENDING (1 << 18)
#define GAPS_KEPT 8192
#define GAPS_PER_SLOT 1024 /* expected number of an agent's requests per time slot */

struct gap_times {
	uint64_t intended, sent;
};

/* An evenly thinned record of a stream of values. */
struct gap_values {
	double *items; /* array of GAPS_KEPT values */
	size_t n;
	uint64_t seen, stride;
};

struct gaps {
	struct arrival arrival;
	double rate;             /* requests/s of each agent */
	uint64_t duration_ns;
	uint64_t slot_ns, every;  /* length of a time slot; 1 slot in `every` is used */
	uint64_t skipped;        /* requests dropped because the queue was full */
	struct gap_values schedule, sent;
};

/* Requests of one agent in time slots whose requests have not all arrived. */
struct gap_queue {
	struct VEC_OF(struct gap_times) pending;
	uint64_t first;          /* the earliest slot of `pending` */
	bool overflow;
	/* range of time slots with dropped requests, whose gaps are ignored */
	uint64_t full_from, full_to;
};

/* Initializes `gaps` for agents that send `rate` requests/s each. Returns 0 or -ENOMEM. */
int gaps_init(struct gaps *gaps, const struct arrival *arrival, double rate, uint64_t duration_ns);
void gaps_release(struct gaps *gaps);
void gap_queue_init(struct gap_queue *queue);
void gap_queue_release(struct gap_queue *queue);

/* Adds a request that was sent. Returns 0 or -ENOMEM. */
int gaps_add(struct gaps *gaps, struct gap_queue *queue, uint64_t intended, uint64_t sent);

/*
 * Computes the gaps in time slots whose requests have all arrived: slots that end at `oldest` (ns)
 * or earlier. `started` is the start of the schedule (ns).
 */
void gaps_keep_complete(struct gaps *gaps, struct gap_queue *queue, uint64_t started,
			uint64_t oldest);

/* Result of a test of gaps against the declared distribution. */
struct gap_fit {
	bool known;    /* false: no gaps, or no declared distribution */
	uint64_t n;    /* number of gaps tested */
	/* twice the smaller p of the Anderson-Darling and Kolmogorov-Smirnov tests */
	double p;
	double effect; /* max |ECDF - CDF|; fixed schedule: share of gaps off by over 25 % */
};

/* Tests gaps against the declared distribution. Returns 0 or -ENOMEM. */
int gaps_fit(const struct gaps *gaps, const struct gap_values *values, struct gap_fit *out);

#endif
