/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads how a stream's clocks relate to each other. Each EV_CLOCK_PARAM, after its
 * clock's EV_DOMAIN, converts ticks to monotonic ns. A stream without them has EV_CLOCK, in each
 * interval of hostlat watch or conns, every 100 ms of load: realtime minus monotonic time, which
 * holds up to the next EV_CLOCK, or to the end of its interval. The first EV_CLOCK also holds for
 * all times before it. After a step, the time since the last known EV_CLOCK is unknown.
 *
 * A host has one clock of each type, except network cards; of several domains of one type, only the
 * first is used.
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
	uint32_t seq[DOMAIN_COUNT]; /* number of the last EV_CLOCK_PARAM; 0: domain not declared */
};

/*
 * Returns a receiver of clock conversions that writes them to `sink` as EV_CLOCK_PARAM, after an
 * EV_DOMAIN with the enum clock_domain as id. `sink` and `out` must outlive the receiver.
 */
struct clock_taker event_clocks_taker(struct event_clocks_out *out, struct event_sink *sink);

/* ---- reading ---- */

struct event_clocks {
	struct clock_reconcile reconcile; /* from EV_CLOCK_PARAM */
	/* relation of the realtime clock to the monotonic clock, from EV_CLOCK */
	struct clock_reconcile followed;
	uint64_t begin_ns, end_ns;        /* monotonic: first event, end of the last interval */
	/*
	 * an EV_INTERVAL was read: the stream ends with the last one; until then, it ends with the
	 * last EV_CLOCK, or the last event if there is no EV_CLOCK
	 */
	bool has_intervals;
	bool has_clock;                   /* an EV_CLOCK came since the last EV_INTERVAL */
	uint32_t domains;                 /* mask of 1 << enum clock_domain: clocks to read */
	uint32_t ids[DOMAIN_COUNT];       /* domain number in the stream; 0: not declared */
	uint32_t seq[DOMAIN_COUNT];       /* number of the last accepted EV_CLOCK_PARAM; 0: none */
	uint64_t missing;                 /* missing EV_CLOCK_PARAMs, by sequence numbers */
	uint64_t refused;                 /* ignored EV_CLOCK_PARAMs: contradictory, or too many */
};

/* Initializes without allocating. `domains`: mask of 1 << enum clock_domain, the clocks to read. */
void event_clocks_init(struct event_clocks *clocks, uint32_t domains);
void event_clocks_release(struct event_clocks *clocks);

/*
 * Reads any event of the stream, in order; other kinds are ignored. Counts missing and invalid
 * parameters; the clock is unknown between the valid ones around them. Returns 0 or -ENOMEM.
 */
int event_clocks_add(struct event_clocks *clocks, const struct event *event);

/* Returns whether the stream relates the realtime clock to the monotonic clock at any time. */
bool event_clocks_has_realtime(const struct event_clocks *clocks);

/*
 * Returns 0 and the time of CLOCK_REALTIME at `mono_ns`, with its error bound; or -ERANGE if that
 * is unknown. EV_CLOCK_PARAM decides, or EV_CLOCK if no parameter covers this time.
 */
int event_clocks_realtime(const struct event_clocks *clocks, uint64_t mono_ns,
			  struct clock_time *realtime);

/*
 * Returns the next step of CLOCK_REALTIME that is larger than its error bound; `*at` is 0 at first.
 * Returns false if there are no more.
 */
bool event_clocks_realtime_step(const struct event_clocks *clocks, size_t *at,
				struct clock_step *step);

#endif
