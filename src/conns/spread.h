/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects small messages spread over several connections of one client and server. Each connection
 * has so few packets in flight that a timer, not a later packet, reveals a loss.
 */
#ifndef HOSTLAT_CONNS_SPREAD_H
#define HOSTLAT_CONNS_SPREAD_H

#include "conns/problem.h"
#include "conns/state.h"

#define SPREAD_MIN 2u /* least number of connections that share the messages */

/* Adds connections that share small messages in `span` to `out`. Returns 0 or -ENOMEM. */
int spread_find(const struct conns *c, enum conns_span span, struct conn_crosses *out);

void spread_explain(const struct conn_cross *cross, struct conn_finding *finding);

#endif
