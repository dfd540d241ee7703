/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of one analysis after another: which begin, go on and end. For each look, at the same
 * --last of time, moved on:
 *
 *	fleet_changes_begin(&c, to_ns);
 *	err = fleet_changes_see(&c, &finding, &change);     each finding of the analysis
 *	while ((ended = fleet_changes_next_ended(&c)))
 *		tell(ended);
 *
 * Looks at overlapping time multiply false findings. Here they do not: from one whole look to the
 * next, which comes after --last of time, at most `alpha` of all fleets without a problem have a
 * finding that begins. The whole look may spend half of alpha, the others in between share the
 * rest (Bonferroni's inequality, which needs no independence). A finding that has begun goes on as
 * long as the analysis finds it at alpha.
 */
#ifndef HOSTLAT_FLEET_CHANGES_H
#define HOSTLAT_FLEET_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "fleet/fleet.h"

#define FLEET_CHANGES_MAX 100000u /* findings that are followed; further ones never begin */
#define FLEET_CHANGES_MISSED 2u  /* successive looks without a finding that end it */

enum fleet_change { FLEET_UNCHANGED, FLEET_WEAK, FLEET_BEGINS, FLEET_GOES_ON };

/* A problem of a resource, by whatever evidence. */
struct fleet_problem {
	enum fleet_class class;
	const char *kind, *name;  /* fleet_finding_kind(), which is static, and _name() */
	double p;
};

struct fleet_followed {
	struct fleet_problem problem; /* owns its name; p of the last look that found it */
	uint64_t since_ns;        /* end of the time in which it began */
	uint32_t missed;          /* looks without it, since the last one with it */
	bool seen, told, ended;   /* at this look; that it goes on; next look removes it */
};

struct fleet_changes {
	struct fleet_followed_list VEC_OF(struct fleet_followed) followed;
	double alpha;
	uint64_t last_ns;
	uint32_t looks;           /* that share alpha: from one whole look to the next */
	uint64_t whole_ns, to_ns; /* end of the last whole look, of this look; 0: none */
	double limit;             /* p with which a finding begins at this look */
	size_t at;                /* place of fleet_changes_next_ended() */
};

/* Begins with nothing: a look at `last_ns` of time each `every_ns`. */
void fleet_changes_init(struct fleet_changes *c, double alpha, uint64_t last_ns, uint64_t every_ns);
void fleet_changes_release(struct fleet_changes *c);

/* Begins a look at the time up to `to_ns`, or the last look's if that is later. */
void fleet_changes_begin(struct fleet_changes *c, uint64_t to_ns);

/*
 * Takes a finding of this look, with a p of at most alpha, and sets *change: FLEET_WEAK, if it is
 * not followed and its p does not suffice to begin. Returns 0, -ENOMEM or -E2BIG.
 */
int fleet_changes_see(struct fleet_changes *c, const struct fleet_problem *problem,
		      enum fleet_change *change);

/* Returns a finding that ends at this look, valid until the next look; NULL: no further one. */
const struct fleet_followed *fleet_changes_next_ended(struct fleet_changes *c);

/* Returns the end of the look at which a problem that is followed began; 0: it is not followed. */
uint64_t fleet_changes_since(const struct fleet_changes *c, const struct fleet_problem *problem);

/* Returns how many findings have begun and not ended. */
size_t fleet_changes_open(const struct fleet_changes *c);

#endif
