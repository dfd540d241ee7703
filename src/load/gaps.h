/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do requests come as declared? The gaps between consecutive requests of an agent, once as the
 * schedule has them and once as they were sent, through the declared law (arrival.h): uniform in
 * 0..1 if it holds. Gaps are taken within slots of time, aligned to the clock, from all requests of
 * the slot, once none of them can still be missing; in long runs only from some of the slots. So
 * neither the order of the samples nor what is under way matters, and a send that slipped past its
 * successor counts as it went out.
 *
 * Memory: GAPS_PENDING requests of each agent that wait for their slot to be complete, GAPS_KEPT
 * values of each kind; when these are full, every other one is kept from then on.
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
#define GAPS_PER_SLOT 1024 /* requests that are expected in a slot */

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
	double rate;             /* of one agent */
	uint64_t duration_ns;
	uint64_t slot_ns, every;  /* one slot of so many is looked at, by its number */
	uint64_t skipped;        /* requests that found no room */
	struct gap_values schedule, sent;
};

/* One agent's requests that wait. */
struct gap_queue {
	struct VEC_OF(struct gap_times) pending;
	bool overflow;
	uint64_t full_from, full_to; /* slots of which something is missing */
};

/* Returns 0 or -ENOMEM. */
int gaps_init(struct gaps *gaps, const struct arrival *arrival, double rate, uint64_t duration_ns);
void gaps_release(struct gaps *gaps);
void gap_queue_init(struct gap_queue *queue);
void gap_queue_release(struct gap_queue *queue);

/* A request that was sent. Returns 0 or -ENOMEM. */
int gaps_add(struct gaps *gaps, struct gap_queue *queue, uint64_t intended, uint64_t sent);

/* Takes what is complete: slots that end before `oldest`. `started` is the schedule's begin. */
void gaps_keep_complete(struct gaps *gaps, struct gap_queue *queue, uint64_t started,
			uint64_t oldest);

/* How the gaps fit their law. */
struct gap_fit {
	bool known;    /* there is a law, and values */
	uint64_t n;    /* values tested */
	/* of Anderson-Darling's or Kolmogorov-Smirnov's test, twice the less */
	double p;
	double effect; /* max |ECDF - law|; of a fixed schedule: share of gaps off by a quarter */
};

/* Sorts a copy. Returns 0 or -ENOMEM. */
int gaps_fit(const struct gaps *gaps, const struct gap_values *values, struct gap_fit *out);

#endif
