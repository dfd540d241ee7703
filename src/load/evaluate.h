/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the result of an analysis, for an interim analysis or for the whole run. */
#ifndef HOSTLAT_LOAD_EVALUATE_H
#define HOSTLAT_LOAD_EVALUATE_H

#include <stdbool.h>
#include <stdint.h>

#include "load/analysis_state.h"

/*
 * Fills analysis->result from the time windows that end before `horizon_ns` (UINT64_MAX: all). If
 * not `whole`, evaluates only what the gates need: the latency analysis->main, with intervals of
 * the median and config.percentile. Returns 0 or -ENOMEM.
 */
int evaluate(struct load_analysis *analysis, uint64_t horizon_ns, double confidence, bool whole);

/*
 * Computes the interval of quantile q from the windows that the last evaluation used, allowing for
 * what the host delayed. Returns 0 or -ENOMEM.
 */
int evaluate_interval(const struct load_analysis *analysis, enum load_from which, double q,
		      struct interval *out);

/* Returns the windows of the time series that the last evaluation used. */
struct interval_range evaluate_range(const struct load_analysis *analysis, enum load_from which);

void evaluate_release(struct load_analysis *analysis);

#endif
