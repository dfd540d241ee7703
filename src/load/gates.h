/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gates that a result must pass, in the order of the state machine. Each has a statistic (the
 * size of what is wrong, in a unit of its own) and a threshold. Where a test says how surely there
 * is anything at all, both must speak: with a million requests the p alone always fails, and the
 * size alone fails by chance. The p of all tests are adjusted together (Holm).
 */
#ifndef HOSTLAT_LOAD_GATES_H
#define HOSTLAT_LOAD_GATES_H

#include "load/analysis_state.h"

const char *gate_name(enum gate_id id);
/* Of the reason that a failed gate gives: a code for programs, a sentence for people. */
const char *gate_code(enum gate_id id);
const char *gate_sentence(enum gate_id id);

/* Of the tail or the median: what the gate of the unit root is about. */
const struct stationarity_tests *gate_root(const struct load_result *result);

/* Judge a gate: it passes while the statistic is at most, or at least, the threshold. */
void gate_at_most(struct load_analysis *analysis, enum gate_id id, double statistic,
		  double threshold);
void gate_at_least(struct load_analysis *analysis, enum gate_id id, double statistic,
		   double threshold);

/*
 * Requests for an interval of the width asked for, at this run's dispersion: a width goes with the
 * inverse root of their number. 0: no width was asked for, none of them would do (a bucket of the
 * histogram is wider), or there is no interval.
 */
uint64_t gate_needed(const struct load_analysis *analysis);

/* Judges analysis->result by all that is known. Returns 0 or -ENOMEM. */
int gates_judge(struct load_analysis *analysis);

#endif
