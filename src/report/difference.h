/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How two runs differ, as every analysis shows it: the quantiles of one distribution in A and B,
 * and whether a difference is more than chance (stats/contrast.h).
 */
#ifndef HOSTLAT_REPORT_DIFFERENCE_H
#define HOSTLAT_REPORT_DIFFERENCE_H

#include "report/report.h"
#include "stats/contrast.h"

#define DIFFERENCE_CONFIDENCE 0.95
/* Expected share of chance findings among those called significant in one list. */
#define DIFFERENCE_FALSE 0.05

struct difference {
	struct contrast c;
	double adjusted;       /* corrected p of all differences in the list; if c.tested */
	bool significant;
};

struct quantile_difference {
	double q;
	struct contrast_side a, b;
	struct difference d;   /* not yet judged */
};

/* At the quantiles of reports. 0, -EINVAL (schemas differ) or -ENOMEM. */
int difference_quantiles(const struct contrast_run *a, const struct contrast_run *b,
			 struct quantile_difference out[REPORT_QUANTILES]);

/* A list of differences that are tested together; untested ones are left out. */
int difference_judge(struct difference *const *list, size_t n);

/* Makes a table: q, a_ns, b_ns, difference_ns, lo_ns, hi_ns, p_value ... */
struct value difference_table(struct report *r, const struct quantile_difference *quantiles);

/* Returns the significant difference with the greatest factor; NULL: none. */
const struct quantile_difference *difference_greatest(const struct quantile_difference *quantiles);

/* "p99 fell from 3.1 ms to 61 µs" */
const char *difference_phrase(struct report *r, const struct quantile_difference *quantile);

/* Bounds of the interval of any difference in ns. */
struct value difference_lo(const struct difference *d);
struct value difference_hi(const struct difference *d);
struct value difference_p(const struct difference *d);
struct value difference_adjusted(const struct difference *d);
struct value difference_significant(const struct difference *d);
/* "-3.1 ms to -2.9 ms", for people; null if there is no interval. */
struct value difference_interval(struct report *r, const struct difference *d);

/* Adds the reasons of another report, prefixed by `which`: "A: ...". */
void difference_add_reasons(struct report *into, const struct report *from, const char *which);

#endif
