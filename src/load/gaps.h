/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether requests come as declared. The gaps between consecutive requests of an agent, as
 * scheduled and as sent, are transformed by the declared distribution (arrival.h), which makes them
 * uniform in 0..1 if it holds. Gaps are computed within time slots, from all requests of a slot
 * once it is complete; long runs use only some of the slots. So the order of samples does not
 * matter, and a request that was sent before its predecessor counts in the order of sending.
 *
 * Memory: GAPS_PENDING requests per agent whose slot is not complete, and GAPS_KEPT values of each
 * kind. When the values are full, every other one is dropped, and from then on only every other one
 * is kept.
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
#define GAPS_PER_SLOT 1024 /* expected requests per slot */

struct gap_times {
	uint64_t intended, sent;
};

/* An evenly thinned record of a stream of values. */
struct gap_values {
	double *items; /* GAPS_KEPT */
	size_t n;
	uint64_t seen, stride;
};

struct gaps {
	struct arrival arrival;
	double rate;             /* requests/s of one agent */
	uint64_t duration_ns;
	uint64_t slot_ns, every;  /* only slots whose number is a multiple of `every` are used */
	uint64_t skipped;        /* requests dropped because the queue was full */
	struct gap_values schedule, sent;
};

/* One agent's requests whose slot is not complete. */
struct gap_queue {
	struct VEC_OF(struct gap_times) pending;
	bool overflow;
	uint64_t full_from, full_to; /* range of slots with dropped requests; not used */
};

/* Returns 0 or -ENOMEM. */
int gaps_init(struct gaps *gaps, const struct arrival *arrival, double rate, uint64_t duration_ns);
void gaps_release(struct gaps *gaps);
void gap_queue_init(struct gap_queue *queue);
void gap_queue_release(struct gap_queue *queue);

/* Adds a request that was sent. Returns 0 or -ENOMEM. */
int gaps_add(struct gaps *gaps, struct gap_queue *queue, uint64_t intended, uint64_t sent);

/*
 * Computes the gaps of complete slots: those that end before `oldest`. `started`: start of the
 * schedule.
 */
void gaps_keep_complete(struct gaps *gaps, struct gap_queue *queue, uint64_t started,
			uint64_t oldest);

/* How the gaps fit the declared distribution. */
struct gap_fit {
	bool known;    /* there is a declared distribution, and there are values */
	uint64_t n;    /* values tested */
	/* twice the smaller p of the Anderson-Darling and Kolmogorov-Smirnov tests */
	double p;
	double effect; /* max |ECDF - CDF|; fixed: share of gaps off by more than 25 % */
};

/* Tests the values. Returns 0 or -ENOMEM. */
int gaps_fit(const struct gaps *gaps, const struct gap_values *values, struct gap_fit *out);

#endif
