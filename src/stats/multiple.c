/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/multiple.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/sort.h"

static int multiple_check(const double *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!(p[i] >= 0 && p[i] <= 1))
			return -EINVAL;
	}
	return 0;
}

int holm_adjust(const double *p, size_t n, double *out)
{
	int err = multiple_check(p, n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		size_t left = n;

		for (size_t j = 0; j < n; j++)
			left -= p[j] < p[i];
		out[i] = fmin(1, (double)left * p[i]);
	}
	/*
	 * Raises each adjusted p to at least that of any smaller p. These are maxima, so their
	 * order is irrelevant.
	 */
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			if (p[j] <= p[i])
				out[i] = fmax(out[i], out[j]);
		}
	}
	return 0;
}

struct placed {
	double p;
	size_t place;
};

static int by_p(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return sort_order(x->p, y->p) ?: sort_order(x->place, y->place);
}

int fdr_adjust(const double *p, size_t n, double *out)
{
	struct placed *sorted;
	double least = 1;
	int err = multiple_check(p, n);

	if (err || !n)
		return err;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct placed){ p[i], i };
	qsort(sorted, n, sizeof(*sorted), by_p);
	for (size_t i = n; i--;) {
		least = fmin(least, sorted[i].p * (double)n / (double)(i + 1));
		out[sorted[i].place] = least;
	}
	free(sorted);
	return 0;
}

double testable_least_p(const double *least, size_t n, double alpha)
{
	size_t count = n;

	for (size_t k = 1; k <= n; k++) {
		while (count && least[count - 1] > alpha / (double)k)
			count--;
		if (count <= k)
			return alpha / (double)k;
	}
	return alpha;
}
