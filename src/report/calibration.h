/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much recordings of one set-up differ from each other, and how often a comparison of two of
 * them, or of three with three others, reports a difference that isn't there.
 */
#ifndef HOSTLAT_REPORT_CALIBRATION_H
#define HOSTLAT_REPORT_CALIBRATION_H

#include "report/difference.h"

/* Recordings of each side in the comparisons of several, and the number of such comparisons. */
#define CALIBRATION_SIDE 3
#define CALIBRATION_DRAWS 1000

/* Index of the row for any quantile, after those of the quantiles. */
#define CALIBRATION_ANY REPORT_QUANTILES

struct calibration_result {
	size_t recordings;
	/* comparisons of two recordings; of one with all others; of three with three */
	unsigned int pairs, single, drawn;
	/* comparisons that report a difference in a quantile, or in any */
	unsigned int pairs_differ[REPORT_QUANTILES + 1], single_differ[REPORT_QUANTILES + 1],
		     drawn_differ[REPORT_QUANTILES + 1];
	/*
	 * standard deviation between recordings of the quantile's logarithm; NaN: unknown; and the
	 * change, relative to the quantile, that CALIBRATION_SIDE recordings of each side find in
	 * 90 % of comparisons
	 */
	double deviation[REPORT_QUANTILES], found[REPORT_QUANTILES];
};

/*
 * Compares all pairs of recordings of one set-up, each recording with all others, and
 * CALIBRATION_DRAWS draws of three against three (none with fewer than six recordings).
 * Deterministic. Returns 0 or -ENOMEM.
 */
int calibration_run(const struct difference_series *series, struct calibration_result *out);

/*
 * Adds rows of {of, q, deviation, found, pairs, pairs_differ ...} to a table that
 * calibration_table() returns.
 */
struct table *calibration_table(struct report *r);
void calibration_add(const struct calibration_result *c, const char *of, struct table *t,
		     struct report *r);

/* Returns a change in words: "38 %", or "a factor of 5.2" where it more than doubles the value. */
const char *calibration_change_words(struct report *r, double change);

/*
 * Returns the change of p99, relative to its value, that as many recordings of both sides find in
 * about 90 % of comparisons; *deviation is the standard deviation between recordings of one side.
 * NaN: unknown.
 */
double calibration_found(const struct difference_series *a, const struct difference_series *b,
			 double *deviation);

#endif
