/* SPDX-License-Identifier: Apache-2.0 */
#include "load/lancet.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/sort.h"
#include "stats/order_stat.h"
#include "stats/rank.h"
#include "stats/series_test.h"

static const uint64_t lags[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000 };

void lancet_init(struct lancet *lancet)
{
	*lancet = (struct lancet){ .sampling = LANCET_SAMPLING, .wanted = LANCET_STEP };
	vec_init(&lancet->samples, LANCET_STORE);
}

void lancet_release(struct lancet *lancet)
{
	vec_release(&lancet->samples);
}

/* Hashes by the finalizer of splitmix64, a bijection. */
static uint64_t lancet_scatter(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static bool lancet_is_chosen(const struct lancet *lancet, uint64_t hash)
{
	return hash <= UINT64_MAX / lancet->sampling;
}

static void lancet_thin(struct lancet *lancet)
{
	size_t n = 0;

	vec_for_each(&lancet->samples, s) {
		if (lancet_is_chosen(lancet, s->hash))
			lancet->samples.items[n++] = *s;
	}
	lancet->samples.len = n;
}

/* Ignores samples beyond LANCET_STORE: an analysis needs at most a quarter of that number. */
int lancet_add(struct lancet *lancet, const struct event_sample *sample)
{
	const uint64_t hash = lancet_scatter(sample->intended ^ (uint64_t)sample->flow << 40 ^
					     sample->tx_offset << 20);
	int err;

	if (!lancet_is_chosen(lancet, hash))
		return 0;
	err = vec_push(&lancet->samples, (struct lancet_sample){
		.sent = sample->sent, .latency = sample->done - sample->sent, .hash = hash });
	return err == -E2BIG ? 0 : err;
}

static int lancet_order_by_sent(const void *a, const void *b)
{
	const struct lancet_sample *x = a, *y = b;

	return sort_order(x->sent, y->sent) ?: sort_order(x->hash, y->hash);
}

static int lancet_order_values(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return sort_order(x, y);
}

/* Finds the first lag without significant correlation; 0: none. */
static int find_lag(struct lancet *lancet, const double *y)
{
	struct spearman s;

	lancet->lag = 0;
	for (size_t i = 0; i < ARRAY_LEN(lags) && lags[i] + 3 <= lancet->used; i++) {
		int err = spearman_lag(y, lancet->used, lags[i], &s);

		if (err == -ENOMEM)
			return err;
		if (err)
			s = (struct spearman){ .p = 1 }; /* constant samples are uncorrelated */
		if (!i) {
			lancet->spearman = s.rho;
			lancet->spearman_p = s.p;
		}
		if (s.p >= LANCET_ALPHA) {
			lancet->lag = lags[i];
			return 0;
		}
	}
	return 0;
}

static int test_stationary(struct lancet *lancet, const double *y, bool *stationary)
{
	struct adf adf;
	int err = adf_test(y, lancet->used, &adf);

	*stationary = err == -EDOM;
	if (err)
		return err == -ENOMEM ? err : 0;
	lancet->adf = adf.statistic;
	lancet->adf_p = adf.p;
	*stationary = adf.p <= LANCET_ALPHA;
	return 0;
}

bool lancet_quantile(const struct lancet *lancet, double q, double confidence, uint64_t *ns,
		     uint64_t *lo_ns, uint64_t *hi_ns)
{
	uint64_t *sorted = malloc((lancet->used + 1) * sizeof(*sorted));
	struct order_stat_ranks ranks;
	bool bounded;

	if (!sorted || !lancet->used || order_stat_lancet(lancet->used, q, confidence, &ranks)) {
		free(sorted);
		return false;
	}
	for (size_t i = 0; i < lancet->used; i++)
		sorted[i] = lancet->samples.items[i].latency;
	qsort(sorted, lancet->used, sizeof(*sorted), lancet_order_values);
	*ns = sorted[(size_t)(q * (double)(lancet->used - 1))];
	bounded = ranks.lo >= 1 && ranks.hi <= lancet->used;
	if (bounded) {
		*lo_ns = sorted[ranks.lo - 1];
		*hi_ns = sorted[ranks.hi - 1];
	}
	free(sorted);
	return bounded;
}

static int lancet_judge_samples(struct lancet *lancet, const double *y, double percentile,
				double confidence, uint64_t ci_width_ns)
{
	bool stationary;
	int err = find_lag(lancet, y);

	if (err)
		return err;
	if (lancet->lag != 1) {
		lancet->verdict = LANCET_DEPENDENT;
		lancet->sampling *= lancet->lag ? lancet->lag : lags[ARRAY_LEN(lags) - 1];
		lancet_thin(lancet);
		lancet->used = lancet->samples.len;
		lancet->bounded = false;
		return 0;
	}
	lancet->wanted += LANCET_STEP;
	err = test_stationary(lancet, y, &stationary);
	if (err)
		return err;
	lancet->bounded = lancet_quantile(lancet, percentile, confidence, &lancet->ns,
					  &lancet->lo_ns, &lancet->hi_ns);
	if (!stationary)
		lancet->verdict = LANCET_NOT_STATIONARY;
	else if (!lancet->bounded || (ci_width_ns && lancet->hi_ns - lancet->lo_ns > ci_width_ns))
		lancet->verdict = LANCET_TOO_WIDE;
	else
		lancet->verdict = LANCET_DONE;
	return 0;
}

size_t lancet_samples(const struct lancet *lancet)
{
	return lancet->tries ? lancet->used : lancet->samples.len;
}

int lancet_try(struct lancet *lancet, double percentile, double confidence, uint64_t ci_width_ns)
{
	const size_t n = lancet->samples.len;
	double *y;
	int err;

	if (n < lancet->wanted || lancet->tries == LANCET_TRIES ||
	    lancet->verdict == LANCET_DONE)
		return 0;
	y = malloc(n * sizeof(*y));
	if (!y)
		return -ENOMEM;
	qsort(lancet->samples.items, n, sizeof(*lancet->samples.items), lancet_order_by_sent);
	for (size_t i = 0; i < n; i++)
		y[i] = (double)lancet->samples.items[i].latency;
	lancet->tries++;
	lancet->used = n;
	err = lancet_judge_samples(lancet, y, percentile, confidence, ci_width_ns);
	free(y);
	return err;
}
