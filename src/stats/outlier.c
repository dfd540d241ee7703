/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/outlier.h"

#include <math.h>

#include "stats/special.h"

#define UPPER_PART 3 /* one in so many values can be an outlier */

/* The values below: number, mean and sum of squared deviations (Welford 1962). */
struct outlier_below {
	double n, mean, squares;
};

static void outlier_below_add(struct outlier_below *below, double value)
{
	const double d = value - below->mean;

	below->n++;
	below->mean += d / below->n;
	below->squares += d * (value - below->mean);
}

static double outlier_p(const struct outlier_below *below, double value,
			const struct outlier_prior *prior)
{
	const double usual = prior->freedom * prior->deviation * prior->deviation;
	const double freedom = prior->freedom + below->n - 1;
	double t;

	if (below->n < 2)
		return 1;
	t = (value - below->mean) /
		sqrt((usual + below->squares) / freedom * (1 + 1 / below->n));
	return t > 0 ? student_two_sided(t, freedom) / 2 : 1;
}

void outlier_upper(const double *values, size_t n, const struct outlier_prior *prior, double *p)
{
	const size_t can = n > UPPER_PART ? n / UPPER_PART : 1;
	struct outlier_below below = { 0 };
	double smallest = 1;

	for (size_t i = n; i--;) {
		if (i < can)
			smallest = fmin(smallest, outlier_p(&below, values[i], prior));
		p[i] = smallest;
		outlier_below_add(&below, values[i]);
	}
}
