/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two clocks on one timeline if no source reports their changes. A pair is a reading of the other
 * clock and of the monotonic clock at one time; two successive pairs give a stretch
 * (clock/reconcile.h). For one pair the other clock is read several times, each time between two
 * readings of the monotonic clock, the bracket, and the reading with the narrowest bracket is used.
 *
 * The error bound of a stretch: half the wider bracket of its two ends, plus an unseen change of
 * the rate in between. NTP slews by up to 500 ppm, adjtime() by another 500; a clock that drifts
 * one way and then equally the other is off by half of that times half the stretch: PAIRS_DRIFT_PPM
 * of half the stretch.
 */
#ifndef HOSTLAT_CLOCK_PAIRS_H
#define HOSTLAT_CLOCK_PAIRS_H

#include <stdbool.h>

#include "clock/reconcile.h"

#define PAIRS_DRIFT_PPM 1000
#define PAIRS_TRIES 5 /* readings of the other clock for one pair */

/* Reads the other clock in its own ticks, before the call returns. Returns 0 or -errno. */
typedef int clock_read_other(void *ctx, uint64_t *ticks);

struct clock_pair {
	int64_t mono_ns;   /* when `other` was read, in ns of CLOCK_MONOTONIC */
	uint64_t error_ns; /* bound of the error of mono_ns: half the time that the reading took */
	uint64_t other;
};

struct clock_pairs {
	struct clock_taker taker;
	enum clock_domain domain;
	struct clock_pair last;
	/* last stretch: ns per tick in fixed point, as clock_stretch.mult; 0: no stretch yet */
	uint64_t rate;
	uint64_t error_ns;    /* bound of the error of the last stretch */
	uint32_t flags;       /* STRETCH_* flags of the next stretch */
	bool begun;
	uint64_t widest_ns;   /* largest error bound of any stretch so far, in ns */
	uint64_t losses;
};

/* Reads PAIRS_TRIES times; *pair is the most exact reading. Returns 0 or an error of `read`. */
int clock_pair_read(clock_read_other *read, void *ctx, struct clock_pair *pair);

void clock_pairs_init(struct clock_pairs *pairs, enum clock_domain domain,
		      struct clock_taker taker);

/*
 * Adds the next pair; ignores it if its error bound and the previous pair's together exceed 1/1000
 * of the time between them. That time is lost (STRETCH_LOST) if its rate contradicts the previous
 * rate by more than PAIRS_DRIFT_PPM on both sides allows, or if the other clock went back. Returns
 * 0 or an error of the receiver of stretches (struct clock_taker).
 */
int clock_pairs_add(struct clock_pairs *pairs, const struct clock_pair *pair);

/*
 * Reports to the receiver of stretches (struct clock_taker) that the last stretch held up to the
 * last pair. Returns 0 or the receiver's error.
 */
int clock_pairs_hold(struct clock_pairs *pairs);

#endif
