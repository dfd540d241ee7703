/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/welch.h"

#include <errno.h>
#include <math.h>

#include "stats/sample.h"
#include "stats/special.h"

double welch_variance(const struct welch_side *side)
{
	const double mean = sample_mean(side->values, side->n);
	double squares = 0, floor = 0;

	for (size_t i = 0; i < side->n; i++) {
		squares += (side->values[i] - mean) * (side->values[i] - mean);
		floor += side->errors[i] * side->errors[i];
	}
	return fmax(squares / (double)(side->n - 1), floor / (double)side->n);
}

static int welch_check(const struct welch_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		if (!isfinite(side->values[i]) || !isfinite(side->errors[i]))
			return -EINVAL;
	return 0;
}

/* Variance of the difference of two means, with its degrees of freedom. */
struct welch_error {
	double variance, df;
};

static struct welch_error welch_error(const struct welch_side *a, const struct welch_side *b)
{
	const double part_a = welch_variance(a) / (double)a->n,
		     part_b = welch_variance(b) / (double)b->n;
	const double sum = part_a + part_b;

	return (struct welch_error){ sum, sum * sum / (part_a * part_a / (double)(a->n - 1) +
						       part_b * part_b / (double)(b->n - 1)) };
}

/* The same for a side with several values, and one value with its error within the recording. */
static struct welch_error welch_error_of_one(const struct welch_side *several, double error)
{
	const double variance = welch_variance(several);

	return (struct welch_error){ variance / (double)several->n +
				     fmax(variance, error * error), (double)(several->n - 1) };
}

int welch_compare(const struct welch_side *a, const struct welch_side *b, double confidence,
		  struct contrast *out)
{
	struct welch_error e;
	double error, t;
	int err = welch_check(a);

	*out = (struct contrast){ .blocks_a = a->n, .blocks_b = b->n };
	err = err ? err : welch_check(b);
	if (err || !(confidence > 0 && confidence < 1))
		return -EINVAL;
	if (!a->n || !b->n)
		return 0;
	out->difference = sample_mean(b->values, b->n) - sample_mean(a->values, a->n);
	if (a->n + b->n < 3)
		return 0;
	e = a->n == 1 ? welch_error_of_one(b, a->errors[0]) :
	    b->n == 1 ? welch_error_of_one(a, b->errors[0]) : welch_error(a, b);
	error = sqrt(e.variance);
	if (!(error > 0))
		return 0;
	t = student_quantile((1 + confidence) / 2, e.df);
	out->bounded = out->tested = true;
	out->lo = out->difference - t * error;
	out->hi = out->difference + t * error;
	out->p = student_two_sided(out->difference / error, e.df);
	return 0;
}
