/* SPDX-License-Identifier: Apache-2.0 */
/* src/stats where no other implementation can be asked: refusals, choices, laws by simulation. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/rng.h"
#include "brief.h"
#include "stats/dependence.h"
#include "stats/multiple.h"
#include "stats/order_stat.h"
#include "stats/permute.h"
#include "stats/rank.h"
#include "stats/sample.h"
#include "stats/series_test.h"
#include "stats/special.h"
#include "stats/tail.h"
#include "stats/uniformity.h"

#define N 64

static int run_adf(double *y, size_t n)
{
	return adf_test(y, n, &(struct adf){ 0 });
}

static int run_kpss(double *y, size_t n)
{
	return kpss_test(y, n, KPSS_AUTO, &(struct kpss){ 0 });
}

static int run_cusum(double *y, size_t n)
{
	return cusum_test(y, n, &(struct shift){ 0 });
}

static int run_periodic(double *y, size_t n)
{
	return periodic_test(y, n, &(struct periodic){ 0 });
}

static int run_spearman(double *y, size_t n)
{
	return spearman(y, y, n, &(struct spearman){ 0 });
}

static int run_mann_kendall(double *y, size_t n)
{
	return mann_kendall(y, n, 1, &(struct mann_kendall){ 0 });
}

static int run_iat(double *y, size_t n)
{
	return integrated_time(y, n, &(struct iat){ 0 });
}

static int run_bartlett(double *y, size_t n)
{
	return long_run_bartlett(y, n, 0, &(struct long_run){ 0 });
}

static int run_gpd(double *y, size_t n)
{
	return tail_gpd(y, n, 0, &(struct tail){ 0 });
}

static int mean_difference(double *a, size_t na, double *b, size_t nb, void *arg, double *out)
{
	(void)arg;
	*out = sample_mean(b, nb) - sample_mean(a, na);
	return 0;
}

static int run_two_samples(double *y, size_t n)
{
	struct rng rng;

	rng_init(&rng, 1);
	return permute_two_samples(y, n / 2, y + n / 2, n - n / 2, mean_difference, NULL, 10, &rng,
				   &(struct permutation){ 0 });
}

static const struct {
	int (*run)(double *y, size_t n);
	size_t least; /* fewer are -ENODATA */
} refusing[] = {
	{ run_adf, 6 }, { run_kpss, 4 }, { run_cusum, 20 }, { run_periodic, 16 },
	{ run_spearman, 3 }, { run_mann_kendall, 4 }, { run_iat, 4 }, { run_bartlett, 4 },
	{ run_gpd, 10 }, { run_two_samples, 4 },
};

/* Too short, constant or not a number: an error each, and a result for what is none of them. */
static void refusals(void **state)
{
	double y[N], flat[N];
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (size_t i = 0; i < N; i++) {
		y[i] = rng_exponential(&rng, 1);
		flat[i] = 0.1;
	}
	for (size_t i = 0; i < ARRAY_LEN(refusing); i++) {
		double good = y[3];

		for (size_t n = 0; n < refusing[i].least; n++) {
			assert_int_equal(refusing[i].run(y, n), -ENODATA);
			assert_int_equal(refusing[i].run(flat, n), -ENODATA);
		}
		assert_int_equal(refusing[i].run(y, refusing[i].least), 0);
		assert_int_equal(refusing[i].run(y, N), 0);
		assert_int_equal(refusing[i].run(flat, N), -EDOM);
		y[3] = NAN;
		assert_int_equal(refusing[i].run(y, N), -EINVAL);
		y[3] = -INFINITY;
		assert_int_equal(refusing[i].run(y, N), -EINVAL);
		y[3] = good;
	}
}

/* Those for which a constant series has an answer, or that refuse other things. */
static void other_refusals(void **state)
{
	double y[N] = { 0 }, out[N];
	struct theil_sen slope;
	struct uniformity fit;
	size_t cut = 9;

	(void)state;
	assert_int_equal(theil_sen(y, 1, 0.95, &slope), -ENODATA);
	assert_int_equal(theil_sen(y, N, 0.95, &slope), 0);
	assert_true(slope.slope == 0 && slope.lo == 0 && slope.hi == 0);
	assert_int_equal(theil_sen(y, N, 1, &slope), -EINVAL);
	assert_int_equal(mser_cut(y, 19, 5, &cut), -ENODATA);
	assert_int_equal(mser_cut(y, N, 0, &cut), -EINVAL);
	assert_int_equal(mser_cut(y, N, 5, &cut), 0);
	assert_int_equal(cut, 0);
	assert_int_equal(autocorrelation((double[]){ 1, 2 }, 2, 2, out), -EINVAL);
	assert_int_equal(autocorrelation(y, N, 2, out), -EDOM);
	assert_int_equal(uniformity_test(y, 0, &fit), -ENODATA);
	assert_int_equal(uniformity_test(y, 1, &fit), 0);
	assert_true(isfinite(fit.ad) && fit.ks == 1 && fit.ks_p == 0);
	y[1] = 1.5;
	assert_int_equal(uniformity_test(y, 2, &fit), -EINVAL);
	y[1] = NAN;
	assert_int_equal(uniformity_test(y, 2, &fit), -EINVAL);
	assert_int_equal(rank_values(y, 2, out), -EINVAL);
	assert_int_equal(rank_values(y, 0, out), 0);
	assert_int_equal(holm_adjust(y, 2, out), -EINVAL);
}

/* The meaning of the paper's formulas, and its example (USENIX ATC'19, section 2.2). */
static void ranks_of_the_paper(void **state)
{
	struct order_stat_ranks r;

	(void)state;
	assert_int_equal(order_stat_lancet(10000, 0.99, 0.95, &r), 0);
	assert_int_equal(r.lo, 9880);
	assert_int_equal(r.hi, 9921);
	/* p99.99 of 10,000 values is not bounded by them. */
	assert_int_equal(order_stat_lancet(10000, 0.9999, 0.95, &r), 0);
	assert_int_equal(r.hi, 10001);
	assert_int_equal(order_stat_lancet(3, 0.01, 0.95, &r), 0);
	assert_int_equal(r.lo, 0);
}

static void ranks(void **state)
{
	struct order_stat_ranks r, wide;

	(void)state;
	/* 50 values above the quantile are the limit, effective ones. */
	assert_int_equal(order_stat_interval(5000, 0.99, 0.95, ORDER_STAT_BOTH, 1, &r), 0);
	assert_false(r.exact);
	assert_int_equal(order_stat_interval(4900, 0.99, 0.95, ORDER_STAT_BOTH, 1, &r), 0);
	assert_true(r.exact);
	assert_int_equal(order_stat_interval(49000, 0.99, 0.95, ORDER_STAT_BOTH, 10, &r), 0);
	assert_true(r.exact);
	/* Four times the variance is twice the width. */
	assert_int_equal(order_stat_interval(1000000, 0.5, 0.95, ORDER_STAT_BOTH, 1, &r), 0);
	assert_int_equal(order_stat_interval(1000000, 0.5, 0.95, ORDER_STAT_BOTH, 4, &wide), 0);
	assert_true(labs((long)(wide.hi - wide.lo) - 2 * (long)(r.hi - r.lo)) <= 4);
	/* Both laws agree where one takes over from the other. */
	assert_int_equal(order_stat_interval(398, 0.5, 0.95, ORDER_STAT_BOTH, 4, &r), 0);
	assert_int_equal(order_stat_interval(402, 0.5, 0.95, ORDER_STAT_BOTH, 4, &wide), 0);
	assert_true(r.exact && !wide.exact);
	assert_true(labs((long)r.lo + 2 - (long)wide.lo) <= 2);
	assert_true(labs((long)r.hi + 2 - (long)wide.hi) <= 2);
	/* One-sided limits are closer, and leave the other side open. */
	assert_int_equal(order_stat_interval(1000, 0.9, 0.95, ORDER_STAT_BOTH, 1, &wide), 0);
	assert_int_equal(order_stat_interval(1000, 0.9, 0.95, ORDER_STAT_UPPER, 1, &r), 0);
	assert_true(r.lo == 0 && r.hi < wide.hi);
	assert_int_equal(order_stat_interval(1000, 0.9, 0.95, ORDER_STAT_LOWER, 1, &r), 0);
	assert_true(r.hi == 1001 && r.lo > wide.lo);
	/* 459 values without one above bound p99 at 99 %, 458 don't. */
	assert_int_equal(order_stat_interval(459, 0.99, 0.99, ORDER_STAT_UPPER, 1, &r), 0);
	assert_int_equal(r.hi, 459);
	assert_int_equal(order_stat_interval(458, 0.99, 0.99, ORDER_STAT_UPPER, 1, &r), 0);
	assert_int_equal(r.hi, 459);
	assert_int_equal(order_stat_interval(0, 0.99, 0.99, ORDER_STAT_BOTH, 1, &r), -ENODATA);
	assert_int_equal(order_stat_interval(9, 1, 0.99, ORDER_STAT_BOTH, 1, &r), -EINVAL);
	assert_int_equal(order_stat_interval(9, 0.5, NAN, ORDER_STAT_BOTH, 1, &r), -EINVAL);
	assert_int_equal(order_stat_interval(9, 0.5, 0.9, ORDER_STAT_BOTH, 0, &r), -EINVAL);
	assert_true(order_stat_effective(1000, 0.99, 2) > 4.99);
	assert_true(order_stat_effective(1000, 0.01, 2) < 5.01);
}

static void not_a_number(void **state)
{
	(void)state;
	assert_true(isnan(normal_quantile(NAN)) && isnan(normal_quantile(1.1)));
	assert_true(isnan(beta_sf(NAN, 1, 1)) && isnan(beta_sf(0.5, 0, 1)));
	assert_true(isnan(beta_sf(1.5, 1, 1)) && isnan(gamma_p(-1, 1)) && isnan(gamma_p(1, -1)));
	assert_true(isnan(student_two_sided(NAN, 3)) && isnan(student_quantile(0.5, NAN)));
	assert_true(isnan(chi2_sf(-1, 3)));
	assert_true(isnan(kolmogorov_sf(NAN)) && isnan(kolmogorov_exact_sf(0.5, 0)));
	assert_true(isnan(anderson_darling_sf(NAN, 5)));
	assert_true(student_quantile(0, 3) == -INFINITY && student_quantile(0.5, 3) == 0);
	assert_true(fabs(student_quantile(0.975, INFINITY) - 1.9599639845400545) < 1e-12);
	/* its first step is next to the bound between both forms of the fraction */
	assert_true(fabs(student_quantile(0.975, 5.9999999999999956) - 2.446911851) < 1e-8);
	assert_true(fabs(gamma_p(1, 1.5) + chi2_sf(3, 2) - 1) < 1e-15);
}

static double draw_normal(struct rng *rng)
{
	double u;

	do
		u = rng_uniform(rng);
	while (u == 0);
	return normal_quantile(u);
}

/* n values of AR(1), from its stationary law. */
static void draw_ar1(struct rng *rng, double rho, double *y, size_t n)
{
	double last = draw_normal(rng) / sqrt(1 - rho * rho);

	for (size_t i = 0; i < n; i++)
		y[i] = last = rho * last + draw_normal(rng);
}

/* That many of `runs` are chance at this level: within 4 standard deviations. */
static void assert_level(double level, int rejected, int runs)
{
	assert_true(fabs(rejected - level * runs) < 4 * sqrt(level * (1 - level) * runs));
}

/* Few values, for which no other implementation has p of A^2. */
static void anderson_of_few(void **state)
{
	static const double levels[] = { 0.01, 0.05, 0.6 };
	const int runs = brief() ? 5000 : 20000;
	struct uniformity fit;
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	for (size_t n = 2; n <= 50; n = n * 2 + 1) {
		int rejected[3] = { 0 };

		for (int i = 0; i < runs; i++) {
			double u[N];

			for (size_t j = 0; j < n; j++)
				u[j] = rng_uniform(&rng);
			assert_int_equal(uniformity_test(u, n, &fit), 0);
			for (int k = 0; k < 3; k++)
				rejected[k] += fit.ad_p <= levels[k];
		}
		for (int k = 0; k < 3; k++)
			assert_level(levels[k], rejected[k], runs);
	}
}

static void shifts(void **state)
{
	int rejected = 0, found = 0;
	struct shift shift;
	double y[200];
	struct rng rng;

	(void)state;
	rng_init(&rng, 12);
	for (int i = 0; i < 2000; i++) {
		draw_ar1(&rng, 0.3, y, 200);
		assert_int_equal(cusum_test(y, 200, &shift), 0);
		rejected += shift.p < 0.05;
		for (int j = 120; j < 200; j++)
			y[j] += 2;
		assert_int_equal(cusum_test(y, 200, &shift), 0);
		found += shift.p < 0.05 && shift.at > 110 && shift.at < 130;
	}
	assert_true(rejected <= 0.07 * 2000 && rejected >= 0.03 * 2000);
	assert_true(found >= 0.9 * 2000);
	/* Without noise on either side it is as sure as can be. */
	for (int j = 0; j < 200; j++)
		y[j] = j < 70;
	assert_int_equal(cusum_test(y, 200, &shift), 0);
	assert_true(isinf(shift.statistic) && shift.p == 0.0001 && shift.at == 70);
	assert_true(shift.before == 1 && shift.after == 0);
}

/* A stall in one of 20 windows is found although each harmonic is weak. */
static void stalls(void **state)
{
	int rejected = 0, found = 0;
	struct periodic periodic;
	double y[200];
	struct rng rng;

	(void)state;
	rng_init(&rng, 13);
	for (int i = 0; i < 500; i++) {
		draw_ar1(&rng, 0.5, y, 200);
		assert_int_equal(periodic_test(y, 200, &periodic), 0);
		rejected += periodic.p < 0.05;
		draw_ar1(&rng, 0, y, 200);
		for (int j = 7; j < 200; j += 20)
			y[j] += 3.5;
		assert_int_equal(periodic_test(y, 200, &periodic), 0);
		found += periodic.p < 0.05 && fabs(periodic.period - 20) < 0.5;
	}
	assert_true(rejected <= 0.05 * 500);
	assert_true(found >= 0.95 * 500);
}

/* The truth of AR(1): tau = (1 + rho) / (1 - rho), long-run variance 1 / (1 - rho)^2. */
static void dependence(void **state)
{
	enum { LONG = 200000 };
	double *y = malloc(LONG * sizeof(*y));
	struct long_run run;
	struct rng rng;
	struct iat iat;

	(void)state;
	assert_non_null(y);
	rng_init(&rng, 14);
	for (double rho = 0; rho < 1; rho += 0.45) {
		draw_ar1(&rng, rho, y, LONG);
		assert_int_equal(integrated_time(y, LONG, &iat), 0);
		assert_true(fabs(iat.tau * (1 - rho) / (1 + rho) - 1) < 0.1);
		assert_int_equal(long_run_bartlett(y, LONG, 400, &run), 0);
		assert_true(fabs(run.variance * (1 - rho) * (1 - rho) - 1) < 0.15);
	}
	/*
	 * The automatic width is near 1.1447 (16 n / 9)^(1/3) = 81. Its bias is 4 / 3 / 81, and its
	 * standard error sqrt(4 / 3 * 81 / n): 1.6 % and three times 2.3 %.
	 */
	draw_ar1(&rng, 0.5, y, LONG);
	assert_int_equal(long_run_bartlett(y, LONG, 0, &run), 0);
	assert_in_range(run.width, 65, 100);
	assert_true(fabs(run.variance / 4 - 1) < 0.086);
	assert_int_equal(long_run_bartlett(y, 9, 10, &run), -EINVAL);
	free(y);
}

static int always_fails(double *a, size_t na, double *b, size_t nb, void *arg, double *out)
{
	(void)a, (void)na, (void)b, (void)nb, (void)arg, (void)out;
	return -ENOMEM;
}

static void permutations(void **state)
{
	int rejected = 0, rejected_pairs = 0;
	double a[30], b[100];
	struct permutation p;
	struct rng rng;

	(void)state;
	rng_init(&rng, 16);
	for (int i = 0; i < 1000; i++) {
		draw_ar1(&rng, 0, a, 30);
		draw_ar1(&rng, 0, b, 100);
		assert_int_equal(permute_two_samples(a, 30, b, 20, mean_difference, NULL, 199, &rng,
						     &p), 0);
		assert_true(p.p >= 1 / 200.0 && p.p <= 1 && !p.exact);
		rejected += p.p <= 0.05;
		assert_int_equal(permute_pairs(b, 100, 199, &rng, &p), 0);
		assert_false(p.exact);
		rejected_pairs += p.p <= 0.05;
	}
	assert_level(0.05, rejected, 1000);
	assert_level(0.05, rejected_pairs, 1000);
	for (int i = 0; i < 100; i++)
		b[i] += 2;
	assert_int_equal(permute_two_samples(a, 30, b, 20, mean_difference, NULL, 199, &rng, &p),
			 0);
	assert_true(p.p == 1 / 200.0 && p.statistic > 1);
	assert_int_equal(permute_pairs(b, 100, 199, &rng, &p), 0);
	assert_true(p.p == 1 / 200.0);

	assert_int_equal(permute_two_samples(a, 30, b, 20, always_fails, NULL, 9, &rng, &p),
			 -ENOMEM);
	assert_int_equal(permute_two_samples(a, 30, b, 20, mean_difference, NULL, 0, &rng, &p),
			 -EINVAL);
	assert_int_equal(permute_pairs(a, 1, 9, &rng, &p), -ENODATA);
	assert_int_equal(permute_pairs((double[]){ 0, 0 }, 2, 9, &rng, &p), -EDOM);
	assert_int_equal(permute_pairs((double[]){ 1, NAN }, 2, 9, &rng, &p), -EINVAL);
}

/* Hamed and Rao's inflation divides z by its root. */
static void inflated_trend(void **state)
{
	static const double y[] = { 1, 3, 2, 5, 4, 6, 7, 9, 8, 10 };
	struct mann_kendall plain, inflated;

	(void)state;
	assert_int_equal(mann_kendall(y, 10, 1, &plain), 0);
	assert_int_equal(mann_kendall(y, 10, 4, &inflated), 0);
	assert_true(fabs(plain.z - 2 * inflated.z) < 1e-12 && inflated.p > plain.p);
	assert_int_equal(mann_kendall(y, 10, NAN, &inflated), -EINVAL);
	assert_int_equal(mann_kendall(y, 10, 0, &inflated), -EINVAL);
}

/* In a law that is bounded on the right of its data the likelihood grows without end. */
static void no_tail(void **state)
{
	struct tail tail;
	double x[N];

	(void)state;
	for (size_t i = 0; i < N; i++)
		x[i] = i < N / 2 ? 99 + (double)i / N : 100;
	assert_int_equal(tail_gpd(x, N, 0, &tail), -EDOM);
	assert_int_equal(tail_gpd(x, N, 99.9, &tail), -EDOM);
	assert_int_equal(tail_gpd(x, N, 100, &tail), -ENODATA);
	assert_int_equal(tail_gpd(x, N, NAN, &tail), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals),
		cmocka_unit_test(other_refusals),
		cmocka_unit_test(ranks_of_the_paper),
		cmocka_unit_test(ranks),
		cmocka_unit_test(not_a_number),
		cmocka_unit_test(anderson_of_few),
		cmocka_unit_test(shifts),
		cmocka_unit_test(stalls),
		cmocka_unit_test(dependence),
		cmocka_unit_test(permutations),
		cmocka_unit_test(inflated_trend),
		cmocka_unit_test(no_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
