/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The period of a load's latency, refined by its requests, and the phase of its peaks. The period
 * that `load` finds is that of blocks of the run: good enough to know that there is one, too
 * coarse to compare times with it over a whole run.
 */
#ifndef HOSTLAT_DIAGNOSE_LATENCY_PERIOD_H
#define HOSTLAT_DIAGNOSE_LATENCY_PERIOD_H

#include "event/reader.h"

#define LATENCY_PERIODS_MIN 5u    /* whole periods from which a phase is more than chance */
#define LATENCY_PERIODS_MAX 4096u /* `load` finds at most 64 */

struct latency_period {
	double ns;           /* the period; 0: there is none */
	uint64_t from, to;   /* time of the requests that count, in ns */
	double peak;         /* phase of the peaks' middle: periods after `from`, 0..1 */
	const char *why;     /* why `peak` is unknown: static text; NULL: it is known */
};

/* Returns how many periods the time from `from` to `to` has. */
double latency_period_count(const struct latency_period *period);

/*
 * Refines `ns` and finds `peak` by the requests in the load's recording: the frequency, within one
 * per run of that of `ns`, at which the logarithm of the latency has most power. The caller sets
 * `ns`, `from` and `to`. Returns 0, -errno of the reader, or -ENOMEM.
 */
int latency_period_refine(struct latency_period *period, struct event_reader *load);

#endif
