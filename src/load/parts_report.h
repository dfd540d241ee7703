/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of which parts (load/parts.h) the latency from the intended send consists. */
#ifndef HOSTLAT_LOAD_PARTS_REPORT_H
#define HOSTLAT_LOAD_PARTS_REPORT_H

#include "load/analysis_state.h"
#include "report/report.h"

/*
 * Adds the table "parts": means of all requests, and of those within 19 % of each quantile. Null in
 * a closed loop. The analysis is finished.
 */
void parts_report(const struct load_analysis *analysis, struct report *r);

/*
 * Returns the mean parts of requests about as slow as quantile q: "client queue 1 µs · ..."; "" if
 * there are none. Belongs to the report.
 */
const char *parts_report_words(const struct load_analysis *analysis, double q, struct report *r);

#endif
