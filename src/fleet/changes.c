/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void fleet_changes_init(struct fleet_changes *c, double alpha, uint64_t last_ns, uint64_t every_ns)
{
	const uint64_t looks = (last_ns + every_ns - 1) / every_ns;

	*c = (struct fleet_changes){ .alpha = alpha, .last_ns = last_ns,
				     .looks = looks > UINT32_MAX ? UINT32_MAX : (uint32_t)looks };
	vec_init(&c->followed, FLEET_CHANGES_MAX);
}

void fleet_changes_release(struct fleet_changes *c)
{
	vec_for_each(&c->followed, followed)
		free((char *)followed->problem.name);
	vec_release(&c->followed);
}

static void changes_remove_ended(struct fleet_changes *c)
{
	size_t n = 0;

	vec_for_each(&c->followed, followed) {
		followed->seen = false;
		if (followed->ended)
			free((char *)followed->problem.name);
		else
			c->followed.items[n++] = *followed;
	}
	c->followed.len = n;
}

void fleet_changes_begin(struct fleet_changes *c, uint64_t to_ns)
{
	bool whole;

	changes_remove_ended(c);
	c->at = 0;
	c->to_ns = to_ns > c->to_ns ? to_ns : c->to_ns;
	whole = !c->whole_ns || c->to_ns - c->whole_ns >= c->last_ns;
	if (whole)
		c->whole_ns = c->to_ns;
	if (c->looks < 2)
		c->limit = c->alpha;
	else
		c->limit = c->alpha / 2 / (whole ? 1 : c->looks - 1);
}

static struct fleet_followed *changes_find(const struct fleet_changes *c,
					   const struct fleet_problem *problem)
{
	vec_for_each(&c->followed, followed)
		if (followed->problem.class == problem->class &&
		    !strcmp(followed->problem.kind, problem->kind) &&
		    !strcmp(followed->problem.name, problem->name))
			return followed;
	return NULL;
}

static int changes_follow(struct fleet_changes *c, const struct fleet_problem *problem)
{
	struct fleet_followed followed = { .problem = *problem, .since_ns = c->to_ns,
					   .seen = true };
	int err;

	followed.problem.name = strdup(problem->name);
	err = followed.problem.name ? vec_push(&c->followed, followed) : -ENOMEM;
	if (err)
		free((char *)followed.problem.name);
	return err;
}

int fleet_changes_see(struct fleet_changes *c, const struct fleet_problem *problem,
		      enum fleet_change *change)
{
	struct fleet_followed *followed = changes_find(c, problem);
	int err;

	*change = FLEET_UNCHANGED;
	if (followed) {
		followed->seen = true;
		followed->missed = 0;
		followed->problem.p = problem->p;
		if (!followed->told && c->to_ns - followed->since_ns >= c->last_ns) {
			followed->told = true;
			*change = FLEET_GOES_ON;
		}
		return 0;
	}
	*change = FLEET_WEAK;
	if (!(problem->p <= c->limit))
		return 0;
	err = changes_follow(c, problem);
	if (!err)
		*change = FLEET_BEGINS;
	return err;
}

const struct fleet_followed *fleet_changes_next_ended(struct fleet_changes *c)
{
	while (c->at < c->followed.len) {
		struct fleet_followed *followed = &c->followed.items[c->at++];

		if (followed->seen || ++followed->missed < FLEET_CHANGES_MISSED)
			continue;
		followed->ended = true;
		return followed;
	}
	return NULL;
}

uint64_t fleet_changes_since(const struct fleet_changes *c, const struct fleet_problem *problem)
{
	const struct fleet_followed *followed = changes_find(c, problem);

	return followed ? followed->since_ns : 0;
}

size_t fleet_changes_open(const struct fleet_changes *c)
{
	size_t n = 0;

	vec_for_each(&c->followed, followed)
		n += !followed->ended;
	return n;
}
