/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small messages spread over several connections of one client and server: each has so little under
 * way that a loss is found by a timer instead of by what follows it.
 */
#ifndef HOSTLAT_CONNS_SPREAD_H
#define HOSTLAT_CONNS_SPREAD_H

#include "conns/problem.h"
#include "conns/state.h"

#define SPREAD_MIN 2u /* connections */

/* Adds what it finds in the span. 0 or -ENOMEM. */
int spread_find(const struct conns *c, enum conns_span span, struct conn_crosses *out);

void spread_explain(const struct conn_cross *cross, struct conn_finding *finding);

#endif
