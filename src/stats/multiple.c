// SPDX-License-Identifier: Apache-2.0
#include "stats/multiple.h"

#include <errno.h>
#include <math.h>

int holm_adjust(const double *p, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++) {
		if (!(p[i] >= 0 && p[i] <= 1))
			return -EINVAL;
	}
	for (size_t i = 0; i < n; i++) {
		size_t left = n;

		for (size_t j = 0; j < n; j++)
			left -= p[j] < p[i];
		out[i] = fmin(1, (double)left * p[i]);
	}
	/* None is smaller than that of a smaller p. Maxima of maxima: the order doesn't matter. */
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			if (p[j] <= p[i])
				out[i] = fmax(out[i], out[j]);
		}
	}
	return 0;
}
