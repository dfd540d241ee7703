/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The share of requests that take longer than x, for all x at once, with a band that holds the
 * whole curve of the law at the confidence. Massart (1990) bounds the distance of the curve of N
 * independent samples from it:
 *
 *	P(sup |S_N(x) - S(x)| > e) <= 2 exp(-2 N e^2)      so   e = c / (2 sqrt(N)),
 *	                                                        c = sqrt(2 ln(2 / (1 - confidence)))
 *
 * Here N is the effective count n / D (interval.h), and c, which is in standard deviations of the
 * curve at its median, becomes the Student quantile with the same tail for D's degrees of freedom.
 * The widest of what CCDF_DEPTHS depths give is taken. docs/design/load-method.md says what this
 * rests on.
 *
 * Failed requests have no latency; the band holds whatever theirs would have been.
 */
#ifndef HOSTLAT_LOAD_CCDF_H
#define HOSTLAT_LOAD_CCDF_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "load/interval.h"

#define CCDF_DEPTHS 7 /* p10 ... p99 */

struct ccdf_band {
	bool valid;    /* else the dependence is not known well enough for a band */
	double half;   /* half its width; > 0, may be above 1 */
};

/* 0 < confidence < 1. Returns 0 (look at `valid`) or -ENOMEM. */
int ccdf_band(const struct interval_range *range, double confidence, struct ccdf_band *out);

/*
 * CSV with a line of heads and one line per occupied bucket: its upper edge, which splits the
 * samples exactly, the share of completed requests above it, the band cut to 0..1 or empty cells.
 * Errors stay in `out`.
 */
void ccdf_csv(const struct interval_range *range, const struct ccdf_band *band,
	      struct strbuf *out);

#endif
