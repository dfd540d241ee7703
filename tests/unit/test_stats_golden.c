/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src/stats against other implementations, to 1e-6: tests/data/stats/golden.txt, and make.py beside
 * it, which says what is compared with what and how the file is made again.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "stats/dependence.h"
#include "stats/multiple.h"
#include "stats/order_stat.h"
#include "stats/permute.h"
#include "stats/rank.h"
#include "stats/series_test.h"
#include "stats/special.h"
#include "stats/tail.h"
#include "stats/uniformity.h"

#define VALUES_MAX 600
#define RESULTS_MAX 16

/* A line of the file: its arguments, the series before it, and what this code gives. */
struct check {
	double a[4];
	double y[VALUES_MAX];
	size_t n;
	double r[RESULTS_MAX];
	size_t line;
};

static int do_special(struct check *c, double value)
{
	c->r[0] = value;
	return 0;
}

static int do_adf(struct check *c)
{
	struct adf t = { 0 };
	int err = adf_test(c->y, c->n, &t);

	c->r[0] = t.statistic, c->r[1] = t.p, c->r[2] = (double)t.lags, c->r[3] = (double)t.used;
	return err;
}

static int do_kpss(struct check *c)
{
	struct kpss t = { 0 };
	int err = kpss_test(c->y, c->n, c->a[0] == 0 ? KPSS_AUTO : KPSS_LEGACY, &t);

	c->r[0] = t.statistic, c->r[1] = t.p, c->r[2] = (double)t.lags;
	assert_true(err || t.bounded == (t.p == 0.1 || t.p == 0.01));
	return err;
}

static int do_spearman(struct check *c)
{
	struct spearman t = { 0 };
	int err = spearman_lag(c->y, c->n, (size_t)c->a[0], &t);

	c->r[0] = t.rho, c->r[1] = t.p;
	return err;
}

static int do_mann_kendall(struct check *c)
{
	struct mann_kendall t = { 0 };
	int err = mann_kendall(c->y, c->n, 1, &t);

	c->r[0] = (double)t.s, c->r[1] = t.tau, c->r[2] = t.variance, c->r[3] = t.z, c->r[4] = t.p;
	return err;
}

static int do_theil_sen(struct check *c)
{
	struct theil_sen t = { 0 };
	int err = theil_sen(c->y, c->n, c->a[0], &t);

	c->r[0] = t.slope, c->r[1] = t.intercept, c->r[2] = t.lo, c->r[3] = t.hi;
	return err;
}

static int do_cusum(struct check *c)
{
	struct shift t = { 0 };
	int err = cusum_test(c->y, c->n, &t);

	c->r[0] = t.statistic, c->r[1] = (double)t.at, c->r[2] = t.before, c->r[3] = t.after;
	return err;
}

static int do_periodic(struct check *c)
{
	struct periodic t = { 0 };
	int err = periodic_test(c->y, c->n, &t);

	c->r[0] = t.p, c->r[1] = t.period, c->r[2] = t.harmonics, c->r[3] = t.share;
	return err;
}

static int do_mser(struct check *c)
{
	size_t cut = 0;
	int err = mser_cut(c->y, c->n, (size_t)c->a[0], &cut);

	c->r[0] = (double)cut;
	return err;
}

static int do_iat(struct check *c)
{
	struct iat t = { 0 };
	int err = integrated_time(c->y, c->n, &t);

	c->r[0] = t.tau, c->r[1] = (double)t.window;
	return err;
}

static int do_acf(struct check *c)
{
	size_t lag = (size_t)c->a[0];
	double r[8] = { 0 };
	int err = autocorrelation(c->y, c->n, lag, r);

	c->r[0] = r[lag];
	return err;
}

static int do_bartlett(struct check *c)
{
	struct long_run t = { 0 };
	int err = long_run_bartlett(c->y, c->n, (size_t)c->a[0], &t);

	c->r[0] = t.variance, c->r[1] = t.df, c->r[2] = (double)t.width;
	return err;
}

static int do_uniform(struct check *c)
{
	struct uniformity t = { 0 };
	int err = uniformity_test(c->y, c->n, &t);

	c->r[0] = t.ad, c->r[1] = t.ks, c->r[2] = t.ks_p, c->r[3] = t.ks_p_limit;
	return err;
}

static int do_holm(struct check *c)
{
	return holm_adjust(c->y, c->n, c->r);
}

static int do_permute_pairs(struct check *c)
{
	struct permutation t = { 0 };
	struct rng rng;
	int err;

	rng_init(&rng, 1);
	err = permute_pairs(c->y, c->n, 5000, &rng, &t);
	assert_true(t.exact);
	c->r[0] = t.statistic, c->r[1] = t.p;
	return err;
}

static int do_order_exact(struct check *c)
{
	struct order_stat_ranks t = { 0 };
	int err = order_stat_interval((uint64_t)c->a[0], c->a[1], c->a[2],
				      (enum order_stat_side)c->a[3], 1, &t);

	assert_true(t.exact);
	c->r[0] = (double)t.lo, c->r[1] = (double)t.hi;
	return err;
}

static int do_gpd(struct check *c)
{
	struct tail t = { 0 };
	int err = tail_gpd(c->y, c->n, c->a[0], &t);

	c->r[0] = t.shape, c->r[1] = t.shape_se, c->r[2] = t.scale, c->r[3] = (double)t.excesses;
	return err;
}

#define SPECIAL(name, ...)                                                                         \
	static int do_##name(struct check *c)                                                      \
	{                                                                                          \
		const double *a = c->a;                                                            \
                                                                                                   \
		return do_special(c, (double)name(__VA_ARGS__));                                   \
	}

SPECIAL(normal_quantile, a[0])
SPECIAL(normal_cdf, a[0])
SPECIAL(beta_sf, a[0], a[1], a[2])
SPECIAL(gamma_p, a[0], a[1])
SPECIAL(chi2_sf, 2 * a[1], 2 * a[0])
SPECIAL(student_two_sided, a[0], a[1])
SPECIAL(student_quantile, a[0], a[1])
SPECIAL(kolmogorov_sf, a[0])
SPECIAL(kolmogorov_exact_sf, a[0], (uint64_t)a[1])
SPECIAL(anderson_darling_sf, a[0], (uint64_t)a[1])

static const struct {
	const char *name;
	int (*run)(struct check *c);
} kinds[] = {
	{ "acf", do_acf }, { "adf", do_adf }, { "anderson_sf", do_anderson_darling_sf },
	{ "bartlett", do_bartlett }, { "beta_sf", do_beta_sf }, { "cusum", do_cusum },
	{ "gamma_p", do_gamma_p }, { "gamma_q", do_chi2_sf }, { "gpd", do_gpd },
	{ "holm", do_holm }, { "iat", do_iat },
	{ "kolmogorov_exact_sf", do_kolmogorov_exact_sf }, { "kolmogorov_sf", do_kolmogorov_sf },
	{ "kpss", do_kpss }, { "mann_kendall", do_mann_kendall }, { "mser", do_mser },
	{ "normal_cdf", do_normal_cdf }, { "normal_quantile", do_normal_quantile },
	{ "order_exact", do_order_exact }, { "periodic", do_periodic },
	{ "permute_pairs", do_permute_pairs }, { "spearman_lag", do_spearman },
	{ "student_quantile", do_student_quantile },
	{ "student_two_sided", do_student_two_sided }, { "theil_sen", do_theil_sen },
	{ "uniform", do_uniform },
};

static int named_error(const char *name)
{
	if (!strcmp(name, "ENODATA"))
		return -ENODATA;
	assert_string_equal(name, "EDOM");
	return -EDOM;
}

/* The numbers at `text`, up to another word; returns how many. */
static size_t numbers(char **text, double *out, size_t max)
{
	char *end;
	size_t n = 0;

	for (;; n++, *text = end) {
		double value = strtod(*text, &end);

		if (end == *text)
			return n;
		assert_true(n < max);
		out[n] = value;
	}
}

static void compare(struct check *c, int (*run)(struct check *c), char *text)
{
	double expected[RESULTS_MAX] = { 0 }, copy[VALUES_MAX];
	size_t n = numbers(&text, expected, RESULTS_MAX);
	int err;

	memcpy(copy, c->y, sizeof(copy));
	err = run(c);
	memcpy(c->y, copy, sizeof(copy)); /* some sort it */
	if (!n) {
		text += strspn(text, " ");
		text[strcspn(text, "\n")] = 0;
		if (err != named_error(text))
			fail_msg("line %zu: %s, not %s", c->line, strerror(-err), text);
		return;
	}
	if (err)
		fail_msg("line %zu: %s", c->line, strerror(-err));
	for (size_t i = 0; i < n; i++) {
		if (fabs(c->r[i] - expected[i]) <= fmax(1e-6 * fabs(expected[i]), 1e-12))
			continue;
		fail_msg("line %zu: result %zu is %.12g, not %.12g", c->line, i + 1, c->r[i],
			 expected[i]);
	}
}

static void one_line(struct check *c, char *line, size_t *done)
{
	char name[64], *text;
	int length = 0;

	assert_int_equal(sscanf(line, "%63s%n", name, &length), 1);
	text = line + length;
	if (!strcmp(name, "y")) {
		c->n = numbers(&text, c->y, VALUES_MAX);
		return;
	}
	numbers(&text, c->a, ARRAY_LEN(c->a));
	text = strchr(text, '=');
	assert_non_null(text);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!strcmp(name, kinds[i].name)) {
			compare(c, kinds[i].run, text + 1);
			done[i]++;
			return;
		}
	}
	fail_msg("nobody knows %s", name);
}

static void golden(void **state)
{
	size_t done[ARRAY_LEN(kinds)] = { 0 }, size = 0, lines = 0;
	char path[4096], *line = NULL;
	struct check check = { 0 };
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/data/stats/golden.txt",
		 getenv("HOSTLAT_SOURCE_ROOT"));
	file = fopen(path, "re");
	assert_non_null(file);
	while (getline(&line, &size, file) > 0) {
		check.line = ++lines;
		one_line(&check, line, done);
	}
	free(line);
	fclose(file);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		assert_true(done[i] >= 4);
	assert_true(lines > 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
