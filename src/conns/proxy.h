/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a task that forwards data and starves one connection while another one waits for a delayed
 * acknowledgement or a window, because the task blocks instead of reading on.
 */
#ifndef HOSTLAT_CONNS_PROXY_H
#define HOSTLAT_CONNS_PROXY_H

#include "conns/problem.h"
#include "conns/state.h"

#define PROXY_HELD_SHARE 0.05  /* of an interval, from which on a connection is looked at */
#define PROXY_KNOWN_MIN 0.25 /* share of an interval that must be known to use it */
#define PROXY_OTHERS 8u        /* connections of the task that one is compared with */
#define PROXY_TESTS 16u        /* connections that are compared, per report */
#define PROXY_TICKS_MIN 50u  /* intervals known of both; with fewer there is no finding */
#define PROXY_RHO 0.5          /* rank correlation */
/*
 * Significance levels: of the shifted series and, for all pairs together, of the correlation
 * (Bonferroni).
 */
#define PROXY_ALPHA_SHIFTS 0.02
#define PROXY_ALPHA 0.001

/* An interval is over: takes the shares of its records. 0 or -ENOMEM. */
int proxy_tick(struct conns *c);

/* Adds what it finds. 0 or -ENOMEM. */
int proxy_find(struct conns *c, struct conn_crosses *out);

void proxy_explain(const struct conn_cross *cross, struct conn_finding *finding);

#endif
