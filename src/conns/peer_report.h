/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the connections that two recordings share and which side limits each of them. */
#ifndef HOSTLAT_CONNS_PEER_REPORT_H
#define HOSTLAT_CONNS_PEER_REPORT_H

#include "conns/select.h"

/* Returns the other host's name; there are two recordings. */
const char *peer_report_host(const struct conns *c);
/*
 * Adds the object `joined`: numbers of matched and unmatched connections. This function and the
 * next two add nothing without a second recording.
 */
void peer_report_joined(const struct conns *c, struct report *r);
/* Adds findings: which side limits the worst connections, and why connections have no match. */
void peer_report_findings(const struct conns *c, const struct conn_selection *s, struct report *r);
/* Adds reasons why the result is partial: gaps in the other recording, clocks that disagree. */
void peer_report_reasons(const struct conns *c, struct report *r);

#endif
