/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence FLEET_TOGETHER: which resources' connections have a problem at the same times. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "fleet/analyses.h"
#include "fleet/finding.h"
#include "fleet/locate.h"
#include "fleet/members.h"
#include "fleet/same.h"
#include "stats/multiple.h"

#define EVIDENCES 3u
#define SCREEN_Z 2.0         /* below, no shifts: p is 1 */
/* A finding has so many members, or this correlation, and chance is so much less likely. */
#define TELL_MEMBERS_MIN 3u
#define TELL_RHO_MIN 0.05
#define TELL_UNNAMED 0.1

struct together {
	const struct fleet *f;
	const struct fleet_options *options;
	struct fleet_result *out;
	struct fleet_groups groups;
	struct class_sums sums;
	uint32_t *same;              /* same_resources() */
	struct locate_candidates tests; /* results for this class */
	uint32_t families;
};

static bool together_is_active(const struct fleet *f, enum fleet_class class)
{
	vec_for_each(&f->all, s)
		if (s->limited_ns[class])
			return true;
	return false;
}

/* An application without data for its connections is no problem of theirs. */
static bool together_is_tested(const struct fleet *f, enum fleet_class class)
{
	return class != FLEET_SENDER_APP && together_is_active(f, class);
}

/*
 * Each kind in each class is a family of tests for each evidence; the share of false findings is
 * divided by their number.
 */
static uint32_t together_families(const struct fleet *f)
{
	uint32_t kinds = 0, classes = 0;

	vec_for_each(&f->resources, resource)
		kinds |= 1u << resource->kind;
	for (unsigned int class = 0; class < FLEET_CLASSES; class++)
		classes += together_is_tested(f, class);
	return (uint32_t)__builtin_popcount(kinds) * classes * EVIDENCES;
}

/* ---- tests ---- */

static int together_test(struct together *t, uint32_t resource)
{
	const struct fleet_subset subset = { resource, resource, NULL, 0 };
	struct locate_candidate test = { .resource = resource, .within = FLEET_NONE };
	struct children children;
	int err = children_make(&t->sums, &subset, &children);

	if (!err) {
		synchrony_measure(&children, &test.synchrony);
		test.hosts = children.hosts;
		test.connections = children.connections;
		if (test.synchrony.testable && test.synchrony.z > SCREEN_Z)
			err = synchrony_shift(&children, t->options->seed,
					      t->options->alpha / t->families, &test.synchrony);
	}
	children_release(&children);
	t->out->tested += test.synchrony.testable;
	t->out->too_few += !test.synchrony.testable;
	if (!err && test.synchrony.testable)
		err = vec_push(&t->tests, test);
	return err;
}

/* Adjusts the p of one kind's tests. */
static int together_adjust(struct together *t, enum fleet_kind kind, double *p, double *adjusted)
{
	size_t n = 0, i = 0;
	int err;

	vec_for_each(&t->tests, test)
		if (t->f->resources.items[test->resource].kind == kind)
			p[n++] = test->synchrony.p;
	err = fdr_adjust(p, n, adjusted);
	vec_for_each(&t->tests, test)
		if (!err && t->f->resources.items[test->resource].kind == kind)
			test->p = fmin(1, adjusted[i++] * t->families);
	return err;
}

/* Keeps the tests that are candidates for a finding. */
static int together_choose(struct together *t)
{
	double *p = malloc((2 * t->tests.len + 1) * sizeof(*p));
	size_t n = 0;
	int err = p ? 0 : -ENOMEM;

	for (unsigned int kind = 0; kind < FLEET_KINDS && !err; kind++)
		err = together_adjust(t, kind, p, p + t->tests.len);
	vec_for_each(&t->tests, test)
		if (test->p <= t->options->alpha && test->synchrony.rho >= LOCATE_RHO_MIN)
			t->tests.items[n++] = *test;
	t->tests.len = n;
	free(p);
	return err;
}

/* ---- findings ---- */

static int together_members(struct together *t, struct fleet_finding *finding)
{
	const struct fleet_subset subset = { finding->resource, finding->resource, NULL, 0 };
	struct fleet_members *members = &t->out->members;
	struct children children;
	int err = children_make(&t->sums, &subset, &children);

	finding->first = (uint32_t)members->len;
	err = err ? err : members_name(&t->sums, &children, members);
	finding->n = (uint32_t)members->len - finding->first;
	children_release(&children);
	return err;
}

static int together_same(struct together *t, struct fleet_finding *finding)
{
	int err = 0;

	finding->first_same = (uint32_t)t->out->same.len;
	for (uint32_t r = 0; r < t->f->resources.len && !err; r++)
		if (t->same[r] == finding->resource && r != finding->resource)
			err = vec_push(&t->out->same, r);
	finding->n_same = (uint32_t)t->out->same.len - finding->first_same;
	return err;
}

static bool together_is_worth(const struct together *t, const struct fleet_finding *finding)
{
	return finding->n >= TELL_MEMBERS_MIN ||
	       (finding->rho >= TELL_RHO_MIN && finding->p <= TELL_UNNAMED * t->options->alpha);
}

/* Adds a candidate's finding; sets *index, to FLEET_NONE if the effect is too small. */
static int together_tell(struct together *t, const struct locate_candidate *test, uint32_t within,
			 uint32_t *index)
{
	struct fleet_finding finding = { .evidence = FLEET_TOGETHER, .class = t->sums.class,
					 .resource = test->resource };
	int err;

	fleet_finding_fill(&t->groups, &finding);
	finding.rho = test->synchrony.rho;
	finding.z = test->synchrony.z;
	finding.p = test->p;
	finding.within = within;
	err = together_members(t, &finding);
	*index = FLEET_NONE;
	if (err || !together_is_worth(t, &finding)) {
		t->out->members.len = finding.first;
		return err;
	}
	err = together_same(t, &finding);
	*index = (uint32_t)t->out->findings.len;
	return err ? err : vec_push(&t->out->findings, finding);
}

/* Candidates point to coarser ones, which come first. */
static int together_tell_all(struct together *t)
{
	uint32_t *indexes = malloc((t->tests.len + 1) * sizeof(*indexes));
	int err = indexes ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->tests.len && !err; i++) {
		const struct locate_candidate *test = &t->tests.items[i];
		const uint32_t within = test->within == FLEET_NONE ? FLEET_NONE :
								     indexes[test->within];

		indexes[i] = FLEET_NONE;
		if (!test->dropped)
			err = together_tell(t, test, within, &indexes[i]);
	}
	free(indexes);
	return err;
}

/* ---- all ---- */

static int together_class(struct together *t, enum fleet_class class)
{
	int err = class_sums_fill(&t->sums, class);

	err = err ? err : same_resources(&t->sums, t->same);
	vec_clear(&t->tests);
	for (uint32_t r = 0; r < t->f->resources.len && !err; r++)
		if (t->same[r] == r)
			err = together_test(t, r);
	err = err ? err : together_choose(t);
	err = err ? err : locate_causes(&t->sums, t->options->seed, &t->tests);
	return err ? err : together_tell_all(t);
}

static int together_init(struct together *t)
{
	int err = fleet_groups_make(t->f, &t->groups);

	vec_init(&t->tests, FLEET_RESOURCES_MAX);
	t->same = malloc((t->f->resources.len + 1) * sizeof(*t->same));
	t->families = together_families(t->f);
	if (err || !t->same)
		return -ENOMEM;
	return class_sums_init(&t->sums, &t->groups);
}

int fleet_together(const struct fleet *f, const struct fleet_options *options,
		   struct fleet_result *out)
{
	struct together t = { .f = f, .options = options, .out = out };
	int err = together_init(&t);

	for (unsigned int class = 0; class < FLEET_CLASSES && !err; class++)
		if (together_is_tested(f, class))
			err = together_class(&t, class);
	class_sums_release(&t.sums);
	fleet_groups_release(&t.groups);
	vec_release(&t.tests);
	free(t.same);
	return err ? -ENOMEM : 0;
}
