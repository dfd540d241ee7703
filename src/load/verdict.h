/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges whether a result is sound and, if not, why: by the gates (validity checks of the result)
 * and by the events of the run.
 */
#ifndef HOSTLAT_LOAD_VERDICT_H
#define HOSTLAT_LOAD_VERDICT_H

#include <stdbool.h>

#include "load/analysis_state.h"

bool verdict_sound(const struct load_analysis *analysis);

/* Returns whether a lower bound of this run is sound, even if the result is not. */
bool verdict_sound_below(const struct load_analysis *analysis);

/* Returns whether the result is sound apart from analysis->result.drift. */
bool verdict_sound_with_drift(const struct load_analysis *analysis);

/*
 * Returns "sound" if all applicable gates (validity checks) were tested and pass; "indicative" if
 * some could not be tested or are tolerated, agents were lost, or the bounds hold for this run
 * only; "unusable" if the verdict is n/a.
 */
const char *verdict_confidence(const struct load_analysis *analysis);

/*
 * Sets the report's verdict, and adds each reason against the result once, with its evidence:
 * interruption, lost agents and short schedules, then failed gates (validity checks).
 */
void verdict_report(const struct load_analysis *analysis, struct report *r);

/* Writes the sentence and evidence of the first failed gate (validity check), if any. */
void verdict_why(const struct load_analysis *analysis, struct strbuf *out);

#endif
