/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a task that forwards data and starves one connection while another connection waits for a
 * delayed acknowledgement or a window, because the task blocks instead of reading on.
 */
#ifndef HOSTLAT_CONNS_PROXY_H
#define HOSTLAT_CONNS_PROXY_H

#include "conns/problem.h"
#include "conns/state.h"

/* least share of time waiting for an ACK or a window, to test a connection */
#define PROXY_HELD_SHARE 0.05
#define PROXY_KNOWN_MIN 0.25 /* least known share of an interval, to use the interval */
#define PROXY_OTHERS 8u /* most connections of a task to compare with one of its connections */
#define PROXY_TESTS 16u        /* most connections to examine per report */
/* least number of intervals known of both connections, to correlate them */
#define PROXY_TICKS_MIN 50u
/* least rank correlation of one connection's waits with another's lack of data */
#define PROXY_RHO 0.5
/*
 * Significance levels: of the test by shifted series, and of the correlation, for all pairs
 * together (Bonferroni).
 */
#define PROXY_ALPHA_SHIFTS 0.02
#define PROXY_ALPHA 0.001

/* Adds each connection's shares of the closed interval to its time series. Returns 0 or -ENOMEM. */
int proxy_tick(struct conns *c);

/*
 * Finds tasks that block while they forward data, and adds these problems to `out`. Returns 0 or
 * -ENOMEM.
 */
int proxy_find(struct conns *c, struct conn_crosses *out);

void proxy_explain(const struct conn_cross *cross, struct conn_finding *finding);

#endif
