/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failed gates that leave a result: a delay by the measuring host and a period that comes often
 * are within the bounds, and what a changing server did is the result of this run alone.
 */
#ifndef HOSTLAT_LOAD_GATES_ALLOW_H
#define HOSTLAT_LOAD_GATES_ALLOW_H

#include "load/analysis_state.h"

/*
 * Sets `allowed`, `run_only` and `tolerated` of the judged gates (gates_judge()), and `run_only`
 * and `state` of analysis->result.
 */
void gates_allow(struct load_analysis *analysis);

/*
 * Returns whether no failed gate objects to a lower bound of this run. Where requests waited for a
 * free connection, the bound takes the time without this wait, or takes them as arbitrarily fast:
 * with more connections the server would have more to do at a time, not less.
 */
bool gates_allow_lower(const struct load_analysis *analysis);

#endif
