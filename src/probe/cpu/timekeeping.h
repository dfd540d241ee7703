/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How this host's clocks relate to each other while something is recorded, as EV_DOMAIN and
 * EV_CLOCK_PARAM (event/clocks.h): TSC, REALTIME, TAI and sched_clock against the monotonic clock.
 *
 * Where the kernel's functions can be watched and its clock is the TSC, all but sched_clock are
 * exact, from what the kernel itself computes with; elsewhere pairs of readings tell, with a bound.
 *
 *	timekeeping_start(&tk, sink);
 *	every 0.1 s at least: timekeeping_pull(tk);
 *	timekeeping_stop(tk);
 */
#ifndef HOSTLAT_PROBE_TIMEKEEPING_H
#define HOSTLAT_PROBE_TIMEKEEPING_H

#include "event/source.h"
#include "host/cap.h"

struct timekeeping;

/*
 * The sink must live until timekeeping_stop(). The first thing put is EV_FACT "clock-conversion":
 * "exact" or "pairs", and why. All calls belong to one thread. 0 or -errno; after an error, nothing
 * is to be stopped.
 */
int timekeeping_start(struct timekeeping **out, struct event_sink *sink);

/* What is new. An error of the sink. */
int timekeeping_pull(struct timekeeping *tk);

/* The last of it, and up to when it holds; frees. NULL is fine. An error of the sink. */
int timekeeping_stop(struct timekeeping *tk);

/* Appends the area "clock conversion". */
void timekeeping_caps(struct cap_vec *caps);

#endif
