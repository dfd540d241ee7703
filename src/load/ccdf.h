/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The complementary distribution function: the share of requests that take longer than x, for all
 * x, with a confidence band for the whole curve. For N independent samples, Massart (1990) bounds
 * the distance between the empirical and the true curve:
 *
 *	P(sup |S_N(x) - S(x)| > e) <= 2 exp(-2 N e^2)      so   e = c / (2 sqrt(N)),
 *	                                                        c = sqrt(2 ln(2 / (1 - confidence)))
 *
 * Here N is the effective count n / D (interval.h), and c, which is in standard deviations of the
 * curve at its median, becomes the Student quantile with the same tail for D's degrees of freedom.
 * The band is the widest over CCDF_DEPTHS quantiles. docs/design/load-method.md has the
 * assumptions.
 *
 * Failed requests have no latency; the band allows for any latency they might have had.
 */
#ifndef HOSTLAT_LOAD_CCDF_H
#define HOSTLAT_LOAD_CCDF_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "load/interval.h"

#define CCDF_DEPTHS 7 /* quantiles that determine the band: p10, p25, p50, p75, p90, p95, p99 */

/* least number of effective samples beyond one of these quantiles for it to count */
#define CCDF_EXCEEDANCES_MIN 10

struct ccdf_band {
	bool valid;    /* false: the dependence of samples is not known well enough for a band */
	double half;   /* half the width of the band; > 0, may be above 1 */
	/*
	 * The share of requests, 0..1, that the measuring host may have delayed to a latency above
	 * `ns`, for the lower edge of the band; NULL: none. Set by the caller after ccdf_band().
	 */
	double (*touched)(const void *context, uint64_t ns);
	const void *context;
};

/* Computes the band; 0 < confidence < 1. Returns 0 (check `valid`) or -ENOMEM. */
int ccdf_band(const struct interval_range *range, double confidence, struct ccdf_band *out);

/* A point of the curve: the upper edge of an occupied bucket, which splits the samples exactly. */
struct ccdf_point {
	uint64_t ns;
	double share;  /* share of completed requests above `ns`, 0..1 */
	double lo, hi; /* the band at `ns`, cut to 0..1; NaN: not valid */
};

/* Calls `put` for each point of the curve, in ascending order. */
void ccdf_each(const struct interval_range *range, const struct ccdf_band *band,
	       void (*put)(void *context, const struct ccdf_point *point), void *context);

#define CCDF_CSV_HEAD "ns,share_above,lo,hi\n"

/*
 * Appends a point to `context`, a struct strbuf, as a line of CSV with empty cells for what is not
 * valid. An error is kept in its `error`.
 */
void ccdf_put_csv(void *context, const struct ccdf_point *point);

#endif
