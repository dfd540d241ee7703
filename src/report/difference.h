/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference between two runs, as every analysis shows it: the quantiles of one distribution in
 * A and B, and whether the difference is more than chance (stats/contrast.h).
 */
#ifndef HOSTLAT_REPORT_DIFFERENCE_H
#define HOSTLAT_REPORT_DIFFERENCE_H

#include "report/report.h"
#include "stats/contrast.h"

#define DIFFERENCE_CONFIDENCE 0.95
/* Expected share of chance findings among the significant differences of one list. */
#define DIFFERENCE_FALSE 0.05

struct difference {
	struct contrast c;
	double adjusted;       /* p corrected for the list's other tests; valid if `c.tested` */
	bool significant;
};

struct quantile_difference {
	double q;
	struct contrast_side a, b;
	/* run B's value less run A's; difference_judge() sets `adjusted` and `significant` */
	struct difference d;
};

/* Computes differences at report.h's quantiles. Returns 0, -EINVAL (schemas differ) or -ENOMEM. */
int difference_quantiles(const struct contrast_run *a, const struct contrast_run *b,
			 struct quantile_difference out[REPORT_QUANTILES]);

/* Sets `adjusted` and `significant` of a list's tested differences. Returns 0 or -ENOMEM. */
int difference_judge(struct difference *const *list, size_t n);

/* Returns a table: q, a_ns, b_ns, difference_ns, lo_ns, hi_ns, p_value ... */
struct value difference_table(struct report *r, const struct quantile_difference *quantiles);

/* Returns the significant difference with the greatest factor; NULL: none. */
const struct quantile_difference *difference_greatest(const struct quantile_difference *quantiles);

/* Returns a difference in words: "p99 fell from 3.1 ms to 61 µs". */
const char *difference_phrase(struct report *r, const struct quantile_difference *quantile);

/* Return fields of a difference; null if they are unknown. Bounds are in ns. */
struct value difference_lo(const struct difference *d);
struct value difference_hi(const struct difference *d);
struct value difference_p(const struct difference *d);
struct value difference_adjusted(const struct difference *d);
struct value difference_significant(const struct difference *d);
/* Returns the interval as text: "-3.1 ms to -2.9 ms"; null if there is none. */
struct value difference_interval(struct report *r, const struct difference *d);

/* Adds the reasons of another report, each after the prefix `which`: "A: ...". */
void difference_add_reasons(struct report *into, const struct report *from, const char *which);

#endif
