/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each distribution against what it says of itself (Kolmogorov and Smirnov, chi-square, the mean)
 * and against values that follow from its definition by another way.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/rng.h"
#include "brief.h"
#include "load/dist.h"
#include "stats/special.h"

#define DRAWS 100000

static struct dist parsed(const char *text, enum dist_unit unit)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct dist d;

	if (dist_parse(text, unit, &d, &why))
		fail_msg("%s: %s", text, strbuf_str(&why));
	assert_int_equal(why.len, 0);
	strbuf_release(&why);
	return d;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * The largest distance between what was drawn and the CDF: sqrt(n) times it is above 2.23 with
 * probability 1e-4. At ties only the last one counts, so that atoms are judged as well.
 */
static double distance(const struct dist *d, uint64_t seed, double *mean)
{
	double *x = malloc(DRAWS * sizeof(*x)), worst = 0;
	struct rng rng;

	assert_non_null(x);
	rng_init(&rng, seed);
	*mean = 0;
	for (int i = 0; i < DRAWS; i++) {
		x[i] = dist_draw(d, &rng);
		assert_true(x[i] >= 0 && x[i] <= DIST_LARGEST);
		*mean += x[i] / DRAWS;
	}
	qsort(x, DRAWS, sizeof(*x), compare);
	for (int i = 0; i < DRAWS; i++) {
		if (i + 1 == DRAWS || x[i + 1] > x[i])
			worst = fmax(worst, fabs(dist_cdf(d, x[i]) - (i + 1.0) / DRAWS));
	}
	free(x);
	return worst * sqrt(DRAWS);
}

/* The mean of a generalised extreme value, not cut at 0: 0 < shape < 1. */
static double gev_mean(double location, double scale, double shape)
{
	return location + scale * (tgamma(1 - shape) - 1) / shape;
}

/* The same, cut at 0: -log F is exponential, and `rest` is its value at 0. */
static double gev_cut_mean(double location, double scale, double shape)
{
	double rest = pow(1 - shape * location / scale, -1 / shape);

	return (location - scale / shape) * -expm1(-rest) +
	       scale / shape * tgamma(1 - shape) * gamma_p(1 - shape, rest);
}

/* Values below 0 count as 0. */
static double normal_cut_mean(double mean, double deviation)
{
	double z = mean / deviation;

	return mean * erfc(-z / M_SQRT2) / 2 + deviation * exp(-z * z / 2) / sqrt(2 * M_PI);
}

static void test_draws_follow_the_law(void **state)
{
	const struct {
		const char *text;
		enum dist_unit unit;
		double mean, tolerance; /* five standard errors or, in heavy tails, so */
	} rows[] = {
		{ "fixed:50us", DIST_UNIT_NS, 50e3, 1e-9 },
		{ "uniform:10us:90us", DIST_UNIT_NS, 50e3, 0.008 },
		{ "exponential:50us", DIST_UNIT_NS, 50e3, 0.016 },
		{ "lognormal:50us:2", DIST_UNIT_NS, 50e3, 0.035 },
		{ "lognormal:50us:0.3", DIST_UNIT_NS, 50e3, 0.005 },
		{ "gamma:50us:2", DIST_UNIT_NS, 50e3, 0.012 },
		{ "gamma:50us:0.25", DIST_UNIT_NS, 50e3, 0.032 },
		{ "gamma:50us:40", DIST_UNIT_NS, 50e3, 0.003 },
		{ "pareto:0:100:0.2", DIST_UNIT_BYTES, 100 / 0.8, 0.025 },
		{ "pareto:15:214.476:0.348238", DIST_UNIT_BYTES, 15 + 214.476 / 0.651762, 0.035 },
		{ "pareto:5:100:0", DIST_UNIT_BYTES, 105, 0.016 },
		{ "gev:30.7984:8.20449:0.078688", DIST_UNIT_BYTES,
		  gev_mean(30.7984, 8.20449, 0.078688), 0.006 },
		{ "gev:10:8:0.4", DIST_UNIT_BYTES, gev_cut_mean(10, 8, 0.4), 0.03 },
		{ "bimodal:0.9:10us:100us", DIST_UNIT_NS, 19e3, 0.025 },
		{ "normal:200:20", DIST_UNIT_BYTES, 200, 0.002 },
		{ "normal:10:20", DIST_UNIT_BYTES, normal_cut_mean(10, 20), 0.02 },
		/* 2.298 bytes of the head, and the tail's mean for 55.845 %. */
		{ "etc", DIST_UNIT_BYTES, 2.298 + 0.55845 * (15 + 214.476 / 0.651762), 0.06 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dist d = parsed(rows[i].text, rows[i].unit);
		double mean, far = distance(&d, i + 1, &mean);

		if (far > 2.23)
			fail_msg("%s: %g from its CDF", rows[i].text, far);
		if (fabs(mean / rows[i].mean - 1) > rows[i].tolerance)
			fail_msg("%s: mean %g, drawn %g", rows[i].text, rows[i].mean, mean);
	}
}

/* Control: the same check detects a generator that is 3 % off. */
static void test_control_distance_detects_3_percent(void **state)
{
	struct dist drawn = parsed("exponential:103us", DIST_UNIT_NS);
	struct dist said = parsed("exponential:100us", DIST_UNIT_NS);
	struct rng rng;
	double below = 0;

	(void)state;
	rng_init(&rng, 5);
	for (int i = 0; i < DRAWS; i++)
		below += dist_draw(&drawn, &rng) <= said.a;
	assert_true(fabs(below / DRAWS - dist_cdf(&said, said.a)) * sqrt(DRAWS) > 2.23);
}

/* Closed forms: Erlang's, the error function's table, the law's own inverse. */
static void test_cdf_matches_closed_forms(void **state)
{
	struct dist erlang = parsed("gamma:3:3", DIST_UNIT_PLAIN);
	struct dist large = parsed("gamma:40:40", DIST_UNIT_PLAIN);
	struct dist normal = parsed("normal:10:2", DIST_UNIT_PLAIN);
	struct dist log_normal = parsed("lognormal:1:1.3108324944", DIST_UNIT_PLAIN);
	double sum = 0, term = exp(-45);

	(void)state;
	for (double x = 0.25; x < 20; x += 0.5)
		assert_true(fabs(dist_cdf(&erlang, x) - (1 - exp(-x) * (1 + x + x * x / 2))) <
			    1e-14);
	for (int k = 0; k < 40; term *= 45.0 / ++k)
		sum += term;
	assert_true(fabs(dist_cdf(&large, 45) - (1 - sum)) < 1e-13);
	assert_true(fabs(dist_cdf(&normal, 10 + 2 * 1.959963984540054) - 0.975) < 1e-14);
	assert_true(dist_cdf(&normal, 0) > 0); /* the truncated part lies at 0 */
	assert_true(dist_cdf(&normal, -1e-9) == 0);
	/* A CV of sqrt(e - 1) is a logarithm of deviation 1: the median is exp(-1/2). */
	assert_true(fabs(dist_cdf(&log_normal, exp(-0.5)) - 0.5) < 1e-9);
	assert_true(isnan(dist_cdf(&normal, NAN)));
}

/* Cells of single ranks, then of ranges that double; the expected count is the plain sum's. */
static void zipf_chi_square(double exponent, uint64_t n, uint64_t seed)
{
	struct dist d = { .kind = DIST_KIND_ZIPF, .a = exponent };
	double sum = 0, chi2 = 0, cells = 0, mean = 0, squares = 0, drawn = 0;
	uint64_t counts[64] = { 0 };
	struct rng rng;

	dist_bind_n(&d, n);
	rng_init(&rng, seed);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t rank = (uint64_t)dist_draw(&d, &rng);

		assert_true(rank < n);
		drawn += (double)rank / DRAWS;
		counts[63 - __builtin_clzll(rank + 1)]++;
	}
	for (uint64_t k = 1; k <= n; k++) {
		double rank = (double)k - 1, weight = pow((double)k, -exponent);

		sum += weight;
		mean += weight * rank;
		squares += weight * rank * rank;
	}
	mean /= sum;
	/* Five standard errors. */
	if (fabs(drawn - mean) > 5 * sqrt((squares / sum - mean * mean) / DRAWS))
		fail_msg("zipf %g of %lu: mean %g, drawn %g", exponent, (unsigned long)n, mean,
			 drawn);
	for (uint64_t low = 1, cell = 0; low <= n; low *= 2, cell++) {
		double expected = 0;

		for (uint64_t k = low; k < 2 * low && k <= n; k++)
			expected += pow((double)k, -exponent);
		expected *= DRAWS / sum;
		assert_true(fabs(dist_cdf(&d, (double)(2 * low - 2)) -
				 dist_cdf(&d, (double)low - 2) - expected / DRAWS) < 1e-10);
		if (expected < 5)
			continue;
		chi2 += pow((double)counts[cell] - expected, 2) / expected;
		cells++;
	}
	/* Wilson and Hilferty's bound at about 1e-4. */
	if (cells > 1 && chi2 > cells * pow(1 - 2 / (9 * cells) + 3.72 * sqrt(2 / (9 * cells)), 3))
		fail_msg("zipf %g of %lu: chi-square %g", exponent, (unsigned long)n, chi2);
}

static void test_zipf(void **state)
{
	static const double exponents[] = { 0, 0.5, 0.99, 1, 1.0000001, 1.3, 3 };
	const uint64_t sizes[] = { 1, 2, 3, 100, brief() ? 100000 : 1000000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(exponents); i++) {
		for (size_t j = 0; j < ARRAY_LEN(sizes); j++)
			zipf_chi_square(exponents[i], sizes[j], i * 10 + j);
	}
}

/* The first ranks one by one, of a set too large to be summed in a test. */
static void test_zipf_large(void **state)
{
	struct dist d = { .kind = DIST_KIND_ZIPF, .a = 1 };
	const double n = 1e9, sum = log(n) + 0.57721566490153286 + 1 / (2 * n);
	uint64_t counts[20] = { 0 };
	double chi2 = 0;
	struct rng rng;

	(void)state;
	dist_bind_n(&d, 1000000000);
	rng_init(&rng, 11);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t rank = (uint64_t)dist_draw(&d, &rng);

		assert_true(rank < 1000000000);
		if (rank < 20)
			counts[rank]++;
	}
	for (int k = 0; k < 20; k++) {
		double expected = DRAWS / sum / (k + 1);

		chi2 += pow((double)counts[k] - expected, 2) / expected;
	}
	assert_true(fabs(dist_cdf(&d, 0) * sum - 1) < 1e-12);
	assert_true(chi2 < 52.4); /* 20 degrees of freedom, 1e-4 */
}

static void test_parse(void **state)
{
	struct dist d = parsed("bimodal:90%:1.5us:2ms", DIST_UNIT_NS);

	(void)state;
	assert_true(d.kind == DIST_KIND_BIMODAL && d.a == 0.9 && d.b == 1500 && d.c == 2e6);
	d = parsed("0", DIST_UNIT_NS);
	assert_true(d.kind == DIST_KIND_FIXED && d.a == 0);
	d = parsed("exponential:0.5ns", DIST_UNIT_NS);
	assert_true(d.a == 0.5);
	d = parsed("4K", DIST_UNIT_BYTES);
	assert_true(d.kind == DIST_KIND_FIXED && d.a == 4096);
	d = parsed("zipf:0.99", DIST_UNIT_PLAIN);
	assert_true(d.kind == DIST_KIND_ZIPF && d.a == 0.99);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text;
		enum dist_unit unit;
		const char *said;
	} rows[] = {
		{ "", DIST_UNIT_NS, "use VALUE, fixed:VALUE, uniform:FROM:TO" },
		{ "50", DIST_UNIT_NS, "(ns, us, ms" },
		{ "exponental:5us", DIST_UNIT_NS, "did you mean exponential?" },
		{ "exponential", DIST_UNIT_NS, "use exponential:MEAN" },
		{ "exponential:5us:2", DIST_UNIT_NS, "use exponential:MEAN" },
		{ "exponential:0ns", DIST_UNIT_NS, "use exponential:MEAN" },
		{ "exponential:-5us", DIST_UNIT_NS, "use exponential:MEAN" },
		{ "exponential:1e3us", DIST_UNIT_NS, "use exponential:MEAN" },
		{ "exponential:1.2.3us", DIST_UNIT_NS, "use exponential:MEAN" },
		{ "exponential:.us", DIST_UNIT_NS, "use exponential:MEAN" },
		{ "exponential:999999999d", DIST_UNIT_NS, "use exponential:MEAN" },
		{ "uniform:9us:1us", DIST_UNIT_NS, "use uniform:FROM:TO" },
		{ "lognormal:9us:0", DIST_UNIT_NS, "a shape or CV is from 0.001 to 1000" },
		{ "bimodal:1.5:1us:2us", DIST_UNIT_NS, "use bimodal:SHARE:VALUE:OTHER" },
		{ "zipf:1", DIST_UNIT_BYTES, "use VALUE" },
		{ "etc", DIST_UNIT_NS, "use VALUE" },
		{ "zipf:11", DIST_UNIT_PLAIN, "use zipf:EXPONENT" },
	};
	struct strbuf why = STRBUF_INIT(4096);
	char text[1000];
	struct dist d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		strbuf_reset(&why);
		assert_int_equal(dist_parse(rows[i].text, rows[i].unit, &d, &why), -22);
		if (!strstr(strbuf_str(&why), rows[i].said))
			fail_msg("'%s': %s", rows[i].text, strbuf_str(&why));
	}
	memset(text, '9', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(dist_parse(text, DIST_UNIT_NS, &d, &why), -22);
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_draws_follow_the_law),
		cmocka_unit_test(test_control_distance_detects_3_percent),
		cmocka_unit_test(test_cdf_matches_closed_forms),
		cmocka_unit_test(test_zipf),
		cmocka_unit_test(test_zipf_large),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
