/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/excess.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/sort.h"

/* Parts of one message's time, by cause and culprit, at most: further time has no culprit. */
#define SHARES_MAX 4096u

/* ---- breakdown of one message ---- */

static bool breakdown_same_share(const struct share *a, const struct share *b)
{
	return a->place == b->place && a->culprit == b->culprit && a->message == b->message &&
	       a->detail == b->detail;
}

static int breakdown_add_share(struct breakdown *breakdown, struct share share)
{
	int err;

	/* Searches only the message's latest parts, the likeliest to match, backwards. */
	for (size_t i = breakdown->shares.len; i-- && i + 16 > breakdown->shares.len;) {
		if (breakdown_same_share(&breakdown->shares.items[i], &share)) {
			breakdown->shares.items[i].ns += share.ns;
			return 0;
		}
	}
	if (!breakdown->shares.max)
		vec_init(&breakdown->shares, SHARES_MAX);
	err = vec_push(&breakdown->shares, share);
	return err == -E2BIG ? 0 : err;
}

int breakdown_add(struct breakdown *breakdown, const struct slice *slice)
{
	const struct share share = {
		.ns = slice->end - slice->begin, .culprit = slice->culprit,
		.message = slice->message, .detail = slice->detail,
		.place = (uint8_t)CAUSE_PLACE(slice->cause, slice->where),
	};

	breakdown->ns[share.place] += share.ns;
	return breakdown_add_share(breakdown, share);
}

void breakdown_add_ns(struct breakdown *breakdown, unsigned int place, uint64_t ns)
{
	breakdown->ns[place] += ns;
}

uint64_t breakdown_sum(const struct breakdown *breakdown)
{
	uint64_t sum = 0;

	for (unsigned int place = 0; place < CAUSE_PLACES; place++)
		sum += breakdown->ns[place];
	return sum;
}

static uint64_t breakdown_scale(uint64_t ns, uint64_t total, uint64_t sum)
{
	return (uint64_t)((unsigned __int128)ns * total / sum);
}

int breakdown_add_scaled(struct breakdown *breakdown, const struct breakdown *from, uint64_t total)
{
	const uint64_t sum = breakdown_sum(from);
	unsigned int largest = CAUSE_PLACE(CAUSE_UNEXPLAINED, WHERE_APPLICATION);
	uint64_t given = 0;
	int err = 0;

	for (unsigned int place = 0; place < CAUSE_PLACES && sum; place++) {
		const uint64_t ns = breakdown_scale(from->ns[place], total, sum);

		breakdown->ns[place] += ns;
		given += ns;
		if (from->ns[place] > from->ns[largest])
			largest = place;
	}
	breakdown->ns[largest] += total - given;
	vec_for_each(&from->shares, s) {
		struct share share = *s;

		share.ns = breakdown_scale(s->ns, total, sum);
		if (!err)
			err = breakdown_add_share(breakdown, share);
	}
	return err;
}

void breakdown_release(struct breakdown *breakdown)
{
	vec_release(&breakdown->shares);
}

/* ---- shares by culprit ---- */

static int excess_order_by_key(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return sort_order(x->culprit, y->culprit) ?: sort_order(x->message, y->message) ?:
	       sort_order(x->detail, y->detail);
}

static int excess_order_by_size(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return excess_order_by_key(a, b);
}

static bool excess_same_culprit(const struct share *a, const struct share *b)
{
	return a->culprit == b->culprit && a->message == b->message && a->detail == b->detail;
}

void excess_merge_shares(struct shares *shares, uint64_t total)
{
	unsigned __int128 sum = 0;
	size_t n = 0;

	if (!shares->len)
		return;
	qsort(shares->items, shares->len, sizeof(*shares->items), excess_order_by_key);
	for (size_t i = 0; i < shares->len; i++) {
		sum += shares->items[i].ns;
		if (n && excess_same_culprit(&shares->items[n - 1], &shares->items[i]))
			shares->items[n - 1].ns += shares->items[i].ns;
		else
			shares->items[n++] = shares->items[i];
	}
	shares->len = n;
	for (size_t i = 0; i < n && sum; i++)
		shares->items[i].ns = (uint64_t)((unsigned __int128)shares->items[i].ns * total /
						 sum);
	qsort(shares->items, n, sizeof(*shares->items), excess_order_by_size);
}

/* ---- baseline ---- */

static int excess_by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t excess_median(uint64_t *values, size_t n)
{
	qsort(values, n, sizeof(*values), excess_by_value);
	return values[(n - 1) / 2];
}

static bool excess_explains(unsigned int place)
{
	return place / WHERE_MAX != CAUSE_NOT_RECORDED && place / WHERE_MAX != CAUSE_UNEXPLAINED;
}

/* Sets the means, and the latency to their sum: the largest gets the remainder of rounding. */
static void baseline_set_means(struct baseline *baseline,
			       const struct breakdown *const *breakdowns, uint32_t n)
{
	unsigned __int128 all = 0;
	unsigned int largest = 0;
	uint64_t given = 0;

	for (unsigned int place = 0; place < CAUSE_PLACES; place++) {
		unsigned __int128 sum = 0;

		for (uint32_t i = 0; i < n; i++)
			sum += breakdowns[i]->ns[place];
		all += sum;
		baseline->expected[place] = (uint64_t)(sum / n);
		given += baseline->expected[place];
		if (baseline->expected[place] > baseline->expected[largest])
			largest = place;
	}
	baseline->latency = (uint64_t)(all / n);
	baseline->expected[largest] += baseline->latency - given;
}

int baseline_make(struct baseline *baseline, const struct breakdown *const *breakdowns, uint32_t n)
{
	uint64_t *values = calloc(n, sizeof(*values));

	if (!values)
		return -ENOMEM;
	baseline->n = n;
	baseline_set_means(baseline, breakdowns, n);
	for (unsigned int place = 0; place < CAUSE_PLACES; place++) {
		uint64_t middle;

		for (uint32_t i = 0; i < n; i++)
			values[i] = breakdowns[i]->ns[place];
		middle = excess_median(values, n);
		for (uint32_t i = 0; i < n; i++)
			values[i] = values[i] > middle ? values[i] - middle : middle - values[i];
		baseline->noise[place] = excess_median(values, n);
	}
	for (uint32_t i = 0; i < n; i++)
		values[i] = breakdowns[i]->served_before;
	baseline->served_before = excess_median(values, n);
	for (uint32_t i = 0; i < n; i++)
		values[i] = breakdowns[i]->packets;
	baseline->packets = excess_median(values, n);
	free(values);
	return 0;
}

/* ---- excess of a target ---- */

uint64_t excess_by_key(const struct excess *excess, unsigned int key)
{
	const unsigned int cause = key % CAUSE_MAX;
	uint64_t ns = 0;

	for (unsigned int w = 0; w < WHERE_MAX; w++)
		ns += EXCESS_KEY(cause, w) == key ? excess->ns[CAUSE_PLACE(cause, w)] : 0;
	return ns;
}

void excess_of(const struct baseline *baseline, const struct breakdown *breakdown, uint64_t latency,
	       const struct excess_options *options, struct excess *out)
{
	const unsigned int rest = CAUSE_PLACE(CAUSE_UNEXPLAINED, options->rest);

	out->latency = latency;
	out->expected = baseline->latency;
	for (unsigned int place = 0; place < CAUSE_PLACES; place++) {
		const int64_t more = (int64_t)(breakdown->ns[place] - baseline->expected[place]);
		const double noise = options->noise_times * (double)baseline->noise[place];

		if (more <= 0) {
			out->offset += more;
		} else if (!excess_explains(place)) {
			out->ns[place] += (uint64_t)more;
		} else if ((uint64_t)more > options->granularity && (double)more > noise) {
			out->ns[place] += (uint64_t)more;
			out->found += (uint64_t)more;
		} else {
			out->ns[rest] += (uint64_t)more;
		}
	}
	out->coverage = NAN;
	if (latency > baseline->latency + options->granularity)
		out->coverage = (double)out->found / (double)(latency - baseline->latency);
}
