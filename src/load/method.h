/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method (--method) is how samples become an interval: a row of functions that the analysis
 * calls, without knowing which method it is. The rows are in methods.h.
 */
#ifndef HOSTLAT_LOAD_METHOD_H
#define HOSTLAT_LOAD_METHOD_H

#include <stdbool.h>
#include <stdint.h>

#include "load/analysis_state.h"

struct method {
	bool keeps_confidence; /* its intervals have their nominal coverage */
	bool looks_at_end;     /* the end of a run is one more interim analysis */
	bool from_actual;      /* latency counts from the actual send, in an open loop as well */

	/* Members marked "or NULL" are optional. */
	int (*init)(struct load_analysis *a); /* a->method_state; 0 or -ENOMEM; or NULL */
	void (*release)(struct load_analysis *a); /* or NULL */
	/* Takes a completed request that counts as latency. 0 or -ENOMEM; or NULL. */
	int (*add)(struct load_analysis *a, const struct event_sample *sample);
	/*
	 * Decides at a tick whether the run may end: LOAD_MORE, LOAD_DECIDED or -ENOMEM. All agents
	 * have started at `start_ns`; what was due before `horizon_ns` has ended.
	 */
	int (*look)(struct load_analysis *a, uint64_t start_ns, uint64_t horizon_ns);
	/* Judges its own gates in place of the usual ones, which were judged before; or NULL. */
	void (*judge)(struct load_analysis *a);
	/* Writes the figures behind one of its own gates; false: it isn't one of them. Or NULL. */
	bool (*evidence)(const struct load_analysis *a, enum gate_id id, struct strbuf *out);
	/*
	 * Gets the width of config.percentile's interval and its number of requests; false: none.
	 */
	bool (*width)(const struct load_analysis *a, double *requests, uint64_t *width_ns);
	/* Sets the bounds, if there are any; `interval` is the one from all samples. */
	void (*bound)(const struct load_analysis *a, enum load_from from, double q,
		      const struct interval *interval, struct load_quantile *out);
	/* Adds to the report's "method"; or NULL. */
	void (*report)(const struct load_analysis *a, struct object *o);
};

#endif
