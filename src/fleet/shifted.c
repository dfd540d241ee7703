/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/shifted.h"

#include <math.h>

#include "stats/special.h"

void shifted_add(struct shifted *s, double statistic, double observed)
{
	const double x = statistic - observed;

	s->n++;
	s->extreme += x >= -1e-9 * fabs(observed);
	s->sum += x;
	s->squares += x * x;
	s->cubes += x * x * x;
}

static double shifted_variance(const struct shifted *s)
{
	const double mean = s->sum / s->n;

	return fmax(0, s->squares / s->n - mean * mean);
}

/* Returns P(X >= 0) for a law with the moments of the statistics less the observed one. */
static double shifted_tail(const struct shifted *s)
{
	const double mean = s->sum / s->n, square = s->squares / s->n;
	const double variance = shifted_variance(s);
	const double third = s->cubes / s->n - 3 * mean * square + 2 * mean * mean * mean;
	const double deviation = sqrt(variance), at = -mean / deviation;
	const double skewness = third / (variance * deviation);
	double shape, x;

	if (!(deviation > 0))
		return mean < 0 ? 0 : 1;
	if (skewness < 1e-4)
		return normal_sf(at);
	shape = 4 / (skewness * skewness);
	x = shape + at * sqrt(shape);
	return x > 0 ? chi2_sf(2 * x, 2 * shape) : 1;
}

double shifted_p(const struct shifted *s)
{
	const double p = (1 + s->extreme) / (1 + s->n);

	return s->extreme ? p : sqrt(p * fmin(p, shifted_tail(s)));
}

double shifted_z(const struct shifted *s)
{
	const double deviation = sqrt(shifted_variance(s));

	return deviation > 0 ? -s->sum / s->n / deviation : 0;
}

/*
 * With a memory of m intervals in both series, whose correlations decay exponentially, that of the
 * statistics as a function of the shift is (1 + x / m) exp(-x / m): its integral is 4 m, and that
 * of its square 2.5 m.
 */
double shifted_p_of(const struct shifted *s, double independent)
{
	const double memory = fmax(1, s->n / independent) - 1;
	const double values = s->n / (1 + 4 * memory), freedom = s->n / (1 + 2.5 * memory);
	const double least = 1 / (1 + values), z = shifted_z(s);
	const double student = z > 0 ? student_two_sided(z, fmax(1, freedom)) / 2 : 1;

	if (s->extreme)
		return fmax(least, (1 + s->extreme) / (1 + s->n));
	return sqrt(least * fmin(least, fmax(student, shifted_tail(s))));
}
