/* SPDX-License-Identifier: Apache-2.0 */
#include "load/interval.h"

#include <errno.h>
#include <math.h>

#include "base/bug.h"
#include "stats/dependence.h"
#include "stats/bucket_edges.h"
#include "stats/order_stat.h"
#include "stats/special.h"

#define DEGREES_MIN 4
#define EFFECT_LEAST 0.05      /* relative change of a quantile that is always tolerated */
#define EFFECT_UNKNOWN 0.25    /* tolerated relative change of a quantile without interval */

static uint64_t sum_buckets(const struct hist *hist, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += hist->buckets[i];
	return sum;
}

/* Sums from the nearer end of the histogram, since evaluations make thousands of calls. */
uint64_t interval_at_most(const struct hist *hist, uint64_t ns)
{
	int64_t buckets;

	if (!ns || ns > BUCKET_LIMIT)
		return ns ? hist->count : hist->zero;
	buckets = (int64_t)bucket_edges_index(LOAD_SCHEMA, ns) - hist->first + 1;
	if (buckets <= 0)
		return hist->zero;
	if (buckets < hist->len / 2)
		return hist->zero + sum_buckets(hist, 0, (uint32_t)buckets);
	if (buckets > hist->len)
		buckets = hist->len;
	return hist->count - hist->over - sum_buckets(hist, (uint32_t)buckets, hist->len);
}

static const struct hist *interval_window(const struct interval_range *range, uint32_t i)
{
	return &range->series->windows[range->from + i].latency[range->which];
}

/*
 * Computes z for each window: the window's samples up to `ns`, minus the number expected from the
 * share of all samples up to `ns`. Returns that share.
 */
static double interval_deviations(const struct interval_range *range, uint64_t ns, double *z)
{
	const double share = (double)interval_at_most(range->pooled, ns) /
		(double)range->pooled->count;

	for (uint32_t i = 0; i < range->to - range->from; i++) {
		const struct hist *hist = interval_window(range, i);

		z[i] = (double)interval_at_most(hist, ns) - share * (double)hist->count;
	}
	return share;
}

/*
 * Returns the variance of the sum of z[0..n), estimated from the sums of batches of `width`
 * windows. Sets *batches to the number of batches and *residual to the lag-1 autocorrelation of
 * their sums.
 */
static double by_batches(const double *z, uint32_t n, uint32_t width, uint32_t *batches,
			 double *residual)
{
	double sums[SERIES_WINDOWS], mean = 0, squares = 0, products = 0;
	const uint32_t b = n / width;

	for (uint32_t i = 0; i < b; i++) {
		sums[i] = 0;
		for (uint32_t k = 0; k < width; k++)
			sums[i] += z[i * width + k];
		mean += sums[i] / b;
	}
	for (uint32_t i = 0; i < b; i++) {
		squares += (sums[i] - mean) * (sums[i] - mean);
		if (i)
			products += (sums[i] - mean) * (sums[i - 1] - mean);
	}
	*batches = b;
	*residual = squares > 0 ? products / squares : 0;
	return squares * n / ((double)width * (b - 1));
}

/*
 * Corrects a variance estimated from batches for their lag-1 autocorrelation `residual`. The
 * estimate of the autocorrelation is 1 / batches too low. A negative autocorrelation is chance.
 */
static double correct_residual(double variance, double residual, uint32_t batches)
{
	double r = residual + 1.0 / batches;

	if (r < 0)
		r = 0;
	if (r > 0.9)
		r = 0.9;
	return variance * (1 + r) / (1 - r);
}

/*
 * Returns Student's degrees of freedom of a variance of `b` sums: 2 (b - 1) / (kurtosis - 1), which
 * is b - 1 for Gaussian sums.
 */
static double interval_degrees(const double *z, uint32_t width, uint32_t b)
{
	double second = 0, fourth = 0, kurtosis;

	for (uint32_t i = 0; i < b; i++) {
		double sum = 0;

		for (uint32_t k = 0; k < width; k++)
			sum += z[i * width + k];
		second += sum * sum / b;
		fourth += sum * sum * sum * sum / b;
	}
	kurtosis = second > 0 ? fourth / (second * second) : 3;
	return fmax(DEGREES_MIN, fmin(b - 1, 2.0 * (b - 1) / (kurtosis - 1)));
}

/* Dependence of samples, measured at one latency threshold. */
struct dependence {
	double inflation, tau, residual, df;
	uint32_t batches, batch_windows;
	bool too_long; /* dependence leaves fewer than INTERVAL_BATCHES_MIN batches */
};

static int dependence_at(const struct interval_range *range, uint64_t ns, struct dependence *out)
{
	const uint32_t n = range->to - range->from;
	double z[SERIES_WINDOWS], variance, squares = 0;
	const double share = interval_deviations(range, ns, z);
	struct iat time;
	int err = integrated_time(z, n, &time);

	if (err && err != -EDOM)
		return err;
	for (uint32_t i = 0; i < n; i++)
		squares += z[i] * z[i];
	*out = (struct dependence){ .tau = err ? 1 : time.tau };
	out->batch_windows = (uint32_t)ceil(INTERVAL_BATCH_TIMES * fmax(out->tau - 1, 0));
	if (out->batch_windows < (n + INTERVAL_BATCHES_MAX - 1) / INTERVAL_BATCHES_MAX)
		out->batch_windows = (n + INTERVAL_BATCHES_MAX - 1) / INTERVAL_BATCHES_MAX;
	out->too_long = out->batch_windows > n / INTERVAL_BATCHES_MIN;
	if (out->too_long)
		out->batch_windows = n / INTERVAL_BATCHES_MIN;
	variance = by_batches(z, n, out->batch_windows, &out->batches, &out->residual);
	variance = correct_residual(variance, out->residual, out->batches);
	variance = fmax(variance, squares * out->tau);
	out->df = interval_degrees(z, out->batch_windows, out->batches);
	out->inflation = 1;
	if (share > 0 && share < 1)
		out->inflation = fmax(1, variance / ((double)range->pooled->count *
						     share * (1 - share)));
	return 0;
}

static double interval_exceedances(const struct interval_range *range, double q,
				   const struct interval *i)
{
	return (double)range->pooled->count / i->inflation * fmin(q, 1 - q);
}

/* Returns the quantile whose tail is `times` as large as the tail of q, at most the median. */
static double interval_thicker(double q, double times)
{
	return q < 0.5 ? fmin(0.5, times * q) : 1 - fmin(0.5, times * (1 - q));
}

/*
 * Measures by how much dependence of samples inflates the variance at quantile q. With few
 * effective samples there, also measures where the tail is two and four times as large, which has
 * more samples and similar dependence. Uses the largest inflation.
 */
static int measure_dependence(const struct interval_range *range, double q, struct interval *out)
{
	const uint32_t n = range->to - range->from;
	struct hist_quantile found = { .value = out->ns };
	struct dependence d;
	int err = 0;

	out->inflation = 1;
	if (n < INTERVAL_BATCHES_MIN) {
		out->why = INTERVAL_FEW_BATCHES;
		return 0;
	}
	for (double times = 1; !err && times <= 4; times *= 2) {
		if (times > 1 &&
		    (interval_exceedances(range, q, out) >= INTERVAL_EXCEEDANCES_MANY ||
		     interval_thicker(q, times) == interval_thicker(q, times / 2)))
			break;
		if (times > 1)
			hist_quantile(range->pooled, interval_thicker(q, times), &found);
		err = dependence_at(range, found.value, &d);
		if (err)
			break;
		if (times == 1) {
			out->tau = d.tau;
			out->residual = d.residual;
			out->df = d.df;
			out->batches = d.batches;
			out->batch_windows = d.batch_windows;
			if (d.too_long)
				out->why = INTERVAL_FEW_BATCHES;
		}
		out->inflation = fmax(out->inflation, d.inflation);
	}
	return err;
}

/* Finds the edges of the bucket of rank 1..count, cut to the smallest and largest sample. */
static void bounds_of_rank(const struct hist *pooled, uint64_t rank, uint64_t *lo_ns,
			   uint64_t *hi_ns)
{
	struct hist_quantile found;
	int err = hist_quantile(pooled, (double)rank / (double)pooled->count, &found);

	BUG_ON(err);
	*lo_ns = found.lo;
	*hi_ns = found.hi;
}

/*
 * Finds the interval's bounds at two ranks among all requests. Failed requests may have any rank:
 * the lower bound assumes that they rank below all samples, the upper bound above.
 */
static void interval_find_bounds(const struct interval_range *range,
				 const struct order_stat_ranks *ranks, struct interval *out)
{
	uint64_t ignored;

	if (!ranks->lo || ranks->hi > out->count + range->failed) {
		out->why = INTERVAL_FEW_EXCEEDANCES;
		return;
	}
	if (ranks->lo <= range->failed || ranks->hi > out->count) {
		out->why = INTERVAL_FAILURES;
		return;
	}
	bounds_of_rank(range->pooled, ranks->lo - range->failed, &out->lo_ns, &ignored);
	bounds_of_rank(range->pooled, ranks->hi, &ignored, &out->hi_ns);
}

int interval_of(const struct interval_range *range, double q, double confidence,
		struct interval *out)
{
	const double alpha = 1 - confidence;
	struct hist_quantile found;
	struct order_stat_ranks ranks;
	double widening;
	int err;

	*out = (struct interval){ .count = range->pooled->count };
	if (hist_quantile(range->pooled, q, &found)) {
		out->why = INTERVAL_NO_SAMPLES;
		return 0;
	}
	out->ns = found.value;
	err = measure_dependence(range, q, out);
	out->effective = (double)out->count / out->inflation;
	out->exceedances = interval_exceedances(range, q, out);
	if (err || out->why)
		return err;
	if (out->exceedances < INTERVAL_EXCEEDANCES_MIN) {
		out->why = INTERVAL_FEW_EXCEEDANCES;
		return 0;
	}
	widening = student_quantile(1 - alpha / 2, out->df) /
		normal_quantile(1 - alpha / 2);
	err = order_stat_interval(out->count + range->failed, q, confidence, ORDER_STAT_BOTH,
			     out->inflation * widening * widening, &ranks);
	BUG_ON(err);
	interval_find_bounds(range, &ranks, out);
	return 0;
}

double interval_share(const struct interval *i)
{
	return i->why || !i->ns ? NAN : (double)(i->hi_ns - i->lo_ns) / (double)i->ns;
}

double interval_effect(const struct interval *i)
{
	const double width = interval_share(i);

	return isnan(width) ? EFFECT_UNKNOWN : fmax(EFFECT_LEAST, width);
}

/* ---- check by batches ---- */

static int batch_quantile(const struct interval_range *range, uint32_t from, uint32_t to, double q,
			  double *out)
{
	struct hist_quantile found = { 0 };
	struct hist pooled;
	int err;

	hist_init(&pooled, LOAD_SCHEMA);
	err = series_pool(range->series, from, to, range->which, &pooled);
	if (!err)
		err = hist_quantile(&pooled, q, &found);
	hist_release(&pooled);
	*out = (double)found.value;
	return err;
}

int interval_by_batches(const struct interval_range *range, double q, double confidence,
			uint32_t batches, uint64_t *lo_ns, uint64_t *hi_ns)
{
	const uint32_t n = range->to - range->from;
	double value, mean = 0, squares = 0, half;
	int err;

	if (batches < 2 || batches > n)
		return -ENODATA;
	for (uint32_t i = 0; i < batches; i++) {
		double before = mean;

		err = batch_quantile(range, range->from + i * n / batches,
				     range->from + (i + 1) * n / batches, q, &value);
		if (err)
			return err;
		mean += (value - mean) / (i + 1);
		squares += (value - before) * (value - mean);
	}
	half = student_quantile((1 + confidence) / 2, batches - 1) *
		sqrt(squares / (batches - 1) / batches);
	*lo_ns = mean > half ? (uint64_t)(mean - half) : 0;
	*hi_ns = (uint64_t)ceil(mean + half);
	return 0;
}
