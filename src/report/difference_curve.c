/* SPDX-License-Identifier: Apache-2.0 */
/* Two distributions over each other: their values at many quantiles, and the difference there. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "report/difference.h"

/* The quantiles of report.h are among them: there, the values are those of difference_table(). */
static const double grid[] = {
	0.01,  0.05,  0.1,   0.2,    0.3,    0.4,    0.5,    0.6,    0.7,    0.8,
	0.85,  0.9,   0.93,  0.95,   0.97,   0.98,   0.99,   0.993,  0.995,  0.997,
	0.998, 0.999, 0.9993, 0.9995, 0.9997, 0.9998, 0.9999, 0.99995, 0.99999,
};

static uint64_t difference_count(const struct difference_series *series)
{
	uint64_t count = 0;

	for (size_t i = 0; i < series->n; i++)
		for (size_t k = 0; k < series->runs[i].n; k++)
			count += series->runs[i].blocks[k]->count;
	return count;
}

/* Sets the p99 of each recording in `at` to its quantile q. */
static int difference_move(const struct difference_series *series, double q,
			   struct difference_series *at)
{
	int err = 0;

	for (size_t i = 0; !err && i < series->n; i++) {
		struct contrast_side *side = &at->sides[i][REPORT_P99];

		err = series->side ? series->side(series, i, q, side) :
			contrast_side(&series->runs[i], q, DIFFERENCE_CONFIDENCE, side);
	}
	return err;
}

static const struct column curve_columns[] = {
	{ "q", NULL, 0, 0 },	      { "a_ns", NULL, 0, 0 },  { "b_ns", NULL, 0, 0 },
	{ "difference_ns", NULL, 0, 0 }, { "lo_ns", NULL, 0, 0 }, { "hi_ns", NULL, 0, 0 },
};

static void difference_add_point(const struct quantile_difference *d, double q, struct table *t)
{
	if (d->a.known && d->b.known)
		TABLE_ADD(t, value_number(q), value_ns(d->a.ns), value_ns(d->b.ns),
			  value_sns((int64_t)(d->b.ns - d->a.ns)), difference_lo(&d->d),
			  difference_hi(&d->d));
}

int difference_curve(const struct difference_series *a, const struct difference_series *b,
		     struct report *r, struct value *out)
{
	struct difference_series *at = calloc(2, sizeof(*at));
	struct table *t = table_new(r, curve_columns, ARRAY_LEN(curve_columns));
	const uint64_t count_a = difference_count(a), count_b = difference_count(b);
	const double least = (double)(count_a < count_b ? count_a : count_b);
	int err = at ? 0 : -ENOMEM;

	*out = value_table(t);
	if (at) {
		at[0] = *a;
		at[1] = *b;
	}
	for (size_t i = 0; !err && i < ARRAY_LEN(grid) && least * (1 - grid[i]) >= 1; i++) {
		struct quantile_difference d = { 0 };

		err = difference_move(a, grid[i], &at[0]);
		if (!err)
			err = difference_move(b, grid[i], &at[1]);
		if (!err)
			err = difference_bounds(&at[0], &at[1], REPORT_P99, &d);
		if (!err)
			difference_add_point(&d, grid[i], t);
	}
	free(at);
	return err;
}
