/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two clocks on one timeline where nothing tells of their changes: from pairs of readings, a
 * stretch (clock/reconcile.h) between each two. The other clock is read between two readings of the
 * monotonic one, several times, and the tightest is taken.
 *
 * The bound of a stretch: half the wider bracket of its two ends, plus what the rate may have done
 * in between without being seen. NTP slews by up to 500 ppm, adjtime() by 500 more; one that went
 * as far one way as the other, unseen, is off by half of that times half the way: PAIRS_DRIFT_PPM
 * of half the stretch.
 */
#ifndef HOSTLAT_CLOCK_PAIRS_H
#define HOSTLAT_CLOCK_PAIRS_H

#include <stdbool.h>

#include "clock/reconcile.h"

#define PAIRS_DRIFT_PPM 1000
#define PAIRS_TRIES 5 /* readings for one pair */

/* The other clock, in ticks of its own; not later than this call returns. 0 or -errno. */
typedef int clock_read_other(void *ctx, uint64_t *ticks);

struct clock_pair {
	int64_t mono_ns;   /* when `other` was read */
	uint64_t error_ns; /* how far off that may be: half the bracket */
	uint64_t other;
};

struct clock_pairs {
	struct clock_taker taker;
	enum clock_domain domain;
	struct clock_pair last;
	uint64_t rate;        /* rate of the last stretch, as its `mult`; 0: none */
	uint64_t error_ns;    /* bound of the rate's error */
	uint32_t flags;       /* flags of the next stretch */
	bool begun;
	uint64_t widest_ns;   /* bound of the worst stretch so far */
	uint64_t losses;
};

/* Reads PAIRS_TRIES times; the tightest is in *pair. An error of `read`. */
int clock_pair_read(clock_read_other *read, void *ctx, struct clock_pair *pair);

void clock_pairs_init(struct clock_pairs *pairs, enum clock_domain domain,
		      struct clock_taker taker);

/*
 * The next pair. One that is too wide for its distance to tell a rate (1 in 1000) is left out.
 * After one that contradicts the rate before by more than PAIRS_DRIFT_PPM on both sides allow, or
 * whose clock went back, what was between the two is lost. The taker's error.
 */
int clock_pairs_add(struct clock_pairs *pairs, const struct clock_pair *pair);

/* Ends the known stretch at the last pair and reports it to the taker. */
int clock_pairs_hold(struct clock_pairs *pairs);

#endif
