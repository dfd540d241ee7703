/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that moves only when told to, for tests and simulations: with the steps, slews and drift
 * of real ones. Nothing here waits; sleeping moves the clock.
 *
 * The raw clock is the one that is advanced; monotonic and realtime run at (1 + slew) times its
 * rate, as in Linux, where NTP slews both alike and only setting the clock changes their distance.
 */
#ifndef HOSTLAT_TESTS_VIRTUAL_H
#define HOSTLAT_TESTS_VIRTUAL_H

#include "clock/clock.h"

struct clock_virtual {
	struct clock clock;
	int64_t raw_ns;
	int64_t mono_ns;
	int64_t slew_ppb;         /* rate of monotonic and realtime over raw, minus one */
	int64_t slew_rest;        /* 1e-9 ns not yet added to mono_ns */
	int64_t real_offset_ns;   /* realtime - monotonic */
	int64_t boot_offset_ns;   /* boottime - monotonic */
	int32_t tai_offset_s;
	int64_t read_cost_ns;     /* how far raw moves after each reading */
	uint64_t sets;            /* how often the realtime clock was set */
	uint64_t sets_seen;       /* number of steps reported by clock_was_set() */
	int64_t set_at_mono_ns;   /* clock_virtual_set_at(): when, 0 = never */
	int64_t set_by_ns;        /* and by how much */
};

void clock_virtual_init(struct clock_virtual *virtual, int64_t mono_ns, int64_t real_ns);

/* Lets `raw_ns` >= 0 nanoseconds pass. */
void clock_virtual_advance(struct clock_virtual *virtual, int64_t raw_ns);

/* Steps realtime, as settimeofday() does. */
void clock_virtual_set(struct clock_virtual *virtual, int64_t by_ns);

/* Steps realtime once, as soon as monotonic reaches `mono_ns` > 0: between two readings, too. */
void clock_virtual_set_at(struct clock_virtual *virtual, int64_t mono_ns, int64_t by_ns);

/* From now on monotonic and realtime run this much faster than raw; in -1e6..1e6 (0.1 %). */
void clock_virtual_slew(struct clock_virtual *virtual, int64_t ppb);

/* The machine sleeps: boottime and realtime go on, monotonic and raw do not. */
void clock_virtual_suspend(struct clock_virtual *virtual, int64_t ns);

#endif
