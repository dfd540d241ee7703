/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_LOAD_ANALYSIS_QUANTILE_H
#define HOSTLAT_LOAD_ANALYSIS_QUANTILE_H

#include "load/analysis_state.h"
#include "load/ccdf.h"

/*
 * Calls `put` for each point of the latency's complementary distribution function (load/ccdf.h), of
 * a finished analysis. Returns 0 or -ENOMEM.
 */
int analysis_quantile_each(const struct load_analysis *analysis, enum load_from from,
			   void (*put)(void *context, const struct ccdf_point *point),
			   void *context);

/* Returns whether quantile i of a result repeats an earlier one: config.percentile may be p99. */
bool analysis_quantile_is_again(const struct load_result *result, int i);

#endif
