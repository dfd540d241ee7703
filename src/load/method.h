/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method (--method) computes the confidence interval of a quantile from samples. It is a row of
 * functions that the analysis calls; methods.h lists the rows.
 */
#ifndef HOSTLAT_LOAD_METHOD_H
#define HOSTLAT_LOAD_METHOD_H

#include <stdbool.h>
#include <stdint.h>

#include "load/analysis_state.h"

struct method {
	bool keeps_confidence; /* intervals have the nominal coverage (--confidence) */
	bool looks_at_end;     /* the end of the run is one more interim analysis */
	bool from_actual;      /* latency starts at the actual send, even in an open loop */

	int (*init)(struct load_analysis *a); /* sets a->method_state; 0 or -ENOMEM; may be NULL */
	void (*release)(struct load_analysis *a); /* frees a->method_state; may be NULL */
	/* adds a completed request to the method's samples; 0 or -ENOMEM; may be NULL */
	int (*add)(struct load_analysis *a, const struct event_sample *sample);
	/*
	 * Decides at a tick whether the run may end: LOAD_MORE, LOAD_DECIDED or -ENOMEM. All agents
	 * have started at `start_ns`; all requests due before `horizon_ns` have ended.
	 */
	int (*look)(struct load_analysis *a, uint64_t start_ns, uint64_t horizon_ns);
	/*
	 * Judges the gates (validity checks of the result) that the method defines itself, after
	 * all gates were judged. May be NULL.
	 */
	void (*judge)(struct load_analysis *a);
	/*
	 * Writes the numbers that explain the outcome of gate (validity check) `id`. Returns false
	 * if the method does not define that gate. May be NULL.
	 */
	bool (*evidence)(const struct load_analysis *a, enum gate_id id, struct strbuf *out);
	/*
	 * Gets the width of the interval of config.percentile, and the number of requests from
	 * which the interval was computed. Returns false if there is no interval.
	 */
	bool (*width)(const struct load_analysis *a, double *requests, uint64_t *width_ns);
	/*
	 * Sets the confidence bounds of quantile q in `out`, as far as out->why, from `interval`,
	 * allows; may change `why`. `interval` is the interval computed from all samples.
	 */
	void (*bound)(const struct load_analysis *a, enum load_from from, double q,
		      const struct interval *interval, struct load_quantile *out);
	/* Adds details to the object "method" of the report. May be NULL. */
	void (*report)(const struct load_analysis *a, struct object *o);
};

#endif
