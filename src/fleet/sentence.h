/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of a fleet as sentences. */
#ifndef HOSTLAT_FLEET_SENTENCE_H
#define HOSTLAT_FLEET_SENTENCE_H

#include "fleet/fleet.h"

/* Returns a name such as "more"; static. */
const char *fleet_evidence_name(enum fleet_evidence evidence);

/*
 * Return the finding as one sentence: which resource, which problem, how many connections, how much
 * time; and that a rack or link may be behind it instead, if so. The headline also has which table
 * tells. The string belongs to the report.
 */
const char *fleet_sentence_verdict(const struct fleet *f, const struct fleet_result *result,
				   const struct fleet_finding *finding, struct report *r);
const char *fleet_sentence_headline(const struct fleet *f, const struct fleet_result *result,
				    const struct fleet_finding *finding, struct report *r);

/* Adds that racks and links are not tested, if they are not, and the table to write. */
void fleet_sentence_paths(const struct fleet *f, struct report *r);

/*
 * Returns "link uplink3", or "all connections" where the finding is about all. The string belongs
 * to the report.
 */
const char *fleet_sentence_resource(const struct fleet *f, const struct fleet_finding *finding,
				    struct report *r);

/* Returns what to do about a finding, without a full stop; static. */
const char *fleet_sentence_advice(const struct fleet *f, const struct fleet_finding *finding);

/* Adds the sentence, the evidence, up to `members` of its connections and the advice. */
void fleet_sentence(const struct fleet *f, const struct fleet_result *result,
		    const struct fleet_finding *finding, uint32_t members, struct report *r);

#endif
