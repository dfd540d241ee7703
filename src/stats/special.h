/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distribution functions. All are pure and take O(1) to O(sqrt(df)) steps unless stated otherwise;
 * relative error below 1e-10 where the result is above 1e-290. They return NaN for an argument that
 * is NaN or out of range: the callers' tests refuse such input before.
 *
 * Sources: incomplete beta by Lentz' continued fraction and incomplete gamma by series or continued
 * fraction (Abramowitz and Stegun 26.5.8, 6.5.29, 6.5.31; Thompson and Barnett 1986), normal
 * quantile by Wichura's AS241 (1988), Kolmogorov's limit as in Smirnov (1948).
 */
#ifndef HOSTLAT_STATS_SPECIAL_H
#define HOSTLAT_STATS_SPECIAL_H

#include <stdint.h>

double normal_cdf(double z);
/* Returns P(Z > z), precise in the upper tail. */
double normal_sf(double z);
/* Returns the normal quantile, 0 <= p <= 1; -inf and inf at the ends. */
double normal_quantile(double p);

/* Returns P(X > x) for X ~ Beta(a, b): 1 - I_x(a, b), precise if small. a, b > 0, 0 <= x <= 1. */
double beta_sf(double x, double a, double b);

/* Returns the regularized incomplete gamma function P(a, x); a > 0, x >= 0. */
double gamma_p(double a, double x);

/* Returns P(|T| >= |t|) for Student's t with df > 0 degrees of freedom; df may be infinite. */
double student_two_sided(double t, double df);
/* Returns the quantile of Student's t, 0 <= p <= 1; -inf and inf at the ends. */
double student_quantile(double p, double df);

/* Returns P(X > x) for chi-square with df > 0 degrees of freedom, x >= 0. */
double chi2_sf(double x, double df);

/*
 * Returns P(sqrt(n) D > x) for n -> infinity, D the two-sided Kolmogorov-Smirnov statistic; also
 * the law of a Brownian bridge's greatest absolute value. 1 for x <= 0.
 */
double kolmogorov_sf(double x);

/*
 * Returns P(D >= d) for n observations, n >= 1: by the matrix of Marsaglia, Tsang and Wang (2003),
 * by the expansion of Pelz and Good (1976) for long series, by twice the one-sided probability
 * (Birnbaum and Tingey 1951) in the upper tail; chosen as in Simard and L'Ecuyer (2011). Absolute
 * error below 1e-6. O(n) at most.
 */
double kolmogorov_exact_sf(double d, uint64_t n);

#endif
