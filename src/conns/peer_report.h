/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the connections that two recordings share and which side limits each of them. */
#ifndef HOSTLAT_CONNS_PEER_REPORT_H
#define HOSTLAT_CONNS_PEER_REPORT_H

#include "conns/select.h"

/* All add nothing without a second recording. Adds `joined`: matches and failures. */
void peer_report_summary(const struct conns *c, struct report *r);
/* Adds findings: the limiting side of the worst connections; why others have no match. */
void peer_report_findings(const struct conns *c, const struct conn_selection *s, struct report *r);
/* Adds reasons why the result is partial: gaps in the other recording, clocks that disagree. */
void peer_report_reasons(const struct conns *c, struct report *r);

#endif
