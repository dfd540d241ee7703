/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/standard.h"

#include <errno.h>
#include <math.h>

static double standard_limited(const struct standard *standard, unsigned int share)
{
	const double z = (share - standard->mean) / standard->deviation;

	return fmax(-STANDARD_LIMIT, fmin(STANDARD_LIMIT, z));
}

/* Sets mean and deviation by how many intervals have each share. */
static void standard_moments(const uint32_t *count, struct standard *out)
{
	uint64_t n = 0, sum = 0, squares = 0;

	for (uint64_t share = 0; share <= FLEET_STEPS; share++) {
		n += count[share];
		sum += count[share] * share;
		squares += count[share] * share * share;
	}
	out->known = (uint32_t)n;
	out->defined = n && n * squares > sum * sum;
	if (!out->defined)
		return;
	out->mean = (double)sum / (double)n;
	out->deviation = sqrt((double)(n * squares - sum * sum)) / (double)n;
}

static void standard_center(const uint32_t *count, struct standard *out)
{
	double sum = 0, squares = 0;

	for (unsigned int share = 0; share <= FLEET_STEPS; share++) {
		const double z = count[share] ? standard_limited(out, share) : 0;

		sum += count[share] * z;
		squares += count[share] * z * z;
	}
	out->offset = sum / out->known;
	squares = squares / out->known - out->offset * out->offset;
	out->weight = (int32_t)lround(sqrt(fmax(squares, 0)) * STANDARD_ONE);
}

void standard_of(const struct fleet *f, const struct fleet_series *s, enum fleet_class class,
		 struct standard *out)
{
	struct fleet_runs_cursor at = fleet_series_runs(f, s, class);
	uint32_t count[FLEET_STEPS + 1] = { 0 };

	*out = (struct standard){ 0 };
	if (!fleet_series_changes(f, s, class))
		return;
	for (struct fleet_run run; fleet_runs_next(&at, &run);)
		count[run.cell] += run.to - run.from;
	standard_moments(count, out);
	if (out->defined)
		standard_center(count, out);
	out->defined &= out->weight > 0;
}

/* ---- steps ---- */

struct standard_pusher {
	const struct standard *standard;
	struct standard_steps *out;
	int32_t z, weight;       /* now */
	int32_t by_share[FLEET_STEPS + 1]; /* z, or UNSET */
};

#define UNSET INT32_MAX

static int32_t standard_z(struct standard_pusher *p, uint8_t share)
{
	int32_t *z = &p->by_share[share];

	if (*z == UNSET)
		*z = (int32_t)lround((standard_limited(p->standard, share) - p->standard->offset) *
				     STANDARD_ONE);
	return *z;
}

static int standard_step(struct standard_pusher *p, uint32_t at, int32_t z, int32_t weight)
{
	const uint64_t by_z = (uint32_t)(z - p->z) & 0xffffff;
	const uint64_t by_weight = (uint32_t)(weight - p->weight) & 0xffffff;

	p->z = z;
	p->weight = weight;
	if (!by_z && !by_weight)
		return 0;
	return vec_push(p->out, (uint64_t)at << 48 | by_weight << 24 | by_z);
}

int standard_push(const struct fleet *f, const struct fleet_series *s, enum fleet_class class,
		  const struct standard *standard, struct standard_steps *out)
{
	struct standard_pusher p = { .standard = standard, .out = out };
	struct fleet_runs_cursor at = fleet_series_runs(f, s, class);
	uint32_t end = 0;
	int err = 0;

	for (int share = 0; share <= (int)FLEET_STEPS; share++)
		p.by_share[share] = UNSET;
	for (struct fleet_run run; !err && fleet_runs_next(&at, &run); end = run.to) {
		if (end < run.from)
			err = standard_step(&p, end, 0, 0);
		if (!err)
			err = standard_step(&p, run.from, standard_z(&p, run.cell),
					    standard->weight);
	}
	if (!err && end < f->grid.intervals)
		err = standard_step(&p, end, 0, 0);
	return err ? -ENOMEM : 0;
}
