/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_LOAD_EVIDENCE_H
#define HOSTLAT_LOAD_EVIDENCE_H

#include "load/gates.h"

/* Writes the numbers behind a validity check, such as "3.20 % of the requests failed". */
void gate_evidence(const struct load_analysis *analysis, enum gate_id id, struct strbuf *out);

#endif
