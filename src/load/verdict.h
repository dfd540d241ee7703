/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges whether a result is sound, and if not, why: by the gates and by what happened to the run.
 */
#ifndef HOSTLAT_LOAD_VERDICT_H
#define HOSTLAT_LOAD_VERDICT_H

#include <stdbool.h>

#include "load/analysis_state.h"

bool verdict_sound(const struct load_analysis *analysis);

/*
 * Returns "sound": every gate that applies was tested and passes; "indicative": some could not be
 * tested, or agents were lost; or "unusable": the verdict is n/a.
 */
const char *verdict_confidence(const struct load_analysis *analysis);

/*
 * Sets the verdict, and adds each reason once, in the order of the state machine, with its
 * evidence.
 */
void verdict_report(const struct load_analysis *analysis, struct report *r);

/* Writes the sentence of the first failed gate, if any, with its evidence. */
void verdict_why(const struct load_analysis *analysis, struct strbuf *out);

#endif
