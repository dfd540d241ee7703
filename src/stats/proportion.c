// SPDX-License-Identifier: Apache-2.0
#include "stats/proportion.h"

#include <math.h>

#include "stats/special.h"

struct proportion proportion_interval(uint64_t hits, uint64_t n, double confidence)
{
	const double z = normal_quantile(0.5 + confidence / 2), m = (double)n;
	const double share = n ? (double)hits / m : 0.5;
	double middle, half;

	if (!n || hits > n)
		return (struct proportion){ .share = share > 1 ? 1 : share, .lo = 0, .hi = 1 };
	middle = (share + z * z / (2 * m)) / (1 + z * z / m);
	half = z / (1 + z * z / m) * sqrt(share * (1 - share) / m + z * z / (4 * m * m));
	return (struct proportion){
		.share = share, .lo = fmax(0, middle - half), .hi = fmin(1, middle + half),
	};
}
