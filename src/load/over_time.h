/* SPDX-License-Identifier: Apache-2.0 */
/* The latency over the time of a run, in stretches of equal length, with what happened in each. */
#ifndef HOSTLAT_LOAD_OVER_TIME_H
#define HOSTLAT_LOAD_OVER_TIME_H

#include "load/analysis_state.h"
#include "report/report.h"

#define OVER_TIME_ROWS 64      /* largest number of stretches */
#define OVER_TIME_ROWS_MIN 8   /* stretches are not merged for more samples below this number */
#define OVER_TIME_BEYOND 10    /* wanted mean number of requests beyond the percentile */

/*
 * Adds over_time[] to the report of a finished analysis: the main latency of the evaluated part of
 * the run and of the warm-up. Returns 0 or -ENOMEM; other errors are kept in the report.
 */
int over_time_report(const struct load_analysis *analysis, struct report *r);

#endif
