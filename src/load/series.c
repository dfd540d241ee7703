/* SPDX-License-Identifier: Apache-2.0 */
#include "load/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "stats/bucket_edges.h"

static void window_init(struct series_window *w)
{
	*w = (struct series_window){ 0 };
	for (int i = 0; i < LOAD_FROMS; i++)
		hist_init(&w->latency[i], LOAD_SCHEMA);
	for (int i = 0; i < SERIES_LAGS; i++)
		hist_init(&w->lag[i], SERIES_LAG_SCHEMA);
}

static void window_release(struct series_window *w)
{
	for (int i = 0; i < LOAD_FROMS; i++)
		hist_release(&w->latency[i]);
	for (int i = 0; i < SERIES_LAGS; i++)
		hist_release(&w->lag[i]);
	free(w->parts);
	w->parts = NULL;
	w->parts_len = 0;
}

int series_init(struct series *series, uint64_t expected_ns)
{
	*series = (struct series){ .shift = SERIES_SHIFT };
	while (expected_ns >> series->shift >= SERIES_WINDOWS - 1)
		series->shift++;
	series->windows = malloc(SERIES_WINDOWS * sizeof(*series->windows));
	if (!series->windows)
		return -ENOMEM;
	for (int i = 0; i < SERIES_WINDOWS; i++)
		window_init(&series->windows[i]);
	return 0;
}

void series_release(struct series *series)
{
	if (!series->windows)
		return;
	for (int i = 0; i < SERIES_WINDOWS; i++)
		window_release(&series->windows[i]);
	free(series->windows);
	*series = (struct series){ 0 };
}

/* ---- parts ---- */

uint32_t series_part_row(uint64_t ns)
{
	if (ns > BUCKET_LIMIT)
		return SERIES_PART_ROWS - 1;
	return ns ? bucket_edges_index(SERIES_PART_SCHEMA, ns) : 0;
}

static int parts_cover(struct series_window *w, uint32_t from, uint32_t to)
{
	uint32_t end = w->parts_first + w->parts_len;
	struct parts_row *rows;

	if (w->parts_len && from >= w->parts_first && to <= end)
		return 0;
	if (w->parts_len) {
		from = from < w->parts_first ? from : w->parts_first;
		to = to > end ? to : end;
	}
	rows = calloc(to - from, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	if (w->parts_len)
		memcpy(rows + (w->parts_first - from), w->parts, w->parts_len * sizeof(*rows));
	free(w->parts);
	w->parts = rows;
	w->parts_first = from;
	w->parts_len = to - from;
	return 0;
}

static void parts_add(struct parts_row *into, const struct parts_row *from)
{
	into->count += from->count;
	for (int i = 0; i < LOAD_PARTS; i++)
		into->ns[i] += from->ns[i];
}

static int series_add_parts(struct series_window *w, const struct event_sample *sample)
{
	const uint32_t at = series_part_row(sample->done - sample->intended);
	struct parts_row row = { .count = 1 };
	int err = parts_cover(w, at, at + 1);

	if (err)
		return err;
	load_parts(sample, row.ns);
	parts_add(&w->parts[at - w->parts_first], &row);
	return 0;
}

/* ---- windows ---- */

static int window_merge(struct series_window *into, struct series_window *from)
{
	int err = 0;

	for (int i = 0; !err && i < SERIES_LAGS; i++)
		err = hist_merge(&into->lag[i], &from->lag[i]);
	for (int i = 0; !err && i < LOAD_FROMS; i++)
		err = hist_merge(&into->latency[i], &from->latency[i]);
	if (!err && from->parts_len)
		err = parts_cover(into, from->parts_first, from->parts_first + from->parts_len);
	if (err)
		return err;
	for (uint32_t i = 0; i < from->parts_len; i++)
		parts_add(&into->parts[from->parts_first + i - into->parts_first],
			  &from->parts[i]);
	into->failed += from->failed;
	into->censored += from->censored;
	window_release(from);
	window_init(from);
	return 0;
}

/* Doubles the width of windows by merging pairs; a window without a partner only moves. */
static int series_widen(struct series *series)
{
	const uint64_t first = series->first >> 1;
	uint32_t n = 0;
	int err;

	for (uint32_t i = 0; i < series->n; i++) {
		const uint32_t to = (uint32_t)(((series->first + i) >> 1) - first);
		struct series_window *from = &series->windows[i];

		n = to + 1;
		if (to == i)
			continue;
		if (!((series->first + i) & 1) || !i) {
			struct series_window empty = series->windows[to];

			series->windows[to] = *from;
			*from = empty;
			continue;
		}
		err = window_merge(&series->windows[to], from);
		if (err)
			return err;
	}
	series->first = first;
	series->n = n;
	series->shift++;
	return 0;
}

/* Makes space for `by` windows before the first, by moving all windows up. */
static void shift_up(struct series *series, uint32_t by)
{
	for (uint32_t i = series->n; i-- > 0;) {
		struct series_window empty = series->windows[i + by];

		series->windows[i + by] = series->windows[i];
		series->windows[i] = empty;
	}
	series->first -= by;
	series->n += by;
}

/* Returns the window that contains time `ns`; NULL: no memory. */
static struct series_window *series_window_of(struct series *series, uint64_t ns)
{
	uint64_t at = ns >> series->shift;

	if (!series->n) {
		series->first = at;
		series->n = 1;
	}
	while (at >= series->first + SERIES_WINDOWS ||
	       (at < series->first && series->first + series->n - at > SERIES_WINDOWS)) {
		if (series_widen(series))
			return NULL;
		at = ns >> series->shift;
	}
	if (at < series->first)
		shift_up(series, (uint32_t)(series->first - at));
	if (at - series->first >= series->n)
		series->n = (uint32_t)(at - series->first) + 1;
	return &series->windows[at - series->first];
}

static int add_lag(struct series *series, const struct event_sample *sample, enum series_lag which,
		   struct series_window **window)
{
	if (sample->sent < sample->intended || sample->done < sample->sent)
		return -EBADMSG;
	*window = series_window_of(series, sample->intended);
	if (!*window)
		return -ENOMEM;
	return hist_record(&(*window)->lag[which], sample->sent - sample->intended);
}

int series_add_load(struct series *series, const struct event_sample *sample)
{
	struct series_window *w;

	return add_lag(series, sample, LAG_LOAD, &w);
}

int series_add(struct series *series, const struct event_sample *sample)
{
	struct series_window *w = NULL;
	uint64_t kernel;
	int err = add_lag(series, sample, LAG_COUNTED, &w);

	if (!w)
		return err;
	if (err || sample->flags & SAMPLE_FAILED) {
		w->failed += !err;
		return err;
	}
	err = hist_record(&w->latency[LOAD_INTENDED], sample->done - sample->intended);
	if (!err)
		err = hist_record(&w->latency[LOAD_ACTUAL], sample->done - sample->sent);
	if (!err && load_kernel_ns(sample, &kernel))
		err = hist_record(&w->latency[LOAD_KERNEL], kernel);
	w->censored += load_kernel_censored(sample);
	return err ? err : series_add_parts(w, sample);
}

int series_add_failed(struct series *series, uint64_t intended_ns)
{
	struct series_window *w = series_window_of(series, intended_ns);

	if (!w)
		return -ENOMEM;
	w->failed++;
	return 0;
}

int series_add_undisturbed(struct series *series, uint64_t intended_ns, uint64_t latency_ns)
{
	struct series_window *w = series_window_of(series, intended_ns);

	return w ? hist_record(&w->latency[LOAD_UNDISTURBED], latency_ns) : -ENOMEM;
}

uint32_t series_before(const struct series *series, uint64_t ns)
{
	const uint64_t at = ns >> series->shift;

	if (!series->n || at <= series->first)
		return 0;
	return at - series->first < series->n ? (uint32_t)(at - series->first) : series->n;
}

/* ---- sums over windows ---- */

int series_pool(const struct series *series, uint32_t from, uint32_t to, enum load_from which,
		struct hist *out)
{
	int err = 0;

	for (uint32_t i = from; !err && i < to; i++)
		err = hist_merge(out, &series->windows[i].latency[which]);
	return err;
}

int series_pool_lag(const struct series *series, uint32_t from, uint32_t to, enum series_lag which,
		    struct hist *out)
{
	int err = 0;

	for (uint32_t i = from; !err && i < to; i++)
		err = hist_merge(out, &series->windows[i].lag[which]);
	return err;
}

uint64_t series_failed(const struct series *series, uint32_t from, uint32_t to)
{
	uint64_t failed = 0;

	for (uint32_t i = from; i < to; i++)
		failed += series->windows[i].failed;
	return failed;
}

uint64_t series_censored(const struct series *series, uint32_t from, uint32_t to)
{
	uint64_t censored = 0;

	for (uint32_t i = from; i < to; i++)
		censored += series->windows[i].censored;
	return censored;
}

void series_pool_parts(const struct series *series, uint32_t from, uint32_t to,
		       struct parts_row *rows)
{
	for (uint32_t i = from; i < to; i++) {
		const struct series_window *w = &series->windows[i];

		for (uint32_t k = 0; k < w->parts_len; k++)
			parts_add(&rows[w->parts_first + k], &w->parts[k]);
	}
}
