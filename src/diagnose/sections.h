/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of the report, called by diagnose/report.c. */
#ifndef HOSTLAT_DIAGNOSE_SECTIONS_H
#define HOSTLAT_DIAGNOSE_SECTIONS_H

#include "diagnose/state.h"

/* Culprits of one cause, at most. */
#define CULPRITS_SHOWN 5u

/* "causes": the targets' excess by cause, largest first; the first is a finding, too. */
int report_causes(const struct diagnosis *d, struct report *r);

/* "functions": those that took longer in the targets; null if they were not recorded. */
int report_functions(const struct diagnosis *d, struct report *r);

/* The slowest target as text, and "examples": every target with its parts. */
int report_examples(const struct diagnosis *d, struct report *r);

/* "contexts" and "contexts_by_core". */
int report_contexts(const struct diagnosis *d, struct report *r);

/* "contexts", "contexts_by_core", "queuing" and "over_time". */
int report_views(const struct diagnosis *d, struct report *r);

/* Shares of one message in one place: the same culprit once, largest first, scaled to `total`. */
void causes_merge_shares(struct shares *shares, uint64_t total);

/* "nginx (4690)"; "" for no task. */
const char *causes_culprit_name(const struct recorded *rec, struct report *r, uint32_t task);

/* A table of culprits: pid, tid, comm, message (id of the message before), what, ns. */
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
