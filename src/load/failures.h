/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the causes of failures: a sentence per cause, and the JSON table "failures". */
#ifndef HOSTLAT_LOAD_FAILURES_H
#define HOSTLAT_LOAD_FAILURES_H

#include "base/strbuf.h"
#include "load/causes.h"
#include "report/report.h"

/* Adds a finding per cause, the most frequent first; at most four of each kind. */
void failures_find(const struct causes *causes, struct report *r);

/* Adds the JSON table "failures". */
void failures_report(const struct causes *causes, struct report *r);

/* Writes "a thread had no open connection from 2.7 s to 3.7 s"; false if there was no outage. */
bool failures_outage(const struct causes *causes, struct strbuf *out);

/* Writes the sentence of the most frequent cause of a kind, without outages. */
void failures_evidence(const struct causes *causes, enum cause_of of, struct strbuf *out);

#endif
