/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gates: validity checks that a result must pass. Each gate has a statistic (the size of a
 * problem, in a unit of its own) and a threshold. A gate with a significance test fails only if the
 * size and p both do: with a million requests p alone always fails, and the size alone fails by
 * chance. The p values of all tests are adjusted together (Holm).
 */
#ifndef HOSTLAT_LOAD_GATES_H
#define HOSTLAT_LOAD_GATES_H

#include "load/analysis_state.h"

#define GATE_SHAPE_MOST 0.5 /* shape of a generalized Pareto tail; above: infinite variance */

const char *gate_name(enum gate_id id);
/* Returns whether a gate makes the result n/a: it failed, and the bounds do not allow for that. */
bool gate_objects(const struct gate *gate);
/*
 * Returns whether the server's tail is so heavy that the interval cannot be relied on: the interval
 * is wider than the quantile, and the fitted tail has no finite variance.
 */
bool gate_is_heavy(const struct load_analysis *analysis, const struct interval *interval);
/*
 * gate_code() and gate_sentence() return the reason that a failed gate gives: a code for programs,
 * a sentence for people.
 */
const char *gate_code(enum gate_id id);
/* Returns the gates with this code, as a mask of 1 << id; 0: there is none. */
uint64_t gate_mask(const char *code);
const char *gate_sentence(enum gate_id id);

/* Returns the stationarity tests, of the tail or the median, that the unit-root gate judges. */
const struct stationarity_tests *gate_root(const struct load_result *result);

/*
 * gate_at_most() judges a gate, which passes if its statistic is at most the threshold.
 * gate_at_least() requires at least the threshold.
 */
void gate_at_most(struct load_analysis *analysis, enum gate_id id, double statistic,
		  double threshold);
void gate_at_least(struct load_analysis *analysis, enum gate_id id, double statistic,
		   double threshold);

/*
 * Returns the number of requests needed for an interval of the requested width: the width shrinks
 * with the square root of that number. 0: no width was requested, a bucket of the histogram is
 * wider, or there is no interval.
 */
uint64_t gate_needed(const struct load_analysis *analysis);

/* Judges all gates (validity checks) of analysis->result. Returns 0 or -ENOMEM. */
int gates_judge(struct load_analysis *analysis);

#endif
