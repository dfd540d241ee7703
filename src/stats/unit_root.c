/* SPDX-License-Identifier: Apache-2.0 */
/* The augmented Dickey-Fuller test of stats/series_test.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "stats/sample.h"
#include "stats/series_test.h"
#include "stats/special.h"

/*
 * A column whose part orthogonal to the previous columns is a smaller share of its length counts as
 * dependent on them.
 */
#define RANK_TOLERANCE 1e-10

/* Least squares of the last column on the columns before it; column-major. */
struct regression {
	double *columns;
	size_t rows, regressors;
};

static double *unit_root_column(const struct regression *r, size_t i)
{
	return r->columns + i * r->rows;
}

static double unit_root_length(const double *x, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += x[i] * x[i];
	return sqrt(sum);
}

/* Reflects entries at.. of the later columns by the unit vector `v`. */
static void unit_root_reflect(const struct regression *r, size_t at, const double *v)
{
	for (size_t i = at + 1; i <= r->regressors; i++) {
		double *x = unit_root_column(r, i), dot = 0;

		for (size_t row = at; row < r->rows; row++)
			dot += v[row] * x[row];
		for (size_t row = at; row < r->rows; row++)
			x[row] -= 2 * dot * v[row];
	}
}

/*
 * QR decomposition by Householder. The last column's first entries then are Q'y: entries from k on
 * are the residual of the first k regressors. `last` is the last diagonal entry of R.
 */
static int triangularise(struct regression *r, double *last)
{
	for (size_t at = 0; at < r->regressors; at++) {
		double *v = unit_root_column(r, at), whole = unit_root_length(v, 0, r->rows);
		double rest = unit_root_length(v, at, r->rows), norm;

		if (!(rest > RANK_TOLERANCE * whole))
			return -EDOM;
		*last = v[at] > 0 ? -rest : rest;
		v[at] -= *last;
		norm = unit_root_length(v, at, r->rows);
		for (size_t row = at; row < r->rows; row++)
			v[row] /= norm;
		unit_root_reflect(r, at, v);
	}
	return 0;
}

/*
 * Fills the regression of y's steps on a constant, `lags` earlier steps and the level before the
 * step, which is the second regressor or, with `level_last`, the last. The level is relative to
 * `mean`, which the constant compensates.
 */
static void unit_root_fill(struct regression *r, const double *y, size_t n, size_t lags,
			   double mean, bool level_last)
{
	size_t first = lags + 1; /* the first y whose step is explained */

	r->rows = n - first;
	r->regressors = lags + 2;
	for (size_t row = 0; row < r->rows; row++) {
		size_t at = first + row;

		unit_root_column(r, 0)[row] = 1;
		unit_root_column(r, level_last ? lags + 1 : 1)[row] = y[at - 1] - mean;
		for (size_t lag = 1; lag <= lags; lag++)
			unit_root_column(r, level_last ? lag : lag + 1)[row] =
				y[at - lag] - y[at - lag - 1];
		unit_root_column(r, r->regressors)[row] = y[at] - y[at - 1];
	}
}

/* Chooses 0..max lags by Akaike's criterion on the same rows, from one decomposition. */
static int best_lags(struct regression *r, const double *y, size_t n, size_t max, double mean,
		     size_t *lags)
{
	double best = INFINITY, last, whole, *x;
	int err;

	unit_root_fill(r, y, n, max, mean, false);
	x = unit_root_column(r, r->regressors);
	whole = unit_root_length(x, 0, r->rows);
	err = triangularise(r, &last);
	for (size_t lag = 0; !err && lag <= max; lag++) {
		double rest = unit_root_length(x, lag + 2, r->rows);
		double aic = 2 * (double)r->rows * log(rest) + 2 * (double)(lag + 2);

		if (!(rest > RANK_TOLERANCE * whole))
			err = -EDOM;
		if (aic < best) {
			best = aic;
			*lags = lag;
		}
	}
	return err;
}

/* Returns p by MacKinnon (1994), tables 3 and 4: one variable, a constant. */
static double unit_root_p(double t)
{
	static const double small[] = { 2.1659, 1.4412, 0.038269 };
	static const double large[] = { 1.7339, 0.93202, -0.12745, -0.010368 };

	if (t > 2.74)
		return 1;
	if (t < -18.83)
		return 0;
	if (t <= -1.61)
		return normal_cdf(small[0] + t * (small[1] + t * small[2]));
	return normal_cdf(large[0] + t * (large[1] + t * (large[2] + t * large[3])));
}

static int unit_root_fit(struct regression *r, const double *y, size_t n, size_t lags, double mean,
			 struct adf *out)
{
	double last, rest, whole, *x;
	int err;

	unit_root_fill(r, y, n, lags, mean, true);
	x = unit_root_column(r, r->regressors);
	whole = unit_root_length(x, 0, r->rows);
	err = triangularise(r, &last);
	if (err)
		return err;
	rest = unit_root_length(x, r->regressors, r->rows);
	if (!(rest > RANK_TOLERANCE * whole))
		return -EDOM;
	out->lags = lags;
	out->used = r->rows;
	out->statistic = x[r->regressors - 1] * (last > 0 ? 1 : -1) /
			 (rest / sqrt((double)(r->rows - r->regressors)));
	out->p = unit_root_p(out->statistic);
	return 0;
}

int adf_test(const double *y, size_t n, struct adf *out)
{
	size_t max = (size_t)ceil(12 * pow((double)n / 100, 0.25)), lags = 0;
	int err = sample_check_varied(y, n, 6);
	struct regression r;
	double mean;

	if (err)
		return err;
	max = max < n / 2 - 2 ? max : n / 2 - 2;
	mean = sample_mean(y, n);
	r.columns = malloc((max + 3) * n * sizeof(*r.columns));
	if (!r.columns)
		return -ENOMEM;
	err = best_lags(&r, y, n, max, mean, &lags);
	err = err ? err : unit_root_fit(&r, y, n, lags, mean, out);
	free(r.columns);
	return err;
}
