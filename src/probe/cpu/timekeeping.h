/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relations of this host's clocks during a recording, as EV_DOMAIN and EV_CLOCK_PARAM
 * (event/clocks.h): TSC, REALTIME, TAI and sched_clock against the monotonic clock.
 *
 * If the kernel's functions can be traced and its clock is the TSC, all but sched_clock are exact,
 * by the kernel's own parameters; otherwise they come from pairs of readings, with an error bound.
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
 * Returns 0 or -errno; after an error, timekeeping_stop() must not be called. The sink must live
 * until timekeeping_stop(). First puts EV_FACT "clock-conversion": "exact" or "pairs", and why. All
 * calls must come from one thread.
 */
int timekeeping_start(struct timekeeping **out, struct event_sink *sink);

/* Puts the relations of clocks that are new since the last call. Returns 0 or the sink's error. */
int timekeeping_pull(struct timekeeping *tk);

/*
 * Puts the last relations of the clocks and until when they hold, and frees `tk`. Accepts NULL.
 * Returns 0 or the sink's error.
 */
int timekeeping_stop(struct timekeeping *tk);

/* Appends the capabilities of the area "clock conversion". */
void timekeeping_caps(struct cap_vec *caps);

#endif
