/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/circular.h"

#include <math.h>

double rayleigh_sf(double r, size_t n)
{
	const double m = (double)n;

	/* exp(-n r^2) with the correction for few vectors */
	return n ? fmin(1, exp(sqrt(1 + 4 * m + 4 * m * m * (1 - r * r)) - (1 + 2 * m))) : 1;
}

double circular_turns(double from, double to)
{
	const double turns = to - from + 0.5;

	return turns - floor(turns) - 0.5;
}
