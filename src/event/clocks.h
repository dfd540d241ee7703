/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a stream's clocks relate to each other, written and read: EV_DOMAIN and EV_CLOCK_PARAM are
 * the stretches of clock/reconcile.h.
 *
 * A host has each clock once, but for network cards'; of several domains of one type the first is
 * kept.
 */
#ifndef HOSTLAT_EVENT_CLOCKS_H
#define HOSTLAT_EVENT_CLOCKS_H

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
	uint32_t ids[DOMAIN_COUNT];       /* the number in the stream; 0: not declared */
	uint32_t seq[DOMAIN_COUNT];       /* of the last parameter that was taken; 0: none */
	uint64_t missing;                 /* parameters, by their numbers */
	uint64_t refused;                 /* ... that contradict others, or are too many */
};

void event_clocks_init(struct event_clocks *clocks);
void event_clocks_release(struct event_clocks *clocks);

/*
 * Takes what it needs of any event. Parameters that are missing, in a damaged file, or that can't
 * be, are counted, and what was known ends before them. 0 or -ENOMEM.
 */
int event_clocks_take(struct event_clocks *clocks, const struct event *event);

/* The clock that a chunk's number means; DOMAIN_NONE if it isn't declared or not kept. */
enum clock_domain event_clocks_domain(const struct event_clocks *clocks, uint32_t id);

#endif
