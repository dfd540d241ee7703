/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/tail.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/sample.h"

#define EXCESSES_MIN 10

/*
 * With theta = shape / scale, the best shape is the mean of ln(1 + theta x): only theta is unknown.
 * Excesses are in units of their mean here.
 */
struct profile {
	const double *x;
	size_t n;
	double max;
};

static double profile_shape(const struct profile *p, double theta)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++)
		sum += log1p(theta * p->x[i]);
	return sum / (double)p->n;
}

/*
 * Returns the log-likelihood per excess. Shapes below -1 are excluded, since the likelihood is
 * unbounded there.
 */
static double profile_likelihood(const struct profile *p, double theta)
{
	double shape;

	if (theta == 0)
		return -1;
	if (theta * p->max <= -1)
		return -INFINITY;
	shape = profile_shape(p, theta);
	if (shape <= -1)
		return -INFINITY;
	return -log(shape / theta) - shape - 1;
}

/* Grid of theta, ascending: octaves from -1 / max to 0, then up to 2^39, with 0 between. */
#define GRID_FIRST (-40)
#define GRID_LAST 60

static double tail_grid(const struct profile *p, int i)
{
	if (i > 0)
		return ldexp(1, i - 21);
	if (i == 0)
		return 0;
	return -(i >= -20 ? ldexp(1, -i - 21) : 1 - ldexp(1, i + 19)) / p->max;
}

/* Returns the theta of the likelihood's maximum between `lo` and `hi`, by golden-section search. */
static double tail_refine(const struct profile *p, double lo, double hi)
{
	const double golden = (sqrt(5) - 1) / 2;
	double a = hi - golden * (hi - lo), b = lo + golden * (hi - lo);
	double at_a = profile_likelihood(p, a), at_b = profile_likelihood(p, b);

	for (int i = 0; i < 60; i++) {
		if (at_a > at_b) {
			hi = b;
			b = a;
			at_b = at_a;
			a = hi - golden * (hi - lo);
			at_a = profile_likelihood(p, a);
		} else {
			lo = a;
			a = b;
			at_a = at_b;
			b = lo + golden * (hi - lo);
			at_b = profile_likelihood(p, b);
		}
	}
	return (lo + hi) / 2;
}

/* Finds the best shape and scale. Returns 0 or -EDOM. */
static int tail_maximise(const struct profile *p, double *shape, double *scale)
{
	double best = -INFINITY, theta;
	int at = GRID_FIRST;

	for (int i = GRID_FIRST; i <= GRID_LAST; i++) {
		double likelihood = profile_likelihood(p, tail_grid(p, i));

		if (likelihood > best) {
			best = likelihood;
			at = i;
		}
	}
	if (at == GRID_FIRST || at == GRID_LAST)
		return -EDOM;
	theta = tail_refine(p, tail_grid(p, at - 1), tail_grid(p, at + 1));
	*shape = profile_shape(p, theta);
	*scale = theta == 0 ? 1 : *shape / theta;
	return *shape > -1 + 1e-6 ? 0 : -EDOM;
}

int tail_gpd(const double *x, size_t n, double threshold, struct tail *out)
{
	struct profile p = { .n = 0 };
	int err = sample_check(x, n, EXCESSES_MIN);
	double *excess, mean, shape, scale;

	if (err || !isfinite(threshold))
		return err ? err : -EINVAL;
	excess = malloc(n * sizeof(*excess));
	if (!excess)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (x[i] > threshold)
			excess[p.n++] = x[i] - threshold;
	}
	err = sample_check_varied(excess, p.n, EXCESSES_MIN);
	if (!err) {
		mean = sample_mean(excess, p.n);
		for (size_t i = 0; i < p.n; i++) {
			excess[i] /= mean;
			p.max = fmax(p.max, excess[i]);
		}
		p.x = excess;
		err = tail_maximise(&p, &shape, &scale);
	}
	free(excess);
	if (err)
		return err;
	*out = (struct tail){
		.shape = shape,
		.shape_se = shape > -0.5 ? (1 + shape) / sqrt((double)p.n) : NAN,
		.scale = scale * mean,
		.threshold = threshold,
		.excesses = p.n,
	};
	return 0;
}
