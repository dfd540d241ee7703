/* SPDX-License-Identifier: Apache-2.0 */
#include "load/interval.h"

#include <errno.h>
#include <math.h>

#include "base/bug.h"
#include "stats/dependence.h"
#include "stats/bucket_edges.h"
#include "stats/order_stat.h"
#include "stats/special.h"

#define EFFECT_LEAST 0.05      /* relative change of a quantile that is always tolerated */
#define EFFECT_UNKNOWN 0.25    /* tolerated relative change of a quantile without interval */
#define MOVEMENT_MOST 0.25     /* relative range of the median over parts of a run */

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

/* Returns the longest autocorrelation time, in windows, that `cosines` measure in a series. */
static double interval_longest(uint32_t windows, uint32_t cosines)
{
	/* root mean square of 1..INTERVAL_COSINES, and of 1..cosines */
	const double all = sqrt((INTERVAL_COSINES + 1) * (2 * INTERVAL_COSINES + 1) / 6.0);
	const double some = sqrt((cosines + 1) * (2 * cosines + 1) / 6.0);

	return 1 + fmax(1, INTERVAL_DEPENDENCE * all / some * windows);
}

/*
 * Returns the number of cosines: with few windows, or if dependence lasts, only the slowest tell
 * the long-run variance. A cosine sees a share of it that falls with the square of its frequency
 * times the autocorrelation time; the limits keep the mean share of all cosines the same.
 */
static uint32_t interval_cosines(uint32_t windows, double tau)
{
	static const uint32_t fewer[] = { INTERVAL_COSINES, INTERVAL_COSINES_FEW, 4,
					  INTERVAL_COSINES_LEAST };
	size_t i = windows < INTERVAL_WINDOWS_MANY;

	while (i + 1 < ARRAY_LEN(fewer) && tau > interval_longest(windows, fewer[i]))
		i++;
	return fewer[i];
}

/* Cosines that measure dependence: those with first + 1 .. first + n half periods in the run. */
struct cosines {
	uint32_t first, n;
};

/* Estimates the variance of the sum of z[0..n) from its weights on cosines. */
static double by_cosines(const double *z, uint32_t n, const struct cosines *cosines)
{
	double sum = 0;

	for (uint32_t j = cosines->first + 1; j <= cosines->first + cosines->n; j++) {
		double weight = 0;

		for (uint32_t w = 0; w < n; w++)
			weight += cos(M_PI * j * (w + 0.5) / n) * z[w];
		sum += 2 * weight * weight;
	}
	return sum / cosines->n;
}

/* Measures by how much dependence inflates the variance of the share of samples up to `ns`. */
static double inflation_at(const struct interval_range *range, const struct cosines *cosines,
			   uint64_t ns)
{
	const uint32_t n = range->to - range->from;
	double z[SERIES_WINDOWS];
	const double share = interval_deviations(range, ns, z);

	if (share <= 0 || share >= 1)
		return 1;
	return fmax(1, by_cosines(z, n, cosines) /
		       ((double)range->pooled->count * share * (1 - share)));
}

static uint64_t quantile_of(const struct hist *hist, double q)
{
	struct hist_quantile found = { 0 };

	return hist_quantile(hist, q, &found) ? 0 : found.value;
}

/* Returns the quantile whose tail is `times` as large as the tail of q, at most the median. */
static double interval_thicker(double q, double times)
{
	return q < 0.5 ? fmin(0.5, times * q) : 1 - fmin(0.5, times * (1 - q));
}

/*
 * Far out, few samples tell how they depend on each other: there, also measures where the tail is
 * two and four times as large, and uses the largest inflation.
 */
static double measure_inflation(const struct interval_range *range, const struct cosines *cosines,
				double q)
{
	const double most = fmin(q, 1 - q) <= INTERVAL_TAIL ? 4 : 1;
	double inflation = 1;

	for (double times = 1; times <= most; times *= 2)
		inflation = fmax(inflation, inflation_at(range, cosines,
			quantile_of(range->pooled, interval_thicker(q, times))));
	return inflation;
}

/* Sets *tau to the autocorrelation time at `ns`, in windows. Returns 0 or -ENOMEM. */
static int measure_time(const struct interval_range *range, uint64_t ns, double *tau)
{
	double z[SERIES_WINDOWS];
	struct iat time;
	int err;

	interval_deviations(range, ns, z);
	err = integrated_time(z, range->to - range->from, &time);
	*tau = err ? 1 : time.tau;
	return err == -EDOM ? 0 : err;
}

/*
 * Measures dependence at the quantile, and chooses the cosines that measure its variance; `tau`:
 * autocorrelation time to allow for at least.
 */
static int measure_dependence(const struct interval_range *range, double tau,
			      struct cosines *cosines, struct interval *out)
{
	const uint32_t n = range->to - range->from;
	int err = measure_time(range, out->ns, &out->tau);

	if (err)
		return err;
	out->tau = fmax(out->tau, tau);
	cosines->n = interval_cosines(n, out->tau);
	out->longest = interval_longest(n, cosines->n);
	out->why = out->tau > out->longest ? INTERVAL_LONG_DEPENDENCE : INTERVAL_GOOD;
	return 0;
}

/* Returns how much Student's t for the degrees of freedom exceeds the normal quantile, squared. */
static double interval_widening(double df, double confidence)
{
	const double p = (1 + confidence) / 2, t = student_quantile(p, df) / normal_quantile(p);

	return t * t;
}

/*
 * Returns how many of `count` independent samples must lie beyond quantile q for a bound there: as
 * many as make it unlikely that all of them are on one side of q.
 */
static double exceedances_needed(double q, double confidence)
{
	const double thin = fmin(q, 1 - q);

	return thin * log((1 - confidence) / 2) / log1p(-thin);
}

/* ---- bounds ---- */

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

struct bound {
	double q, confidence;
	bool upper;
	const struct cosines *cosines;
	uint64_t rank; /* among all requests, failed ones too; 0 or above their number: none */
	double inflation; /* the largest one between the quantile and the bound */
};

static uint64_t rank_at(const struct interval_range *range, const struct bound *b, double inflation)
{
	struct order_stat_ranks ranks;
	int err = order_stat_interval(range->pooled->count + range->failed, b->q, b->confidence,
				      ORDER_STAT_BOTH, inflation, &ranks);

	BUG_ON(err);
	return b->upper ? ranks.hi : ranks.lo;
}

/* Whether the rank of a bound lies at most as far out as quantile `q`. */
static bool is_within(const struct interval_range *range, const struct bound *b, double q)
{
	const double rank = q * (double)(range->pooled->count + range->failed);

	return b->upper ? (double)b->rank <= rank : (double)b->rank >= rank;
}

/* Returns the quantile one step farther out than `at`, towards a bound. */
static double one_step(double at, bool upper)
{
	const double near = upper ? at : 1 - at;
	const double next = near >= 0.5 ? 1 - (1 - near) / INTERVAL_STEP :
					  fmin(0.5, near * INTERVAL_STEP);

	return upper ? next : 1 - next;
}

/*
 * Finds a bound's rank. On the way outward from the quantile to the bound, samples may depend on
 * each other more than at the quantile, as those of a stall do; so the inflation is measured on the
 * way, in steps of INTERVAL_STEP, until the rank for the largest one is reached.
 */
static void find_rank(const struct interval_range *range, double inflation, double widening,
		      struct bound *b)
{
	double at = b->q;

	b->inflation = inflation;
	for (int i = 0; i < INTERVAL_STEPS; i++) {
		b->rank = rank_at(range, b, inflation * widening);
		at = one_step(at, b->upper);
		if (!b->rank || b->rank > range->pooled->count + range->failed ||
		    is_within(range, b, at))
			return;
		inflation = fmax(inflation, inflation_at(range, b->cosines,
							 quantile_of(range->pooled, at)));
		b->inflation = inflation;
	}
}

/*
 * Finds the interval's bounds. Failed requests may have any rank: the lower bound assumes that they
 * rank below all samples, the upper bound above. Interference only delays requests, so the lower
 * bound is that of a lower quantile, and may be missing (0).
 */
static void interval_find_bounds(const struct interval_range *range, const struct cosines *cosines,
				 double q, double confidence, struct interval *out)
{
	const double widening = interval_widening(out->df, confidence);
	const uint64_t all = out->count + range->failed;
	struct bound lo = { .q = q, .confidence = confidence, .cosines = cosines },
		     hi = lo, own = lo;
	uint64_t ignored;

	hi.upper = true;
	find_rank(range, out->inflation, widening, &hi);
	find_rank(range, out->inflation, widening, &own);
	lo.q = q - range->touched;
	if (range->touched <= 0)
		lo = own;
	else if (lo.q > 0)
		find_rank(range, fmax(out->inflation,
				      measure_inflation(range, lo.cosines, lo.q)), widening, &lo);
	if (!own.rank || hi.rank > all)
		out->why = INTERVAL_FEW_EXCEEDANCES;
	else if (own.rank <= range->failed || hi.rank > out->count)
		out->why = INTERVAL_FAILURES;
	out->needed = (uint64_t)ceil(out->exceedances_needed / fmin(q, 1 - q) *
				     fmax(own.inflation, hi.inflation));
	if (lo.q > 0 && lo.rank > range->failed)
		bounds_of_rank(range->pooled, lo.rank - range->failed, &out->least_ns, &ignored);
	if (out->why)
		return;
	bounds_of_rank(range->pooled, hi.rank, &ignored, &out->hi_ns);
	bounds_of_rank(range->pooled, own.rank - range->failed, &out->own_lo_ns, &ignored);
	out->lo_ns = out->least_ns;
}

/* ---- movement of the median ---- */

/* Returns the relative range of the medians of INTERVAL_WINDOWS_MIN equal parts of the run. */
static int measure_movement(const struct interval_range *range, double *out)
{
	const uint32_t n = range->to - range->from;
	const uint64_t whole = quantile_of(range->pooled, 0.5);
	uint64_t least = whole, most = whole, median;
	struct hist part;
	int err = 0;

	for (uint32_t k = 0; !err && k < INTERVAL_WINDOWS_MIN; k++) {
		hist_init(&part, LOAD_SCHEMA);
		err = series_pool(range->series, range->from + n * k / INTERVAL_WINDOWS_MIN,
				  range->from + n * (k + 1) / INTERVAL_WINDOWS_MIN, range->which,
				  &part);
		median = part.count ? quantile_of(&part, 0.5) : whole;
		least = median < least ? median : least;
		most = median > most ? median : most;
		hist_release(&part);
	}
	*out = whole ? (double)(most - least) / (double)whole : 0;
	return err;
}

static void interval_by_cosines(const struct interval_range *range, const struct cosines *cosines,
				double q, double confidence, struct interval *out)
{
	out->df = cosines->n;
	out->inflation = measure_inflation(range, cosines, q);
	out->effective = (double)out->count / out->inflation;
	out->exceedances = out->effective * fmin(q, 1 - q);
	out->exceedances_needed = exceedances_needed(q, confidence) *
				  interval_widening(out->df, confidence);
	out->needed = 0;
	out->lo_ns = out->least_ns = 0;
	if (!out->why)
		interval_find_bounds(range, cosines, q, confidence, out);
}

static int interval_with(const struct interval_range *range, double q, double confidence,
			 double tau, struct interval *out)
{
	struct cosines cosines = { 0 };
	int err = measure_dependence(range, tau, &cosines, out);

	if (!err)
		interval_by_cosines(range, &cosines, q, confidence, out);
	return err;
}

/*
 * Finds bounds of this run alone: what it saw of the server's slow changes is taken as given. If
 * there are none, leaves `out` as it is.
 */
static void interval_of_run(const struct interval_range *range, double q, double confidence,
			    struct interval *out)
{
	const uint32_t n = range->to - range->from;
	const struct cosines cosines = { .first = INTERVAL_RUN_FIRST, .n = INTERVAL_COSINES };
	struct interval of_run = *out;

	if (n < INTERVAL_WINDOWS_MANY)
		return;
	of_run.run_only = true;
	of_run.why = INTERVAL_GOOD;
	interval_by_cosines(range, &cosines, q, confidence, &of_run);
	if (!of_run.why)
		*out = of_run;
	out->least_ns = of_run.least_ns;
}

/*
 * Dependence that reaches over a good part of the run looks shorter than it is at the tail, which
 * has fewer samples than the median. So the longer one of both counts, unless the median moves by
 * less than the interval is wide: a tail that moves as much is within it. A median that moves by
 * more than MOVEMENT_MOST has no law that this run could tell.
 */
static int interval_allow_for_median(const struct interval_range *range, double q,
				     double confidence, struct interval *out)
{
	const uint32_t n = range->to - range->from;
	const double longest = interval_longest(n, interval_cosines(n, 0));
	double tau, movement;
	int err = measure_time(range, quantile_of(range->pooled, 0.5), &tau);

	if (err || tau <= longest)
		return err;
	err = measure_movement(range, &movement);
	if (!err && movement > MOVEMENT_MOST) {
		out->tau = fmax(out->tau, tau);
		out->longest = longest;
		out->needed = 0;
		out->least_ns = 0;
		out->why = INTERVAL_LONG_DEPENDENCE;
	} else if (!err && movement > interval_effect(out) && tau > out->tau) {
		err = interval_with(range, q, confidence, tau, out);
	}
	return err;
}

int interval_of(const struct interval_range *range, double q, double confidence,
		struct interval *out)
{
	struct hist_quantile found;
	int err;

	*out = (struct interval){ .count = range->pooled->count, .touched = range->touched,
				  .inflation = 1 };
	if (hist_quantile(range->pooled, q, &found)) {
		out->why = INTERVAL_NO_SAMPLES;
		return 0;
	}
	out->ns = found.value;
	if (range->to - range->from < INTERVAL_WINDOWS_MIN) {
		out->why = INTERVAL_FEW_WINDOWS;
		out->effective = (double)out->count;
		out->exceedances = out->effective * fmin(q, 1 - q);
		return 0;
	}
	err = interval_with(range, q, confidence, 0, out);
	if (!err)
		err = interval_allow_for_median(range, q, confidence, out);
	if (!err && out->why == INTERVAL_LONG_DEPENDENCE)
		interval_of_run(range, q, confidence, out);
	return err;
}

double interval_share(const struct interval *i)
{
	return i->why || !i->ns ? NAN : (double)(i->hi_ns - i->own_lo_ns) / (double)i->ns;
}

double interval_effect(const struct interval *i)
{
	const double width = interval_share(i);

	return isnan(width) || i->run_only ? EFFECT_UNKNOWN : fmax(EFFECT_LEAST, width);
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
