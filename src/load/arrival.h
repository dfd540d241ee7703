/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrival processes: the distribution of the times at which requests are due.
 *
 *	poisson | fixed | uniform[:SPREAD] | lognormal:CV | gamma:SHAPE | pareto:SHAPE
 *	onoff:ON:OFF            Poisson bursts; ON and OFF are mean durations
 *	ramp:FROM:TO            Poisson, its rate going linearly from FROM to TO times --rate
 *	sine:AMPLITUDE:PERIOD   Poisson, its rate swinging by AMPLITUDE (0..1) around --rate
 *	FILE                    a time per line, ns from the start, ascending (--dump-schedule);
 *	                        the name needs a dot or slash: ./times
 *	                        Or a file of recorded requests (replay_file.h): its times
 *	replay:SPEED:FILE       the times of FILE, SPEED times as fast
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
	/* arguments in the order of the text, times in ns; for a file, a is the speed */
	double a, b;
	const char *file; /* name of the file; points into the parsed text */
};

/* Parses an arrival process; opens no file. Returns 0, or -EINVAL with a sentence in `why`. */
int arrival_parse(const char *text, struct arrival *out, struct strbuf *why);

/*
 * Sets `out` to the distribution of gaps (ns) of a renewal process; returns false for other
 * processes.
 */
bool arrival_gap(const struct arrival *arrival, double mean_ns, struct dist *out);

/* Returns the rate at a time as a multiple of the mean rate; 1 unless ramp or sine. */
double arrival_intensity(const struct arrival *arrival, uint64_t duration_ns, uint64_t at_ns);

/*
 * Returns the gap between consecutive requests due at `from` and `to` (ns from the start),
 * transformed by the declared distribution: uniform on 0..1 if requests follow it. NaN for
 * processes without a distribution of single gaps (onoff, a file); the gap over its mean for fixed.
 * A ramp needs the duration that its schedule was made for.
 */
double arrival_gap_probability(const struct arrival *arrival, double rate, uint64_t duration_ns,
			       double from_ns, double to_ns);

#endif
