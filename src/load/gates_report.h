/* SPDX-License-Identifier: Apache-2.0 */
/* The gates of a finished analysis: as a table for JSON, and as a line for people. */
#ifndef HOSTLAT_LOAD_GATES_REPORT_H
#define HOSTLAT_LOAD_GATES_REPORT_H

#include "load/analysis_state.h"
#include "report/report.h"

/*
 * "gates": those that were judged, and with `pass` null those that apply and could not be tested;
 * "not_tested": why not.
 */
void gates_report(const struct load_analysis *analysis, struct report *r);

/* "sound: rate ✓ ...; not tested: stationary (fewer than 20 blocks)" */
void gates_report_words(const struct load_analysis *analysis, struct report *r);

#endif
