/* SPDX-License-Identifier: Apache-2.0 */
/* Reports a finished analysis's gates (validity checks): a table in JSON, and a line of text. */
#ifndef HOSTLAT_LOAD_GATES_REPORT_H
#define HOSTLAT_LOAD_GATES_REPORT_H

#include "load/analysis_state.h"
#include "report/report.h"

/*
 * Adds the table "gates": judged gates, and gates that apply but could not be tested (`pass` null).
 * Adds the table "not_tested" with the reasons.
 */
void gates_report(const struct load_analysis *analysis, struct report *r);

/* Adds a finding: "sound as far as tested: rate ✓ ...; not tested: stationary (why)". */
void gates_report_words(const struct load_analysis *analysis, struct report *r);

#endif
