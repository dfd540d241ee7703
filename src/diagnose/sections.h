/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the report; for diagnose/report.c. */
#ifndef HOSTLAT_DIAGNOSE_SECTIONS_H
#define HOSTLAT_DIAGNOSE_SECTIONS_H

#include "diagnose/state.h"

/* Culprits of one cause, at most. */
#define CULPRITS_SHOWN 5u

/* "causes": what the targets' excess was, largest first. The first one as a finding. */
int report_causes(const struct diagnosis *d, struct report *r);

/* "functions": those that the targets took longer in; null if they are not told. */
int report_functions(const struct diagnosis *d, struct report *r);

/* The slowest target as text, and "examples": every target with its parts. */
int report_examples(const struct diagnosis *d, struct report *r);

/* "contexts" and "contexts_by_core". */
int report_contexts(const struct diagnosis *d, struct report *r);

/* "contexts", "contexts_by_core", "queuing" and "over_time". */
int report_views(const struct diagnosis *d, struct report *r);

/* Shares of one message in one place: the same culprit once, largest first, scaled to `total`. */
void causes_merge_shares(struct shares *shares, uint64_t total);

/* "nginx (4690)"; "" if it is nobody. */
const char *causes_culprit_name(const struct recorded *rec, struct report *r, uint32_t task);

/* A table of culprits: pid, tid, comm, message (the id of the one between), what, ns. */
struct value causes_culprits_table(const struct recorded *rec, struct report *r,
				   const struct shares *shares);

/* Adds the reasons to distrust a recording, called `which` in a sentence. */
void report_source_reasons(const struct recorded *rec, struct report *r, const char *which);

/* The excess of all targets: the part with a cause, and the rest. */
struct excess_total {
	uint64_t found;
	uint64_t rest;
};
struct excess_total excess_total(const struct diagnosis *d);

#endif
