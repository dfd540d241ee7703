/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cause with most of the excess: of requests if those are known, else of messages. */
#include "diagnose/request_causes.h"
#include "diagnose/sections.h"

bool diagnosis_main_cause(const struct diagnosis *d, struct main_cause *out)
{
	const bool requests = report_requests_known(d);
	const struct excess_list *excesses = requests ? &d->request_causes->targets : &d->excesses;
	const struct excess_total all = excess_total(excesses);
	uint64_t most = 0;

	for (unsigned int key = 0; key < EXCESS_KEYS; key++) {
		uint64_t ns = 0;

		vec_for_each(excesses, e)
			ns += excess_by_key(e, key);
		if (ns <= most)
			continue;
		most = ns;
		*out = (struct main_cause){ .cause = key % CAUSE_MAX, .client = key >= CAUSE_MAX };
	}
	if (!most)
		return false;
	out->share = (double)most / (double)(all.found + all.rest);
	return true;
}
