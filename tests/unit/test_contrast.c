/* SPDX-License-Identifier: Apache-2.0 */
/* How two runs differ: false alarms and coverage over many seeds, and what must be found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "base/rng.h"
#include "binomial.h"
#include "brief.h"
#include "stats/contrast.h"
#include "stats/multiple.h"
#include "stats/permute.h"
#include "stats/sample.h"
#include "stats/special.h"

#define BLOCKS 64
#define PER_BLOCK 500
#define CONFIDENCE 0.95

static unsigned int trials(void)
{
	return brief() ? 10 : 150;
}

/* ---- means ---- */

static double normal(struct rng *rng)
{
	return normal_quantile((double)(rng_below(rng, 1u << 30) * 2 + 1) / 0x1p31);
}

/* Blocks of mean 1: each remembers `memory` of the one before; `skew` makes few of them large. */
static void make_blocks(double *x, size_t n, double memory, double skew, struct rng *rng)
{
	double state = normal(rng);

	for (size_t i = 0; i < n; i++) {
		state = memory * state + sqrt(1 - memory * memory) * normal(rng);
		x[i] = exp(skew * state - skew * skew / 2);
	}
}

struct tally {
	unsigned int n, alarms, missed, unknown;
};

static struct tally play_means(size_t na, size_t nb, double memory, double skew, double times)
{
	struct tally tally = { .n = trials() };
	double a[BLOCKS], b[BLOCKS];
	struct contrast c;
	struct rng rng;

	for (unsigned int i = 0; i < tally.n; i++) {
		rng_init(&rng, rng_derive(7, i));
		make_blocks(a, na, memory, skew, &rng);
		make_blocks(b, nb, memory, skew, &rng);
		for (size_t k = 0; k < nb; k++)
			b[k] *= times;
		assert_int_equal(contrast_means(a, na, b, nb, CONFIDENCE, &c), 0);
		assert_int_equal(c.bounded, c.tested);
		tally.unknown += !c.tested;
		tally.alarms += c.tested && c.p <= 0.05;
		tally.missed += c.bounded && (c.lo > times - 1 || c.hi < times - 1);
	}
	return tally;
}

static void say(const char *what, const struct tally *t)
{
	print_message("%s: of %u, p <= 5 %% %u, interval misses %u, unknown %u\n", what, t->n,
		      t->alarms, t->missed, t->unknown);
}

static void test_no_difference(void **state)
{
	static const struct {
		const char *name;
		size_t na, nb;
		double memory, skew, alarms, missed;
	} laws[] = {
		{ "independent", 64, 64, 0, 0.5, 0.05, 0.07 },
		{ "of unlike length", 64, 20, 0, 0.5, 0.06, 0.09 },
		{ "few", 10, 10, 0, 0.5, 0.05, 0.09 },
		{ "skewed", 64, 64, 0, 1.5, 0.05, 0.10 },
		{ "correlated", 64, 64, 0.5, 0.5, 0.09, 0.11 },
		{ "much correlated", 64, 64, 0.8, 0.5, 0.13, 0.15 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(laws) / sizeof(laws[0]); i++) {
		struct tally t = play_means(laws[i].na, laws[i].nb, laws[i].memory, laws[i].skew,
					    1);

		say(laws[i].name, &t);
		assert_true(t.alarms <= at_most(t.n, laws[i].alarms));
		assert_true(t.missed <= at_most(t.n, laws[i].missed));
	}
}

static int mean_difference(double *a, size_t na, double *b, size_t nb, void *arg, double *out)
{
	(void)arg;
	*out = sample_mean(b, nb) - sample_mean(a, na);
	return 0;
}

/* Negative control: without joining, the same blocks raise far too many alarms. */
static void test_control_correlated(void **state)
{
	unsigned int alarms = 0, n = trials();
	double a[BLOCKS], b[BLOCKS];
	struct permutation p;
	struct rng rng, draws;

	(void)state;
	for (unsigned int i = 0; i < n; i++) {
		rng_init(&rng, rng_derive(7, i));
		rng_init(&draws, i);
		make_blocks(a, BLOCKS, 0.8, 0.5, &rng);
		make_blocks(b, BLOCKS, 0.8, 0.5, &rng);
		assert_int_equal(permute_two_samples(a, BLOCKS, b, BLOCKS, mean_difference, NULL,
						     999, &draws, &p), 0);
		alarms += p.p <= 0.05;
	}
	print_message("control: %u of %u\n", alarms, n);
	assert_true(alarms > at_most(n, 0.13));
}

static void test_difference(void **state)
{
	struct tally t = play_means(64, 64, 0, 0.5, 1.5);

	(void)state;
	say("half as much again", &t);
	assert_true(t.alarms >= t.n - at_most(t.n, 0.05));
	assert_true(t.missed <= at_most(t.n, 0.07));
	t = play_means(64, 64, 0.5, 0.5, 2);
	say("twice as much, correlated", &t);
	assert_true(t.alarms + t.unknown >= t.n - at_most(t.n, 0.10));
}

static void test_edge_cases(void **state)
{
	double a[BLOCKS] = { 0 }, b[BLOCKS] = { 0 };
	struct contrast c;

	(void)state;
	assert_int_equal(contrast_means(a, 64, b, 64, CONFIDENCE, &c), 0);
	assert_true(c.tested && c.p == 1 && c.bounded && c.lo == 0 && c.hi == 0);
	/* One block alone, however great, may be chance. */
	b[5] = 1e9;
	assert_int_equal(contrast_means(a, 64, b, 64, CONFIDENCE, &c), 0);
	assert_true(c.p > 0.3 && c.lo == 0 && c.hi > 1e7);
	/* Always there, and never there. */
	for (int i = 0; i < BLOCKS; i++)
		b[i] = 1000 + i % 7;
	assert_int_equal(contrast_means(a, 64, b, 64, CONFIDENCE, &c), 0);
	assert_true(c.p < 0.001 && c.lo > 990 && c.hi < 1010);
	assert_int_equal(contrast_means(a, 9, b, 64, CONFIDENCE, &c), 0);
	assert_true(!c.tested && !c.bounded);
	/* One step, as if two set-ups had been recorded in one run. */
	for (int i = 0; i < BLOCKS; i++)
		b[i] = i < 40 ? 0 : 1000;
	assert_int_equal(contrast_means(a, 64, b, 64, CONFIDENCE, &c), 0);
	assert_true(!c.tested && !c.bounded);
	b[3] = NAN;
	assert_int_equal(contrast_means(a, 64, b, 64, CONFIDENCE, &c), -EINVAL);
	assert_int_equal(contrast_means(a, 64, a, 64, 1, &c), -EINVAL);
}

/* ---- quantiles ---- */

/* Waiting times in a queue (Lindley 1952) at 50 % load: neighbours depend on each other. */
struct values {
	struct hist hists[BLOCKS];
	const struct hist *blocks[BLOCKS];
	struct contrast_run run;
};

static void make_values(struct values *v, double times, struct rng *rng)
{
	double wait = rng_uniform(rng) < 0.5 ? rng_exponential(rng, 1e5 / 0.5) : 0;

	for (int i = 0; i < BLOCKS; i++) {
		hist_init(&v->hists[i], BUCKET_SCHEMA_MAX);
		v->blocks[i] = &v->hists[i];
		for (int k = 0; k < PER_BLOCK; k++) {
			const double service = rng_exponential(rng, 1e5);
			const uint64_t ns = (uint64_t)((wait + service) * times);

			assert_int_equal(hist_record(&v->hists[i], ns), 0);
			wait = fmax(0, wait + service - rng_exponential(rng, 1e5 / 0.5));
		}
	}
	v->run = (struct contrast_run){ v->blocks, BLOCKS };
}

static void release_values(struct values *v)
{
	for (int i = 0; i < BLOCKS; i++)
		hist_release(&v->hists[i]);
}

/* The same with values as if independent: their textbook interval. */
static bool naive_misses(const struct values *a, const struct values *b, double q)
{
	struct contrast_side sides[2];
	const struct values *values[2] = { a, b };
	struct contrast c;

	for (int s = 0; s < 2; s++) {
		struct hist_quantile found;
		struct hist pooled;
		double n, half;

		hist_init(&pooled, BUCKET_SCHEMA_MAX);
		for (int i = 0; i < BLOCKS; i++)
			assert_int_equal(hist_merge(&pooled, &values[s]->hists[i]), 0);
		n = (double)pooled.count;
		half = 1.96 * sqrt(q * (1 - q) / n);
		sides[s].bounded = true;
		assert_int_equal(hist_quantile(&pooled, q, &found), 0);
		sides[s].ns = found.value;
		assert_int_equal(hist_quantile(&pooled, q - half, &found), 0);
		sides[s].lo_ns = found.lo;
		assert_int_equal(hist_quantile(&pooled, q + half, &found), 0);
		sides[s].hi_ns = found.hi;
		hist_release(&pooled);
	}
	contrast_sides(&sides[0], &sides[1], &c);
	return c.lo > 0 || c.hi < 0;
}

struct played {
	struct tally tally;
	unsigned int naive;
};

/* The true quantile of the sojourn time is exponential with mean 1e5 / 0.5. */
static struct played play_quantiles(double q, double times)
{
	const double truth = -log(1 - q) * 1e5 / 0.5 * (times - 1);
	struct played played = { .tally.n = brief() ? 3 : 60 };
	struct contrast_side side_a, side_b;
	static struct values a, b;
	struct contrast c;
	struct rng rng;

	for (unsigned int i = 0; i < played.tally.n; i++) {
		rng_init(&rng, rng_derive(11, i));
		make_values(&a, 1, &rng);
		make_values(&b, times, &rng);
		assert_int_equal(contrast_side(&a.run, q, CONFIDENCE, &side_a), 0);
		assert_int_equal(contrast_side(&b.run, q, CONFIDENCE, &side_b), 0);
		contrast_sides(&side_a, &side_b, &c);
		assert_int_equal(contrast_shares(&a.run, &b.run, q, &c), 0);
		played.tally.unknown += !c.bounded;
		played.tally.alarms += c.tested && c.p <= 0.05;
		played.tally.missed += c.bounded && (c.lo > truth || c.hi < truth);
		played.naive += times == 1 && naive_misses(&a, &b, q);
		release_values(&a);
		release_values(&b);
	}
	return played;
}

static void test_quantiles(void **state)
{
	static const double qs[] = { 0.5, 0.99 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct played p = play_quantiles(qs[i], 1);
		const unsigned int bad = at_most(p.tally.n, 0.07);

		say(i ? "p99" : "p50", &p.tally);
		print_message("control: %u\n", p.naive);
		assert_true(p.tally.alarms <= bad && p.tally.missed <= bad);
		assert_true(p.naive > bad || p.tally.n < 50);
		assert_true(p.tally.unknown <= p.tally.n / 4);
		p = play_quantiles(qs[i], 2);
		say("twice as much", &p.tally);
		assert_true(p.tally.alarms >= p.tally.n - at_most(p.tally.n, 0.05));
		assert_true(p.tally.missed <= bad);
	}
}

/* A bucket holds nearly all values: its share says nothing about the quantile in it. */
static void test_quantile_in_a_heap(void **state)
{
	static struct values v[2];
	struct contrast c = { 0 };

	(void)state;
	for (int s = 0; s < 2; s++) {
		for (int i = 0; i < BLOCKS; i++) {
			const uint64_t slow = (uint64_t)(s ? 13 : 40) + (uint64_t)(i % 5);

			hist_init(&v[s].hists[i], 3);
			v[s].blocks[i] = &v[s].hists[i];
			assert_int_equal(hist_record_n(&v[s].hists[i], 4400, 1000 - slow), 0);
			assert_int_equal(hist_record_n(&v[s].hists[i], 3000000, slow), 0);
		}
		v[s].run = (struct contrast_run){ v[s].blocks, BLOCKS };
	}
	assert_int_equal(contrast_shares(&v[0].run, &v[1].run, 0.9, &c), 0);
	assert_true(c.tested && c.p == 1);
	/* The control: at 97 % the one has the fast value, the other the slow one. */
	assert_int_equal(contrast_shares(&v[0].run, &v[1].run, 0.97, &c), 0);
	assert_true(c.tested && c.p < 0.001);
	release_values(&v[0]);
	release_values(&v[1]);
}

static void test_quantile_edges(void **state)
{
	struct contrast_run none = { 0 };
	struct contrast c = { .tested = true };
	struct contrast_side side;
	static struct values a;
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	make_values(&a, 1, &rng);
	assert_int_equal(contrast_side(&none, 0.5, CONFIDENCE, &side), 0);
	assert_true(!side.known && !side.bounded);
	assert_int_equal(contrast_shares(&none, &a.run, 0.5, &c), 0);
	assert_false(c.tested);
	assert_int_equal(contrast_side(&a.run, 0.9999, CONFIDENCE, &side), 0);
	assert_true(side.known && !side.bounded); /* 3 values are beyond it */
	a.run.n = CONTRAST_BLOCKS_MIN - 1;
	assert_int_equal(contrast_side(&a.run, 0.5, CONFIDENCE, &side), 0);
	assert_true(side.known && !side.bounded);
	a.run.n = BLOCKS;
	assert_int_equal(contrast_side(&a.run, 1, CONFIDENCE, &side), -EINVAL);
	hist_reset(&a.hists[3]);
	assert_int_equal(hist_downscale(&a.hists[3], 3), 0);
	assert_int_equal(contrast_side(&a.run, 0.5, CONFIDENCE, &side), -EINVAL);
	release_values(&a);
}

/* ---- several ---- */

static void test_fdr(void **state)
{
	/* statsmodels' multipletests(method='fdr_bh') */
	static const double p[] = { 0.01, 0.04, 0.03, 0.005, 0.5 };
	static const double want[] = { 0.025, 0.05, 0.05, 0.025, 0.5 };
	double out[5], bad = 1.5;

	(void)state;
	assert_int_equal(fdr_adjust(p, 5, out), 0);
	for (int i = 0; i < 5; i++)
		assert_true(fabs(out[i] - want[i]) < 1e-12);
	assert_int_equal(fdr_adjust(p, 0, out), 0);
	assert_int_equal(fdr_adjust(&bad, 1, out), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_difference),
		cmocka_unit_test(test_control_correlated),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_edge_cases),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_quantile_in_a_heap),
		cmocka_unit_test(test_quantile_edges),
		cmocka_unit_test(test_fdr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
