/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of the report; diagnose/report.c calls these functions. */
#ifndef HOSTLAT_DIAGNOSE_SECTIONS_H
#define HOSTLAT_DIAGNOSE_SECTIONS_H

#include "diagnose/state.h"

/*
 * Adds "causes": the excess of the messages to explain by cause, largest first; the largest are
 * findings.
 */
int report_causes(const struct diagnosis *d, struct report *r);

/*
 * Adds "functions": those that took longer in the messages to explain; null if functions were not
 * recorded.
 */
int report_functions(const struct diagnosis *d, struct report *r);

/* Adds the slowest of the messages to explain as text, and "examples": each with its parts. */
int report_examples(const struct diagnosis *d, struct report *r);

/* Adds "contexts" and "contexts_by_core": tasks and interrupts on the messages' cores. */
int report_contexts(const struct diagnosis *d, struct report *r);

/* Adds the report page's sections: "contexts", "contexts_by_core", "queuing", "over_time". */
int report_views(const struct diagnosis *d, struct report *r);

/* Adds "usual": where the time of usual messages goes; a finding if much of it is one wait. */
int report_usual(const struct diagnosis *d, struct report *r);

/*
 * Adds "without" and "without_cases": what the targets' least latency would be without a cause.
 * report_without_sentence(): a sentence about one cause, with a space before it; "": not known.
 */
void report_without(const struct diagnosis *d, struct report *r);
const char *report_without_sentence(struct report *r, const struct without *w, enum cause cause);

/* Adds reasons to distrust a recording; `which` names the recording in them. */
void report_source_reasons(const struct recorded *rec, struct report *r, const char *which);

/*
 * Excess of all messages to explain, in ns: `found` has a cause, `rest` has none; `less` is what
 * other parts took less than the baseline.
 */
struct excess_total {
	uint64_t found;
	uint64_t rest;
	uint64_t less;
};
struct excess_total excess_total(const struct diagnosis *d);

#endif
