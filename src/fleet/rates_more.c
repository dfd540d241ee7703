/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant problems: the resource whose connections have a problem for a larger share of time.
 * Several resources may be guilty, and their connections overlap: the one that explains most is
 * told, its connections are left out, and all others are tested again.
 */
#include "fleet/rates.h"

#include <errno.h>
#include <stdlib.h>

#include "fleet/analyses.h"

#define RATES_FINDINGS_MAX 16 /* in each class */

static int rates_init(struct rates *r, const struct fleet *f, const struct fleet_options *options)
{
	int err;

	*r = (struct rates){ .f = f, .options = options };
	vec_init(&r->suspects, FLEET_RESOURCES_MAX);
	vec_init(&r->units, (size_t)FLEET_CONNECTIONS_MAX * FLEET_SHARES_MAX);
	r->left = calloc(f->all.len + 1, sizeof(*r->left));
	r->places = calloc(f->all.len + 1, sizeof(*r->places));
	err = strata_init(&r->strata, f);
	for (unsigned int kind = 0; kind < FLEET_KINDS && !err; kind++)
		err = units_list(f, kind, &r->kinds[kind]);
	return err ?: r->left && r->places ? 0 : -ENOMEM;
}

static void rates_release(struct rates *r)
{
	for (unsigned int kind = 0; kind < FLEET_KINDS; kind++)
		units_release(&r->kinds[kind]);
	strata_release(&r->strata);
	vec_release(&r->suspects);
	vec_release(&r->units);
	free(r->left);
	free(r->places);
}

static bool rates_has_class(const struct rates *r, enum fleet_class class)
{
	vec_for_each(&r->f->all, s)
		if (s->limited_ns[class] > 0)
			return class != FLEET_SENDER_APP;
	return false;
}

static void rates_count_families(struct rates *r)
{
	double kinds = 0, classes = 0;

	for (unsigned int kind = 0; kind < FLEET_KINDS; kind++)
		kinds += r->kinds[kind].len > 0;
	for (unsigned int class = 0; class < FLEET_CLASSES; class++)
		classes += rates_has_class(r, class);
	r->families = FLEET_EVIDENCES * kinds * classes;
}

/* Measures and judges all resources that share connections which are left. */
static int rates_test(struct rates *r)
{
	int err = 0;

	vec_clear(&r->suspects);
	strata_count(&r->strata, r->class, r->left);
	for (unsigned int kind = 0; kind < FLEET_KINDS && !err; kind++) {
		const size_t first = r->suspects.len;

		err = rates_measure(r, kind);
		if (!err && r->suspects.len > first)
			err = rates_judge(r, r->suspects.items + first, r->suspects.len - first);
	}
	return err;
}

static void rates_count_tests(const struct rates *r, struct fleet_result *out)
{
	vec_for_each(&r->suspects, suspect) {
		out->tested += suspect->testable;
		out->too_few += !suspect->testable;
	}
}

static void rates_explain(struct rates *r, const struct rates_suspect *suspect)
{
	const struct unit_entry *entries = r->kinds[suspect->kind].items + suspect->entry;

	for (size_t i = 0; i < suspect->entries; i++)
		r->left[entries[i].conn] = false;
}

static int rates_class(struct rates *r, struct fleet_result *out)
{
	int err = 0;

	for (uint32_t conn = 0; conn < r->f->all.len; conn++)
		r->left[conn] = r->f->all.items[conn].known_ns[r->class] > 0;
	for (int i = 0; i < RATES_FINDINGS_MAX && !err; i++) {
		struct rates_suspect strongest;

		err = rates_test(r);
		if (!err && !i)
			rates_count_tests(r, out);
		if (err || !rates_strongest(r, &strongest))
			break;
		err = rates_tell(r, &strongest, out);
		rates_explain(r, &strongest);
	}
	return err;
}

int fleet_more(const struct fleet *f, const struct fleet_options *options,
	       struct fleet_result *out)
{
	struct rates r;
	int err = rates_init(&r, f, options);

	if (!err)
		rates_count_families(&r);
	for (unsigned int class = 0; class < FLEET_CLASSES && !err; class++) {
		r.class = class;
		if (rates_has_class(&r, class))
			err = rates_class(&r, out);
	}
	rates_release(&r);
	return err;
}
