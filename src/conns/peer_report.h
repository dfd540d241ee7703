/* SPDX-License-Identifier: Apache-2.0 */
/* What two recordings have in common, and on whose side limits lie. */
#ifndef HOSTLAT_CONNS_PEER_REPORT_H
#define HOSTLAT_CONNS_PEER_REPORT_H

#include "conns/select.h"

/* Each adds nothing if there is one recording. `joined`: how many, and why others not. */
void peer_report_summary(const struct conns *c, struct report *r);
/* Sentences: on which side limits lie, of the worst connections; why others have no other end. */
void peer_report_findings(const struct conns *c, const struct conn_selection *s, struct report *r);
/* What makes the result partial: of the other recording, and of the clocks. */
void peer_report_reasons(const struct conns *c, struct report *r);

#endif
