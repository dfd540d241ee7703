/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The problems of a connection by itself: a table of rules, docs/design/connections.md. A rule
 * whose fields are unknown is silent, and so is one that has too few samples to stand on.
 */
#ifndef HOSTLAT_CONNS_RULES_H
#define HOSTLAT_CONNS_RULES_H

#include "conns/problem.h"

/* A limit is a problem from this share of the time on. */
#define RULES_LIMITED_SHARE 0.05
/* With fewer samples nothing is said; with these, three must have found it. */
#define RULES_SAMPLES_MIN 10u
/* One sample may hit what lasts no time at all. */
#define RULES_SEEN_MIN 2u
/* The kernel counts a limit by the window in ticks of up to 10 ms: less than two is nothing. */
#define RULES_WINDOW_MIN_NS 20000000u
/* One acknowledgement may be late for another reason. */
#define RULES_DELAYED_MIN 2u
/* Calls to judge a way of writing by. */
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
