/* SPDX-License-Identifier: Apache-2.0 */
/* Is a result sound, and if not, why: the gates, and what happened to the run itself. */
#ifndef HOSTLAT_LOAD_VERDICT_H
#define HOSTLAT_LOAD_VERDICT_H

#include <stdbool.h>

#include "load/analysis_state.h"

bool verdict_sound(const struct load_analysis *analysis);

/*
 * "sound": every gate that applies was tested and passes. "indicative": some could not be tested,
 * or agents were lost. "unusable": the verdict is n/a.
 */
const char *verdict_confidence(const struct load_analysis *analysis);

/* Each code once, in the order of the state machine, with its evidence. Sets the verdict. */
void verdict_report(const struct load_analysis *analysis, struct report *r);

/* The first gate that fails, if one does, with its evidence: a sentence. */
void verdict_why(const struct load_analysis *analysis, struct strbuf *out);

#endif
