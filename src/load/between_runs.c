/* SPDX-License-Identifier: Apache-2.0 */
#include "load/between_runs.h"

#include <errno.h>
#include <math.h>

#include "stats/permute.h"
#include "stats/special.h"

#define PERMUTATIONS 20000

struct moments {
	size_t n;
	double mean, variance; /* mean of the values; unbiased estimate of their variance */
};

static struct moments between_runs_moments(const double *x, size_t n)
{
	struct moments m = { .n = n };

	for (size_t i = 0; i < n; i++)
		m.mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		m.variance += (x[i] - m.mean) * (x[i] - m.mean) / (double)(n - 1);
	return m;
}

/* Returns half the width of Student's interval of the mean. */
static double between_runs_half_width(const struct moments *m, double confidence)
{
	return student_quantile((1 + confidence) / 2, (double)m->n - 1) *
	       sqrt(m->variance / (double)m->n);
}

static bool between_runs_is_usable(const struct load_quantile *q)
{
	return q->known && q->ns;
}

/*
 * Tests whether runs are equal by Cochran's Q with weights 1 / variance. Each run's variance
 * follows from its interval and confidence, by the normal quantile. For a Student interval, it
 * overestimates the variance by about as much as estimating the variance increases Q.
 */
static void test_homogeneity(const struct load_quantile *runs, size_t n, struct between_runs *out)
{
	double weights = 0, sum = 0, squares = 0, q;

	for (size_t i = 0; i < n; i++) {
		double x, z, width, weight;

		if (!between_runs_is_usable(&runs[i]))
			continue;
		/* Bounds of a run alone do not tell how runs differ by chance. */
		if (!runs[i].bounded || runs[i].run_only || !runs[i].lo_ns ||
		    runs[i].hi_ns <= runs[i].lo_ns ||
		    !(runs[i].confidence > 0 && runs[i].confidence < 1))
			return;
		z = normal_quantile((1 + runs[i].confidence) / 2);
		x = log((double)runs[i].ns);
		width = log((double)runs[i].hi_ns / (double)runs[i].lo_ns) / (2 * z);
		weight = 1 / (width * width);
		weights += weight;
		sum += weight * x;
		squares += weight * x * x;
	}
	q = fmax(squares - sum * sum / weights, 0);
	out->tested = true;
	out->p = chi2_sf(q, (double)out->n - 1);
	out->share = q > 0 ? fmax(1 - ((double)out->n - 1) / q, 0) : 0;
}

uint64_t between_runs_ns(double ns)
{
	return ns < 0x1p63 ? (uint64_t)llround(ns) : INT64_MAX;
}

int between_runs_combine(const struct load_quantile *runs, size_t n, double confidence,
			 struct between_runs *out)
{
	double x[BETWEEN_RUNS_MAX], half;
	struct between_runs b = { .min_ns = INFINITY };
	struct moments m;

	if (n > BETWEEN_RUNS_MAX || !(confidence > 0 && confidence < 1))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!between_runs_is_usable(&runs[i]))
			continue;
		x[b.n++] = log((double)runs[i].ns);
		b.min_ns = fmin(b.min_ns, (double)runs[i].ns);
		b.max_ns = fmax(b.max_ns, (double)runs[i].ns);
	}
	if (b.n < 2)
		return -ENODATA;
	m = between_runs_moments(x, b.n);
	half = between_runs_half_width(&m, confidence);
	b.mean_ns = exp(m.mean);
	b.lo_ns = exp(m.mean - half);
	b.hi_ns = exp(m.mean + half);
	test_homogeneity(runs, n, &b);
	*out = b;
	return 0;
}

int between_runs_compare_targets(const struct load_quantile *a, const struct load_quantile *b,
				 size_t n, double confidence, struct rng *rng,
				 struct paired_diff *out)
{
	double difference[BETWEEN_RUNS_MAX], log_a = 0, half;
	struct permutation test;
	struct paired_diff v = { 0 };
	struct moments m;
	int err;

	if (n > BETWEEN_RUNS_MAX || !(confidence > 0 && confidence < 1))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!between_runs_is_usable(&a[i]) || !between_runs_is_usable(&b[i]))
			continue;
		log_a += log((double)a[i].ns);
		difference[v.n++] = log((double)b[i].ns / (double)a[i].ns);
	}
	if (v.n < BETWEEN_RUNS_PAIRS_MIN)
		return -ENODATA;
	m = between_runs_moments(difference, v.n);
	half = between_runs_half_width(&m, confidence);
	v.a_ns = exp(log_a / (double)v.n);
	v.b_ns = v.a_ns * exp(m.mean);
	v.ratio = exp(m.mean);
	v.lo = exp(m.mean - half);
	v.hi = exp(m.mean + half);
	err = permute_pairs(difference, v.n, PERMUTATIONS, rng, &test);
	if (err && err != -EDOM)
		return err;
	v.p = err ? 1 : test.p; /* -EDOM, no pair differs: no evidence of a difference */
	*out = v;
	return 0;
}

int between_runs_compare_shares(const double *a, const double *b, size_t n, double confidence,
				struct share_gap *out)
{
	double difference[BETWEEN_RUNS_MAX], half;
	struct share_gap gap = { 0 };
	struct moments m;
	size_t pairs = 0;

	if (n > BETWEEN_RUNS_MAX || !(confidence > 0 && confidence < 1))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (isnan(a[i]) || isnan(b[i]))
			continue;
		gap.a += a[i];
		gap.b += b[i];
		difference[pairs++] = b[i] - a[i];
	}
	if (pairs < BETWEEN_RUNS_PAIRS_MIN)
		return -ENODATA;
	m = between_runs_moments(difference, pairs);
	half = between_runs_half_width(&m, confidence);
	gap.a /= (double)pairs;
	gap.b /= (double)pairs;
	gap.lo = m.mean - half;
	gap.hi = m.mean + half;
	*out = gap;
	return 0;
}
