/* SPDX-License-Identifier: Apache-2.0 */
/* The period with which the latency rises and falls: it leads to the cause. */
#ifndef HOSTLAT_LOAD_SWING_PERIOD_H
#define HOSTLAT_LOAD_SWING_PERIOD_H

#include "load/analysis_state.h"
#include "report/report.h"

/*
 * Returns the period of the tail, in ns, or that of the median if the tail has none: by narrow
 * blocks first, then by those of the gates. 0: none was found, or the run has fewer than three
 * periods.
 */
double swing_period_of(const struct load_analysis *analysis);

/* Reports the periods as a finding, unless they may be those of this host's delays. */
void swing_period_report(const struct load_analysis *analysis, struct report *r);

#endif
