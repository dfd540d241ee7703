/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The problems of a single connection: a table of rules, see docs/design/connections.md. A rule
 * does not apply if its fields are unknown or its samples are too few.
 */
#ifndef HOSTLAT_CONNS_RULES_H
#define HOSTLAT_CONNS_RULES_H

#include "conns/problem.h"

/* A limit is a problem from this share of the time on. */
#define RULES_LIMITED_SHARE 0.05
/* Samples needed for a sampled problem; of just as many, three must have found it. */
#define RULES_SAMPLES_MIN 10u
/* Samples of a state needed: a single one may hit a state of no duration. */
#define RULES_SEEN_MIN 2u
/* The kernel counts a limit by the window in ticks of up to 10 ms: less than two is nothing. */
#define RULES_WINDOW_MIN_NS 20000000u
/* Late acknowledgements needed: a single one may have another reason. */
#define RULES_DELAYED_MIN 2u
/* Send calls needed to judge how an application writes. */
#define RULES_CALLS_MIN 20u

#define RULES_MAX 16 /* problems of one connection */

/*
 * Sets `problems`, `harmful`, `lost_ns` and `found` of the view. `found` points into `room`, which
 * has RULES_MAX entries and must outlive the view.
 */
void rules_judge(struct conn_view *view, struct conn_problem *room);

/*
 * The same; what was found is added to `found`, and *judged is for conn_view_judged(). Returns 0,
 * -ENOMEM or -E2BIG.
 */
int rules_judge_into(struct conn_view *view, struct conn_problems *found,
		     struct conn_judged *judged);

/* Most calls give little, one after the other. */
bool rules_writes_small(const struct event_conn *c);

/* Fills in evidence and sentences of a problem that was found. */
void rules_explain(struct conn_finding *finding);

#endif
