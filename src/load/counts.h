/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the requests of a whole run, warm-up included: what the agents counted. */
#ifndef HOSTLAT_LOAD_COUNTS_H
#define HOSTLAT_LOAD_COUNTS_H

#include "load/analysis_state.h"

/* Says what the server did with connections, if it did something. */
void counts_words(const struct load_analysis *analysis, struct report *r);

/* Adds "requests" and "connections". */
void counts_report(const struct load_analysis *analysis, struct report *r);

#endif
