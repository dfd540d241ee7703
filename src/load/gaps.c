/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gaps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "stats/uniformity.h"

/* Largest relative error of a correct gap in a fixed schedule. */
#define FIXED_TOLERANCE 0.25

#define SLOT_MAX_NS 86400e9

int gaps_init(struct gaps *gaps, const struct arrival *arrival, double rate, uint64_t duration_ns)
{
	const double slot = fmin(GAPS_PER_SLOT / rate * 1e9, SLOT_MAX_NS);
	const double expected = rate * (double)duration_ns / 1e9;

	*gaps = (struct gaps){
		.arrival = *arrival, .rate = rate, .duration_ns = duration_ns,
		.slot_ns = (uint64_t)fmax(slot, 1),
		.every = (uint64_t)fmax(expected / (2 * GAPS_KEPT), 1),
		.schedule.stride = 1, .sent.stride = 1,
	};
	gaps->schedule.items = malloc(GAPS_KEPT * sizeof(double));
	gaps->sent.items = malloc(GAPS_KEPT * sizeof(double));
	return gaps->schedule.items && gaps->sent.items ? 0 : -ENOMEM;
}

void gaps_release(struct gaps *gaps)
{
	free(gaps->schedule.items);
	free(gaps->sent.items);
	*gaps = (struct gaps){ 0 };
}

void gap_queue_init(struct gap_queue *queue)
{
	*queue = (struct gap_queue){ 0 };
	vec_init(&queue->pending, GAPS_PENDING);
}

void gap_queue_release(struct gap_queue *queue)
{
	vec_release(&queue->pending);
}

int gaps_add(struct gaps *gaps, struct gap_queue *queue, uint64_t intended, uint64_t sent)
{
	const uint64_t slot = intended / gaps->slot_ns;
	int err;

	if (slot % gaps->every)
		return 0;
	err = vec_push(&queue->pending, (struct gap_times){ intended, sent });
	if (!err && (queue->pending.len == 1 || slot < queue->first))
		queue->first = slot;
	if (err != -E2BIG)
		return err;
	if (!queue->overflow || slot < queue->full_from)
		queue->full_from = slot;
	if (!queue->overflow || slot > queue->full_to)
		queue->full_to = slot;
	queue->overflow = true;
	gaps->skipped++;
	return 0;
}

static void gaps_keep_value(struct gap_values *values, double value)
{
	if (values->seen++ % values->stride)
		return;
	if (values->n == GAPS_KEPT) {
		values->n /= 2;
		for (size_t i = 0; i < values->n; i++)
			values->items[i] = values->items[2 * i];
		values->stride *= 2;
		if ((values->seen - 1) % values->stride)
			return;
	}
	values->items[values->n++] = value;
}

static int gaps_order_by_intended(const void *a, const void *b)
{
	const struct gap_times *x = a, *y = b;

	return sort_order(x->intended, y->intended) ?: sort_order(x->sent, y->sent);
}

static int gaps_order_by_sent(const void *a, const void *b)
{
	const struct gap_times *x = a, *y = b;

	return sort_order(x->sent, y->sent);
}

static void gaps_keep_gap(struct gaps *gaps, struct gap_values *values, uint64_t started,
			  uint64_t from, uint64_t to)
{
	double u;

	if (from < started)
		return;
	u = arrival_gap_probability(&gaps->arrival, gaps->rate, gaps->duration_ns,
				    (double)(from - started), (double)(to - started));
	if (!isnan(u))
		gaps_keep_value(values, u);
}

/*
 * Stores the scheduled and the actual gaps between the requests of one time slot. `times` holds all
 * requests of the slot, by intended time.
 */
static void gaps_keep_slot(struct gaps *gaps, struct gap_times *times, size_t n, uint64_t started)
{
	for (size_t i = 1; i < n; i++)
		gaps_keep_gap(gaps, &gaps->schedule, started, times[i - 1].intended,
			      times[i].intended);
	qsort(times, n, sizeof(*times), gaps_order_by_sent);
	for (size_t i = 1; i < n; i++)
		gaps_keep_gap(gaps, &gaps->sent, started, times[i - 1].sent, times[i].sent);
}

void gaps_keep_complete(struct gaps *gaps, struct gap_queue *queue, uint64_t started,
			uint64_t oldest)
{
	struct gap_times *times = queue->pending.items;
	const size_t n = queue->pending.len;
	size_t from = 0, to;

	/* Sorting is most of the work, and calls are more frequent than slots. */
	if (!n || (queue->first + 1) * gaps->slot_ns > oldest)
		return;
	qsort(times, n, sizeof(*times), gaps_order_by_intended);
	for (; from < n; from = to) {
		const uint64_t slot = times[from].intended / gaps->slot_ns;

		if ((slot + 1) * gaps->slot_ns > oldest)
			break;
		for (to = from; to < n && times[to].intended / gaps->slot_ns == slot; to++)
			;
		if (!queue->overflow || slot < queue->full_from || slot > queue->full_to)
			gaps_keep_slot(gaps, times + from, to - from, started);
	}
	memmove(times, times + from, (n - from) * sizeof(*times));
	queue->pending.len = n - from;
	queue->first = from < n ? times[0].intended / gaps->slot_ns : 0;
}

/* Finds the share of wrong gaps in a fixed schedule, whose values are gaps over their mean. */
static void fit_fixed(const struct gap_values *values, struct gap_fit *out)
{
	size_t off = 0;

	for (size_t i = 0; i < values->n; i++)
		off += fabs(values->items[i] - 1) > FIXED_TOLERANCE;
	out->effect = (double)off / (double)values->n;
	out->p = off ? 0 : 1;
}

int gaps_fit(const struct gaps *gaps, const struct gap_values *values, struct gap_fit *out)
{
	struct uniformity fit;
	double *copy;
	int err;

	*out = (struct gap_fit){ .known = values->n > 0, .n = values->n, .p = 1 };
	if (!values->n)
		return 0;
	if (gaps->arrival.kind == ARRIVAL_FIXED) {
		fit_fixed(values, out);
		return 0;
	}
	copy = malloc(values->n * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, values->items, values->n * sizeof(*copy));
	err = uniformity_test(copy, values->n, &fit);
	free(copy);
	if (err)
		return err;
	out->p = fmin(1, 2 * fmin(fit.ad_p, fit.ks_p));
	out->effect = fit.effect;
	return 0;
}
