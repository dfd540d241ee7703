/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_LOAD_EVIDENCE_H
#define HOSTLAT_LOAD_EVIDENCE_H

#include "load/gates.h"

/* The figures behind a gate's verdict, such as "3.2 % failed". */
void gate_evidence(const struct load_analysis *analysis, enum gate_id id, struct strbuf *out);

/*
 * Requests for an interval of the width asked for, at this run's dispersion: a width goes with the
 * inverse root of their number. 0: no width was asked for, none of them would do (a bucket of the
 * histogram is wider), or there is no interval.
 */
uint64_t evidence_needed(const struct load_analysis *analysis);

#endif
