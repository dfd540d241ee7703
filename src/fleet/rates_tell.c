/* SPDX-License-Identifier: Apache-2.0 */
/* The finding of a guilty resource, and the connections behind it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/sort.h"
#include "fleet/finding.h"
#include "fleet/rates.h"
#include "stats/sample.h"

/* A connection is behind a finding if its share is above those of so many of the others. */
#define OTHERS_BELOW 0.95

static double rates_share(const struct rates *r, uint32_t conn)
{
	const struct fleet_series *s = &r->f->all.items[conn];

	return (double)s->limited_ns[r->class] / (double)s->known_ns[r->class];
}

/* ---- others ---- */

/* The shares of the connections that are left outside of the resource. */
struct rates_others {
	double mean, deviation, limit;
};

/* Sets the shares of the others; `inside` is true for connections of the resource. */
static void rates_summarize(const struct rates *r, const bool *inside, double *shares,
			    struct rates_others *out)
{
	double sum = 0, squares = 0;
	size_t n = 0;

	for (uint32_t conn = 0; conn < r->f->all.len; conn++)
		if (r->left[conn] && !inside[conn])
			shares[n++] = rates_share(r, conn);
	sample_sort(shares, n);
	for (size_t i = 0; i < n; i++) {
		sum += shares[i];
		squares += shares[i] * shares[i];
	}
	out->mean = n ? sum / (double)n : 0;
	out->deviation = n ? sqrt(fmax(squares / (double)n - out->mean * out->mean, 0)) : 0;
	/* Shares are stored in such steps: others that are all equal do not make it infinite. */
	out->deviation = fmax(out->deviation, 1.0 / FLEET_STEPS);
	out->limit = n ? shares[(size_t)((double)(n - 1) * OTHERS_BELOW)] : 0;
}

static int rates_others(const struct rates *r, const struct rates_suspect *suspect,
			struct rates_others *out)
{
	const struct unit_entry *entries = r->kinds[suspect->kind].items + suspect->entry;
	bool *inside = calloc(r->f->all.len, sizeof(*inside));
	double *shares = calloc(r->f->all.len, sizeof(*shares));

	if (inside && shares) {
		for (size_t i = 0; i < suspect->entries; i++)
			inside[entries[i].conn] = true;
		rates_summarize(r, inside, shares, out);
	}
	free(inside);
	free(shares);
	return inside && shares ? 0 : -ENOMEM;
}

/* ---- members ---- */

static int rates_member_order(const void *a, const void *b)
{
	const struct fleet_member *x = a, *y = b;

	return sort_order(y->score, x->score) ?: sort_order(x->conn, y->conn);
}

static int rates_tell_members(const struct rates *r, const struct rates_suspect *suspect,
			      const struct rates_others *others, struct fleet_members *out)
{
	const struct unit_entry *entries = r->kinds[suspect->kind].items + suspect->entry;
	const size_t first = out->len;
	int err = 0;

	for (size_t i = 0; i < suspect->entries && !err; i++) {
		const uint32_t conn = entries[i].conn;

		if (r->left[conn] && rates_share(r, conn) > others->limit)
			err = vec_push(out, (struct fleet_member){
				.conn = conn,
				.score = (rates_share(r, conn) - others->mean) /
					others->deviation });
	}
	if (out->len > first)
		qsort(out->items + first, out->len - first, sizeof(*out->items),
		      rates_member_order);
	return err;
}

/* ---- the finding ---- */

static void rates_fill(const struct rates *r, const struct rates_suspect *suspect,
		       struct fleet_finding *finding)
{
	*finding = (struct fleet_finding){
		.evidence = FLEET_MORE, .class = r->class, .resource = suspect->resource,
		.share_others = suspect->expected_ns / suspect->known_ns,
		.rho = NAN, .z = suspect->z, .p = suspect->p,
		.excess_ns = (uint64_t)(suspect->lost_ns - suspect->lost_expected_ns),
		.from_ns = r->f->grid.start_ns,
		.to_ns = r->f->grid.start_ns + r->f->grid.step_ns * r->f->grid.intervals,
		.within = FLEET_NONE,
	};
	fleet_finding_describe(r->f, r->kinds[suspect->kind].items + suspect->entry,
			       suspect->entries, r->left, finding);
}

int rates_tell(const struct rates *r, const struct rates_suspect *suspect,
	       struct fleet_result *out)
{
	struct fleet_finding finding;
	struct rates_others others;
	int err = rates_others(r, suspect, &others);

	if (err)
		return err;
	rates_fill(r, suspect, &finding);
	finding.first = (uint32_t)out->members.len;
	err = rates_tell_members(r, suspect, &others, &out->members);
	finding.n = (uint32_t)out->members.len - finding.first;
	return err ?: vec_push(&out->findings, finding);
}
