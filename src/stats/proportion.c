/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/proportion.h"

#include <math.h>

#include "stats/special.h"

struct proportion proportion_of(double share, double n, double confidence)
{
	const double z = normal_quantile(0.5 + confidence / 2);
	const double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
	const double half = z / (1 + z * z / n) *
			    sqrt(share * (1 - share) / n + z * z / (4 * n * n));

	if (!(n > 0))
		return (struct proportion){ .share = share, .lo = 0, .hi = 1 };
	return (struct proportion){
		.share = share, .lo = fmax(0, middle - half), .hi = fmin(1, middle + half),
	};
}

struct proportion proportion_interval(uint64_t hits, uint64_t n, double confidence)
{
	const double share = n ? (double)hits / (double)n : 0.5;

	if (!n || hits > n)
		return (struct proportion){ .share = share > 1 ? 1 : share, .lo = 0, .hi = 1 };
	return proportion_of(share, (double)n, confidence);
}
