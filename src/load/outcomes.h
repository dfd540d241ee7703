/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latency by what the server answered: completed requests, misses, and each error reply. Samples
 * name their outcome by a number that follows from the name of the cause (causes.h), so that the
 * numbers of all threads and agents agree.
 */
#ifndef HOSTLAT_LOAD_OUTCOMES_H
#define HOSTLAT_LOAD_OUTCOMES_H

#include <stdint.h>

#include "load/causes.h"
#include "report/report.h"
#include "stats/hist.h"

#define OUTCOME_NONE 0u /* completed without a cause; or failed without a reply */
#define OUTCOME_MISS 1u /* completed without content, in a protocol without status codes */
#define OUTCOMES_MAX (CAUSES_MAX + 2)

/* Returns the number of a cause as an outcome, above OUTCOME_MISS. */
uint32_t outcome_of_cause(enum cause_of of, const char *name);

struct outcomes {
	struct outcome_latency {
		uint32_t id;
		struct hist latency;
	} list[OUTCOMES_MAX]; /* more outcomes than fit count in the last one */
	uint32_t n;
};

/* Adds a reply. Returns 0 or -ENOMEM. */
int outcomes_add(struct outcomes *outcomes, uint32_t id, uint64_t latency_ns);

void outcomes_release(struct outcomes *outcomes);

/*
 * Adds the table "outcomes", the most frequent first, if there is more than one. `causes` has the
 * names.
 */
void outcomes_report(const struct outcomes *outcomes, const struct causes *causes,
		     struct report *r);

#endif
