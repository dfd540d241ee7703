/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference between A and B, as every analysis shows it: the quantiles of one distribution in
 * A and B, and whether the difference is more than chance. Each side is one recording or several.
 * With one recording on each side, the blocks within it decide (stats/contrast.h): the result holds
 * for these two recordings. With several, the recordings decide (stats/welch.h): it holds for the
 * change that was made.
 */
#ifndef HOSTLAT_REPORT_DIFFERENCE_H
#define HOSTLAT_REPORT_DIFFERENCE_H

#include "report/report.h"
#include "stats/contrast.h"
#include "stats/welch.h"

#define DIFFERENCE_CONFIDENCE 0.95
/* Expected share of chance findings among the significant differences of one list. */
#define DIFFERENCE_FALSE 0.05
/* Least effect: a smaller change, relative to the smaller value, matters to nobody. */
#define DIFFERENCE_LEAST 0.05
/* Recordings of one side, at most. */
#define DIFFERENCE_RECORDINGS_MAX 64

struct difference {
	struct contrast c;
	double adjusted;       /* p corrected for the list's other tests; valid if `c.tested` */
	bool small;            /* below the least effect: never significant */
	bool significant;
};

struct quantile_difference {
	double q;
	struct contrast_side a, b; /* several recordings: the geometric mean, without bounds */
	/* B's value less A's; difference_judge() sets `adjusted` and `significant` */
	struct difference d;
};

/* How many differences all lists of a comparison have together. */
struct difference_tally {
	unsigned int tested, significant;
};

struct difference_series;

/* One distribution in each recording of a side. Histograms are borrowed. */
struct difference_series {
	size_t n;              /* number of recordings */
	struct contrast_run runs[DIFFERENCE_RECORDINGS_MAX];
	struct contrast_side sides[DIFFERENCE_RECORDINGS_MAX][REPORT_QUANTILES];
	int schema;            /* the histograms' */
	/* a recording's quantile with bounds, 0 or -errno; NULL: contrast_side() of its run */
	int (*side)(const struct difference_series *series, size_t recording, double q,
		    struct contrast_side *out);
	bool strict;           /* two recordings are tested only where both have an interval */
};

/*
 * Adds a recording with its quantiles and their intervals. Returns 0, -EINVAL (schemas differ),
 * -E2BIG beyond DIFFERENCE_RECORDINGS_MAX, or -ENOMEM.
 */
int difference_series_add(struct difference_series *series, const struct contrast_run *run);

/* Computes differences at report.h's quantiles. Returns 0, -EINVAL (schemas differ) or -ENOMEM. */
int difference_quantiles(const struct difference_series *a, const struct difference_series *b,
			 struct quantile_difference out[REPORT_QUANTILES]);

/* The same for recording i of `a` and recording k of `b` alone. */
int difference_of_two(const struct difference_series *a, size_t i,
		      const struct difference_series *b, size_t k,
		      struct quantile_difference out[REPORT_QUANTILES]);

/*
 * Returns the standard deviation between the recordings of a quantile's logarithm, at least the
 * error within them; NaN with fewer than 2 recordings that have it. `quantile` is an index.
 */
double difference_series_deviation(const struct difference_series *series, int quantile);

/*
 * Compares means of blocks. Of one recording on each side, contrast_means() does it; of several,
 * each recording's mean is one value. Returns 0 or -errno as contrast_means().
 */
struct difference_blocks {
	const double *blocks;  /* their mean is the recording's value */
	size_t n;              /* number of blocks; 0: the recording has no value */
};

int difference_means(const struct difference_blocks *a, size_t na,
		     const struct difference_blocks *b, size_t nb, struct difference *out);

/*
 * Computes values and the interval of their difference at one quantile, an index of report.h, and
 * not whether it is significant. Returns 0 or -errno as difference_quantiles().
 */
int difference_bounds(const struct difference_series *a, const struct difference_series *b,
		      int quantile, struct quantile_difference *out);

/*
 * Makes a table of both distributions, one over the other: q, a_ns, b_ns, difference_ns, lo_ns,
 * hi_ns for many q, as far out as both sides have values beyond. Returns 0 or -errno as
 * difference_quantiles().
 */
int difference_curve(const struct difference_series *a, const struct difference_series *b,
		     struct report *r, struct value *out);

/* Sets `small` of a difference between two values >= 0, by DIFFERENCE_LEAST. */
void difference_set_small(struct difference *d, double a, double b);

/*
 * Sets `adjusted` and `significant` of a list's tested differences, and adds them to `tally` (may
 * be NULL). Returns 0 or -ENOMEM.
 */
int difference_judge(struct difference *const *list, size_t n, struct difference_tally *tally);

/* The same for one list of quantiles. */
int difference_judge_quantiles(struct quantile_difference quantiles[REPORT_QUANTILES],
			       struct difference_tally *tally);

/* Returns a table: q, a_ns, b_ns, difference_ns, lo_ns, hi_ns, p_value ... */
struct value difference_table(struct report *r, const struct quantile_difference *quantiles);

/* Returns the significant difference with the greatest factor; NULL: none. */
const struct quantile_difference *difference_greatest(const struct quantile_difference *quantiles);

/* Returns a difference in words: "p99 fell from 3.1 ms to 61 µs". */
const char *difference_phrase(struct report *r, const struct quantile_difference *quantile);

/*
 * Adds the findings of a distribution, `of` such as "requests": p99 first, then the other quantiles
 * that differ, the most significant first.
 */
void difference_add_findings(struct report *r, const char *of,
			     const struct quantile_difference *quantiles);

/* Returns whether a difference is more than chance, but below the least effect. */
static inline bool difference_is_too_little(const struct difference *d)
{
	return d->c.tested && d->small && d->adjusted <= DIFFERENCE_FALSE;
}

/* Return fields of a difference; null if they are unknown. Bounds are in ns. */
struct value difference_lo(const struct difference *d);
struct value difference_hi(const struct difference *d);
struct value difference_p(const struct difference *d);
struct value difference_adjusted(const struct difference *d);
struct value difference_significant(const struct difference *d);
/* Why a difference is not significant: "chance", "least-effect", "untested"; null if it is. */
struct value difference_why(const struct difference *d);
/* The same for a table's cell: "yes", "no", "too little"; null if untested. */
struct value difference_differs(const struct difference *d);
/* Returns the interval as text: "-3.1 ms to -2.9 ms"; null if there is none. */
struct value difference_interval(struct report *r, const struct difference *d);

/*
 * Adds the reasons of another report, each after the prefix `which`: "A: ...". A reason that is
 * there already, of another recording of the side, is not repeated.
 */
void difference_add_reasons(struct report *into, const struct report *from, const char *which);

#endif
