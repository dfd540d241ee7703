/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of the report; diagnose/report.c calls these functions. */
#ifndef HOSTLAT_DIAGNOSE_SECTIONS_H
#define HOSTLAT_DIAGNOSE_SECTIONS_H

#include "diagnose/state.h"

struct without;

/* Messages to explain, or slow requests, with what they took more than usual. */
struct population {
	const struct recorded *rec;     /* recording with the names of culprits */
	const struct breakdown *breakdowns; /* by subject of an excess */
	const struct excess_list *excesses;
	const struct without *without;  /* NULL: not known */
	bool requests;                  /* requests; they have no tables in text */
	bool findings;                  /* the largest causes are findings */
};

/*
 * Adds "causes" to `o`: the excess by cause, largest first; the largest are findings. Returns 0 or
 * -ENOMEM.
 */
int report_causes(const struct population *p, struct report *r, struct object *o);

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

/*
 * Adds "requests": the sums of their parts, their causes, and each request. With `findings`, the
 * causes are findings. Returns 0 or -ENOMEM.
 */
int report_requests(const struct diagnosis *d, struct report *r, bool findings);

/*
 * Returns true if most of the time of the slow requests has a side, and so causes are of requests,
 * not of messages.
 */
bool report_requests_known(const struct diagnosis *d);

/* Adds "baselines": the mean times by cause with which each application's messages are compared. */
void report_baselines(const struct diagnosis *d, struct report *r);

/*
 * Adds "usual": where the time of usual messages goes; with `finding`, a finding if much
 * of it is one wait. Returns 0 or -ENOMEM.
 */
int report_usual(const struct diagnosis *d, struct report *r, bool finding);

/*
 * Adds "without" and "without_cases" to `o`: the targets' least latency without a cause.
 * report_without_sentence(): a sentence about one place, with a space before it; "": not known.
 */
void report_without(const struct population *p, struct report *r, struct object *o);
const char *report_without_sentence(struct report *r, const struct without *w, unsigned int place);

/* Sets the headline: how slow the messages were, and why. Returns 0 or -ENOMEM. */
int report_headline_of_messages(const struct diagnosis *d, struct report *r);

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
struct excess_total excess_total(const struct excess_list *excesses);

#endif
