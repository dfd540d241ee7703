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

	for (unsigned int key = 0; key < 2 * CAUSE_MAX; key++) {
		const unsigned int cause = key % CAUSE_MAX;
		const bool client = key >= CAUSE_MAX;
		uint64_t ns = 0;

		for (unsigned int w = 0; w < WHERE_MAX; w++)
			vec_for_each(excesses, e)
				ns += (w == WHERE_CLIENT) == client ?
				      e->ns[CAUSE_PLACE(cause, w)] : 0;
		if (ns <= most)
			continue;
		most = ns;
		*out = (struct main_cause){ .cause = cause, .client = client };
	}
	if (!most)
		return false;
	out->share = (double)most / (double)(all.found + all.rest);
	return true;
}
