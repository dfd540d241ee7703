/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the connections that two recordings share and which side limits each of them. */
#ifndef HOSTLAT_CONNS_PEER_REPORT_H
#define HOSTLAT_CONNS_PEER_REPORT_H

#include "conns/select.h"

/* Each adds nothing if there is one recording. `joined`: how many, and why others not. */
void peer_report_summary(const struct conns *c, struct report *r);
/* Sentences: on which side limits lie, of the worst connections; why others have no other end. */
void peer_report_findings(const struct conns *c, const struct conn_selection *s, struct report *r);
/* Adds reasons why the result is partial: gaps in the other recording, clocks that disagree. */
void peer_report_reasons(const struct conns *c, struct report *r);

#endif
