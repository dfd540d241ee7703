/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A confidence interval of a quantile from all samples of a stretch of time, although they depend
 * on each other. docs/design/load-method.md has the derivation; in short:
 *
 *	z_w = #(X <= x in window w) - F n_w           F: share up to x; w = 1..W
 *	L_j = sqrt(2) sum of cos(pi j (w - 1/2) / W) z_w    j = 1..nu
 *	V   = mean of L_j^2                           variance of sum z
 *	D   = V / (n F (1 - F)), at least 1           samples worth one independent sample
 *
 * with equal weights for the nu slowest cosines (Mueller 2007; Lazarus, Lewis, Stock and Watson
 * 2018); the longer dependence lasts, the fewer, down to two, and the wider the bounds. In the
 * tails, D is the largest one at the quantile and where the tail is two and four times as large.
 * The interval is the binomial interval of n / D samples, with D widened by (t / z)^2 for nu
 * degrees of freedom (Woodruff 1952; Korn and Graubard 1998), read off the pooled histogram: from
 * the lower edge of the lower rank's bucket to the upper edge of the upper rank's bucket. D also is
 * at least as large as anywhere between the quantile and the bound.
 *
 * If dependence lasts for a good part of the run, no bounds tell what the server does at other
 * times. Bounds of the run alone take its slow changes as given: V then is the mean of L_j^2 over
 * INTERVAL_COSINES faster cosines, j > INTERVAL_RUN_FIRST.
 *
 * Failed requests have no latency; the interval allows for any latency from 0 to infinity. If a
 * share of the requests may have been delayed by the measuring host, the upper bound stays, since a
 * delay only adds; the lower one is that of a quantile lower by this share.
 */
#ifndef HOSTLAT_LOAD_INTERVAL_H
#define HOSTLAT_LOAD_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "load/series.h"

#define INTERVAL_WINDOWS_MIN 16
#define INTERVAL_WINDOWS_MANY 64 /* from this number on, INTERVAL_COSINES are used */
#define INTERVAL_COSINES 14
#define INTERVAL_COSINES_FEW 8
#define INTERVAL_COSINES_LEAST 2 /* when dependence lasts long */
/* bounds of the run alone: the slowest cosines, with periods of half of it or more, are left out */
#define INTERVAL_RUN_FIRST 4
#define INTERVAL_TAIL 0.05 /* a quantile with at most this share beyond it is in a tail */
#define INTERVAL_STEP 1.5 /* ratio of the tails at which a bound's inflation is measured */
#define INTERVAL_STEPS 32
/*
 * longest autocorrelation time beyond one window that INTERVAL_COSINES tell, as a share of all
 * windows; at least 1 window
 */
#define INTERVAL_DEPENDENCE 0.008

enum interval_why {
	INTERVAL_GOOD,
	INTERVAL_NO_SAMPLES,
	INTERVAL_FEW_EXCEEDANCES, /* a bound lies beyond all samples */
	INTERVAL_FEW_WINDOWS,     /* the run has fewer than INTERVAL_WINDOWS_MIN windows */
	INTERVAL_LONG_DEPENDENCE, /* dependence lasts too long for a run of few windows */
	INTERVAL_FAILURES,        /* a bound may be a failed request */
};

struct interval {
	enum interval_why why;
	bool run_only;         /* the bounds hold for this run, not for the server at other times */
	uint64_t ns;           /* the observed quantile; 0: no samples */
	/* bounds, if `why` is INTERVAL_GOOD; lo_ns 0: delayed requests leave only the upper one */
	uint64_t lo_ns, hi_ns;
	/*
	 * lower bound, of this run, that also holds where there is no upper one, as a bound of a
	 * one-sided interval; 0: none
	 */
	uint64_t least_ns;
	uint64_t own_lo_ns;    /* lower bound if no request was delayed; for judging precision */
	uint64_t count;        /* number of samples */
	double inflation;      /* variance inflation by dependence, >= 1; not widened for df */
	double effective;      /* effective number of samples: count / inflation */
	double exceedances;    /* effective samples in the thinner tail of q */
	double exceedances_needed; /* least such number for which both bounds exist */
	uint64_t needed;       /* number of requests with so many exceedances; 0: unknown */
	double touched;        /* share of the requests that the host may have delayed, 0..1 */
	/* autocorrelation time at the quantile, or at the median if that decides; in windows */
	double tau;
	double longest;        /* the longest tau that a series of this length can tell */
	double df;             /* degrees of freedom; 0: dependence was not measured */
};

/* Windows [from, to) of a series, and their pooled histogram. */
struct interval_range {
	const struct series *series;
	uint32_t from, to;
	enum load_from which;
	const struct hist *pooled; /* histogram of latency `which` over the windows */
	uint64_t failed;           /* requests without a latency */
	double touched;            /* share of the requests that the host may have delayed, 0..1 */
};

/* Computes the interval of quantile q; 0 < q, confidence < 1. Returns 0 (see `why`) or -ENOMEM. */
int interval_of(const struct interval_range *range, double q, double confidence,
		struct interval *out);

/*
 * Computes an interval by another method, as a check: Student's t over the quantiles of `batches`
 * batches of equal length. Returns 0, -ENODATA (an empty batch, or fewer than 2) or -ENOMEM.
 */
int interval_by_batches(const struct interval_range *range, double q, double confidence,
			uint32_t batches, uint64_t *lo_ns, uint64_t *hi_ns);

/* Returns whether dependence could be measured, so that `inflation` and later members are valid. */
static inline bool interval_measured(const struct interval *interval)
{
	return interval->df > 0;
}

/*
 * Returns the width of the interval as a share of the estimate, without what delays by the host may
 * explain; NaN without an interval.
 */
double interval_share(const struct interval *interval);

/*
 * Returns the relative change of the quantile that a result tolerates: the relative width of the
 * interval, but at least 5 %; 25 % without an interval.
 */
double interval_effect(const struct interval *interval);

/* Returns the number of samples up to the upper edge of `ns`'s bucket; schema: LOAD_SCHEMA. */
uint64_t interval_at_most(const struct hist *hist, uint64_t ns);

#endif
