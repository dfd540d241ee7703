/* SPDX-License-Identifier: Apache-2.0 */
/* Request counters of the whole run, warm-up included, as counted by the agents. */
#ifndef HOSTLAT_LOAD_COUNTS_H
#define HOSTLAT_LOAD_COUNTS_H

#include "load/analysis_state.h"

/* Adds a finding to the report if the server closed connections after replies. */
void counts_words(const struct load_analysis *analysis, struct report *r);

/* Adds the JSON objects "requests" and "connections". */
void counts_report(const struct load_analysis *analysis, struct report *r);

#endif
