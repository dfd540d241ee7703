/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When requests come, as a law.
 *
 *	poisson | fixed | uniform[:SPREAD] | lognormal:CV | gamma:SHAPE | pareto:SHAPE
 *	onoff:ON:OFF            Poisson bursts: mean times on and off
 *	ramp:FROM:TO            Poisson, its rate going linearly from FROM to TO times --rate
 *	sine:AMPLITUDE:PERIOD   Poisson, its rate swinging by AMPLITUDE (0..1) around --rate
 *	FILE                    a time per line, ns from the start, ascending (--dump-schedule);
 *	                        with a dot or slash in its name: ./times
 *	replay:SPEED:FILE       the same, SPEED times as fast
 *
 * SPREAD is 1 if not given: gaps from 0 to twice their mean. A fixed schedule begins at 0, others
 * with a gap. A file has its own rate: --rate is not used.
 */
#ifndef HOSTLAT_LOAD_ARRIVAL_H
#define HOSTLAT_LOAD_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "load/dist.h"

enum arrival_kind {
	ARRIVAL_POISSON, ARRIVAL_FIXED, ARRIVAL_UNIFORM, ARRIVAL_LOGNORMAL, ARRIVAL_GAMMA,
	ARRIVAL_PARETO, ARRIVAL_ONOFF, ARRIVAL_RAMP, ARRIVAL_SINE, ARRIVAL_FILE,
};

struct arrival {
	enum arrival_kind kind;
	/* in the order of the text; times in ns; of a file: its speed */
	double a, b;
	const char *file; /* borrowed from the text */
};

/* -EINVAL, and `why` says what is taken. Doesn't look for files. */
int arrival_parse(const char *text, struct arrival *out, struct strbuf *why);

/* The law of every gap (ns), where all have the same: a renewal process; else false. */
bool arrival_gap(const struct arrival *arrival, double mean_ns, struct dist *out);

/* Ramp and sine: the rate at that time as a multiple of the mean rate. */
double arrival_intensity(const struct arrival *arrival, uint64_t duration_ns, uint64_t at_ns);

/*
 * The gate's view: the gap between consecutive requests that were due at `from` and `to` (ns from
 * the start), as a probability of the declared law, uniform on 0..1 if the law holds. NaN where
 * the law says nothing of single gaps (onoff, a file). A fixed arrival gives the gap / its mean.
 * A ramp needs the duration that its schedule was made for.
 */
double arrival_gap_probability(const struct arrival *arrival, double rate, uint64_t duration_ns,
			       double from_ns, double to_ns);

#endif
