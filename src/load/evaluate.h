/* SPDX-License-Identifier: Apache-2.0 */
/* From what an analysis knows to its result: one look, or the last word. */
#ifndef HOSTLAT_LOAD_EVALUATE_H
#define HOSTLAT_LOAD_EVALUATE_H

#include <stdbool.h>
#include <stdint.h>

#include "load/analysis_state.h"

/*
 * Fills analysis->result from all windows that are complete before `horizon_ns` (UINT64_MAX: all).
 * `whole`: every latency and quantile, not only what a decision needs. Returns 0 or -ENOMEM.
 */
int evaluate(struct load_analysis *analysis, uint64_t horizon_ns, double confidence, bool whole);

/* The windows that the last evaluation stands on. */
struct interval_range evaluate_range(const struct load_analysis *analysis, enum load_from which);

void evaluate_release(struct load_analysis *analysis);

#endif
