/* SPDX-License-Identifier: Apache-2.0 */
/* The plots of `load`: the rows that they draw, which are in JSON, and the plots, in text. */
#ifndef HOSTLAT_LOAD_PLOTS_H
#define HOSTLAT_LOAD_PLOTS_H

#include "load/analysis_state.h"
#include "report/report.h"

/* Steps of the curve in ccdf[] per power of ten of the share, and per power of ten of its rest. */
#define PLOTS_CCDF_STEPS 20

/*
 * Adds over_time[], ccdf[] and sampling[] of a finished analysis to the report. Returns 0 or
 * -ENOMEM; other errors are kept in the report.
 */
int load_plots_report_rows(const struct load_analysis *analysis, struct report *r);

/*
 * Adds, for text, a plot of each table in the report that has one; `q` is the percentile of the
 * result, 0..1.
 */
void load_plots_report(struct report *r, double q);

#endif
