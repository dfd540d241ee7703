/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a stream's clocks relate to each other, written and read: EV_DOMAIN and EV_CLOCK_PARAM are
 * the stretches of clock/reconcile.h. A stream without them has EV_CLOCK, in each interval of
 * hostlat watch or conns, in each tick of load. EV_CLOCK gives the distance of CLOCK_REALTIME from
 * CLOCK_MONOTONIC, which holds up to the next EV_CLOCK, or to the end of its interval. The first
 * one also holds for all times before it. After a step, the time since the last known one is
 * unknown.
 *
 * A host has each clock once, but for network cards'; of several domains of one type the first is
 * kept.
 */
#ifndef HOSTLAT_EVENT_CLOCKS_H
#define HOSTLAT_EVENT_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/reconcile.h"
#include "event/source.h"

/* ---- writing ---- */

struct event_clocks_out {
	struct event_sink *sink;
	uint32_t seq[DOMAIN_COUNT]; /* of the last parameter; 0: not declared yet */
};

/*
 * A taker that puts into `sink`; both it and `out` must live as long. A domain is declared before
 * its first stretch; its number is its type's.
 */
struct clock_taker event_clocks_taker(struct event_clocks_out *out, struct event_sink *sink);

/* ---- reading ---- */

struct event_clocks {
	struct clock_reconcile reconcile; /* for clock_reconcile_convert() */
	struct clock_reconcile followed;  /* DOMAIN_REALTIME only, from EV_CLOCK */
	uint64_t begin_ns, end_ns;        /* monotonic: first event, end of the last interval */
	bool has_intervals;               /* else `end_ns` is the last EV_CLOCK's or event's time */
	bool has_clock;                   /* there was an EV_CLOCK in this interval */
	uint32_t domains;                 /* mask of 1 << enum clock_domain: which are kept */
	uint32_t ids[DOMAIN_COUNT];       /* the number in the stream; 0: not declared */
	uint32_t seq[DOMAIN_COUNT];       /* of the last parameter that was taken; 0: none */
	uint64_t missing;                 /* parameters, by their numbers */
	uint64_t refused;                 /* parameters that contradict others, or are too many */
};

/* `domains`: as in the struct. Does not allocate. */
void event_clocks_init(struct event_clocks *clocks, uint32_t domains);
void event_clocks_release(struct event_clocks *clocks);

/*
 * Takes what it needs of any event, in the order of the stream. Parameters that are missing, in a
 * damaged file, or that can't be, are counted, and what was known ends before them. 0 or -ENOMEM.
 */
int event_clocks_add(struct event_clocks *clocks, const struct event *event);

/* Whether the stream relates the realtime clock to the monotonic one at any time. */
bool event_clocks_has_realtime(const struct event_clocks *clocks);

/*
 * Returns 0 and in *realtime what CLOCK_REALTIME showed at `mono_ns`, with its bound, or -ERANGE:
 * that is not known. EV_CLOCK_PARAM decides; EV_CLOCK where there is none, or none that is known.
 */
int event_clocks_realtime(const struct event_clocks *clocks, uint64_t mono_ns,
			  struct clock_time *realtime);

/*
 * Returns the next step of CLOCK_REALTIME that is larger than the bound; `*at` is 0 at first.
 * False: there are no more.
 */
bool event_clocks_realtime_step(const struct event_clocks *clocks, size_t *at,
				struct clock_step *step);

#endif
