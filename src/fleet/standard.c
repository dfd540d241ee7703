/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/standard.h"

#include <math.h>

/* The cells of a class; that of the open interval is not among them yet. */
struct standard_cells {
	const uint8_t *closed;
	uint32_t open;
	uint8_t open_cell;
};

static struct standard_cells standard_cells_of(const struct fleet *f, const struct fleet_series *s,
					       enum fleet_class class)
{
	return (struct standard_cells){ s->cells + (size_t)class * f->grid.intervals, s->open,
					fleet_cell(f, s, class, s->open) };
}

static uint8_t standard_cell(const struct standard_cells *cells, uint32_t k)
{
	return k == cells->open ? cells->open_cell : cells->closed[k];
}

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
	uint32_t count[FLEET_UNKNOWN + 1] = { 0 };
	struct standard_cells cells;

	*out = (struct standard){ 0 };
	if (!s->limited_ns[class])
		return;
	cells = standard_cells_of(f, s, class);
	for (uint32_t k = 0; k < f->grid.intervals; k++)
		count[standard_cell(&cells, k)]++;
	standard_moments(count, out);
	if (out->defined)
		standard_center(count, out);
	out->defined &= out->weight > 0;
}

void standard_fill(const struct fleet *f, const struct fleet_series *s, enum fleet_class class,
		   const struct standard *standard, int32_t *z, int32_t *weight)
{
	const struct standard_cells cells = standard_cells_of(f, s, class);
	int32_t table[FLEET_UNKNOWN + 1] = { 0 };

	for (unsigned int share = 0; share <= FLEET_STEPS; share++)
		table[share] = (int32_t)lround((standard_limited(standard, share) -
						standard->offset) * STANDARD_ONE);
	for (uint32_t k = 0; k < f->grid.intervals; k++) {
		const uint8_t cell = standard_cell(&cells, k);

		z[k] = table[cell];
		weight[k] = cell == FLEET_UNKNOWN ? 0 : standard->weight;
	}
}
