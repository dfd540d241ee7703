/* SPDX-License-Identifier: Apache-2.0 */
/* The causes of failures in a result: a sentence each, and JSON's "failures". */
#ifndef HOSTLAT_LOAD_FAILURES_H
#define HOSTLAT_LOAD_FAILURES_H

#include "base/strbuf.h"
#include "load/causes.h"
#include "report/report.h"

/* A finding per cause, the most frequent first; at most a few of each kind. */
void failures_find(const struct causes *causes, struct report *r);

/* Adds "failures". */
void failures_report(const struct causes *causes, struct report *r);

/* "no connection was open from 2.7 s to 3.7 s"; false if there was no outage. */
bool failures_outage(const struct causes *causes, struct strbuf *out);

/* The most frequent one's sentence. */
void failures_evidence(const struct causes *causes, enum cause_of of, struct strbuf *out);

#endif
