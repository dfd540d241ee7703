/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "event/names.h"
#include "report/difference.h"
#include "watch/groups.h"
#include "watch/tables.h"

struct run_row {
	const struct watch_row *row;
	struct hist blocks[CONTRAST_BLOCKS];
	const struct hist *pointers[CONTRAST_BLOCKS];
};

struct watch_run {
	struct watch *w;
	struct run_rows VEC_OF(struct run_row *) rows;
	uint64_t intervals;
	uint64_t together;     /* intervals joined in one block of the comparison */
	/* rows not compared, as beyond WATCH_COMPARE_ROWS; a row counts once per interval */
	uint64_t beyond;
};

int watch_run_new(struct watch_run **out)
{
	struct watch_run *run = calloc(1, sizeof(*run));

	*out = run;
	if (!run)
		return -ENOMEM;
	run->together = 1;
	vec_init(&run->rows, WATCH_COMPARE_ROWS);
	run->w = watch_new(0);
	if (run->w)
		return 0;
	watch_run_free(run);
	*out = NULL;
	return -ENOMEM;
}

void watch_run_free(struct watch_run *run)
{
	if (!run)
		return;
	vec_for_each(&run->rows, item) {
		for (int i = 0; i < CONTRAST_BLOCKS; i++)
			hist_release(&(*item)->blocks[i]);
		free(*item);
	}
	vec_release(&run->rows);
	watch_free(run->w);
	free(run);
}

struct times *watch_run_times(struct watch_run *run)
{
	return &run->w->times;
}

/* ---- intervals ---- */

/*
 * Returns the run's entry for a row, with histograms by block; made if missing. NULL: *err is
 * -ENOMEM, or -E2BIG at the limit.
 */
static struct run_row *watch_run_get_row(struct watch_run *run, const struct watch_row *row,
					 int *err)
{
	const int schema = row->hists[WATCH_INTERVAL][DIST_LATENCY].schema;
	struct run_row *mine;

	vec_for_each(&run->rows, item)
		if ((*item)->row == row)
			return *item;
	*err = run->rows.len < WATCH_COMPARE_ROWS ? 0 : -E2BIG;
	mine = *err ? NULL : calloc(1, sizeof(*mine));
	if (!mine) {
		*err = *err ? *err : -ENOMEM;
		return NULL;
	}
	mine->row = row;
	for (int i = 0; i < CONTRAST_BLOCKS; i++) {
		hist_init(&mine->blocks[i], schema < BUCKET_SCHEMA_DEFAULT ? schema :
								  BUCKET_SCHEMA_DEFAULT);
		mine->pointers[i] = &mine->blocks[i];
	}
	*err = vec_push(&run->rows, mine);
	if (*err) {
		free(mine);
		return NULL;
	}
	return mine;
}

/* Joins pairs of blocks, so that each block has twice as many intervals. Returns 0 or -errno. */
static int watch_run_join_blocks(struct watch_run *run)
{
	int err = 0;

	run->together *= 2;
	vec_for_each(&run->rows, item) {
		struct hist *blocks = (*item)->blocks;

		for (int i = 0; !err && i < CONTRAST_BLOCKS / 2; i++) {
			struct hist first = blocks[2 * i];

			err = hist_merge(&first, &blocks[2 * i + 1]);
			hist_release(&blocks[2 * i + 1]);
			blocks[2 * i] = (struct hist){ .schema = first.schema };
			hist_init(&blocks[2 * i], first.schema);
			hist_init(&blocks[2 * i + 1], first.schema);
			blocks[i] = first;
		}
	}
	return err;
}

static int watch_run_end_interval(struct watch_run *run)
{
	int err =
		run->intervals / run->together == CONTRAST_BLOCKS ? watch_run_join_blocks(run) : 0;
	const uint64_t block = run->intervals / run->together;

	vec_for_each(&run->w->rows, item) {
		const struct hist *gained = &(*item)->hists[WATCH_INTERVAL][DIST_LATENCY];
		struct run_row *row;

		if (err || !gained->count)
			continue;
		row = watch_run_get_row(run, *item, &err);
		if (row) {
			err = hist_merge(&row->blocks[block], gained);
		} else if (err == -E2BIG) {
			run->beyond++;
			err = 0;
		}
	}
	run->intervals++;
	return err;
}

int watch_run_feed(struct watch_run *run, const struct event *event)
{
	int err = watch_feed(run->w, event);

	if (err == -EBADMSG) /* an impossible event: the report counts it */
		return 0;
	return err == WATCH_CLOSED ? watch_run_end_interval(run) : err;
}

bool watch_run_any(const struct watch_run *run)
{
	return run->intervals > 0;
}

uint64_t watch_run_duration_ns(const struct watch_run *run)
{
	const struct watch_period *p = &run->w->periods[WATCH_TOTAL];

	return p->to_ns - p->from_ns;
}

static size_t watch_compare_blocks(const struct watch_run *run)
{
	return (size_t)((run->intervals + run->together - 1) / run->together);
}

/* ---- matching rows ---- */

static bool watch_compare_same_value(const struct value *a, const struct value *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == VALUE_STRING)
		return !strcmp(a->string, b->string);
	if (a->type == VALUE_S64 || a->type == VALUE_U64)
		return a->u64 == b->u64;
	return true;
}

/* Returns true if two rows match. Groups match by labels, as their numbers differ between runs. */
static bool watch_compare_same_row(const struct watch_run *a, const struct watch_row *x,
				   const struct watch_run *b, const struct watch_row *y)
{
	if (x->id.stage != y->id.stage || x->id.direction != y->id.direction ||
	    x->id.protocol != y->id.protocol || x->id.origin != y->id.origin ||
	    !x->id.group != !y->id.group)
		return false;
	for (uint32_t key = GROUP_NONE + 1; key < GROUP_KEY_MAX; key++) {
		const struct value v = watch_group_label(a->w, x, key);
		const struct value w = watch_group_label(b->w, y, key);

		if (!watch_compare_same_value(&v, &w))
			return false;
	}
	return true;
}

static struct run_row *watch_run_find_row(const struct watch_run *run, const struct watch_row *row)
{
	vec_for_each(&run->rows, item)
		if ((*item)->row == row)
			return *item;
	return NULL;
}

static struct run_row *watch_run_find_alike(const struct watch_run *run,
					    const struct watch_run *other,
					    const struct watch_row *row)
{
	vec_for_each(&run->rows, item)
		if (watch_compare_same_row(run, (*item)->row, other, row))
			return *item;
	return NULL;
}

/* ---- comparing ---- */

/* The same row in the runs of both sides; NULL: missing in a run. */
struct row_pair {
	struct run_row *rows[2][DIFFERENCE_RECORDINGS_MAX];
	struct quantile_difference quantiles[REPORT_QUANTILES];
};

struct row_pairs VEC_OF(struct row_pair *);

struct watch_sides {
	const struct watch_side *of[2];
	size_t both;           /* number of runs of both */
};

/* Returns run number `i` of both sides; `which` and `at` tell where it is. */
static struct watch_run *watch_compare_get_run(const struct watch_sides *sides, size_t i,
					       unsigned int *which, size_t *at)
{
	*which = i >= sides->of[0]->n;
	*at = *which ? i - sides->of[0]->n : i;
	return sides->of[*which]->runs[*at];
}

/* Returns a run that has the row, and the row in *row. */
static const struct watch_run *row_pair_first(const struct watch_sides *sides,
					      const struct row_pair *pair,
					      const struct watch_row **row)
{
	for (size_t i = 0; i < sides->both; i++) {
		unsigned int which;
		size_t at;
		const struct watch_run *run = watch_compare_get_run(sides, i, &which, &at);

		if (pair->rows[which][at]) {
			*row = pair->rows[which][at]->row;
			return run;
		}
	}
	return NULL;
}

static int row_pair_to_schema(const struct row_pair *pair, const struct watch_sides *sides,
			      int *lowest)
{
	int err = 0;

	*lowest = BUCKET_SCHEMA_MAX;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; !err && i < sides->both; i++) {
			struct run_row *row;
			unsigned int which;
			size_t at;

			watch_compare_get_run(sides, i, &which, &at);
			row = pair->rows[which][at];
			for (int k = 0; row && !err && k < CONTRAST_BLOCKS; k++) {
				if (pass)
					err = hist_downscale(&row->blocks[k], *lowest);
				else if (row->blocks[k].schema < *lowest)
					*lowest = row->blocks[k].schema;
			}
		}
	return err;
}

static int row_pair_compare(const struct watch_sides *sides, struct row_pair *pair)
{
	struct difference_series *series = calloc(2, sizeof(*series));
	int schema = 0, err = series ? row_pair_to_schema(pair, sides, &schema) : -ENOMEM;

	for (size_t i = 0; !err && i < sides->both; i++) {
		unsigned int which;
		size_t at;
		const struct watch_run *run = watch_compare_get_run(sides, i, &which, &at);
		const struct run_row *row = pair->rows[which][at];
		const struct contrast_run blocks = { row ? row->pointers : NULL,
						     row ? watch_compare_blocks(run) : 0 };

		series[which].schema = schema;
		err = difference_series_add(&series[which], &blocks);
	}
	if (!err)
		err = difference_quantiles(&series[0], &series[1], pair->quantiles);
	free(series);
	return err;
}

static bool row_pairs_have(const struct row_pairs *pairs, const struct run_row *row,
			   unsigned int which, size_t at)
{
	vec_for_each(pairs, pair)
		if ((*pair)->rows[which][at] == row)
			return true;
	return false;
}

/* Adds a row of run `which`, `at`, with the rows like it of the other runs. */
static int row_pairs_add_row(struct row_pairs *pairs, const struct watch_sides *sides,
			     struct run_row *row, unsigned int which, size_t at)
{
	struct row_pair *pair = calloc(1, sizeof(*pair));
	const struct watch_run *own = sides->of[which]->runs[at];
	int err;

	if (!pair)
		return -ENOMEM;
	for (size_t i = 0; i < sides->both; i++) {
		unsigned int other;
		size_t there;
		const struct watch_run *run = watch_compare_get_run(sides, i, &other, &there);

		pair->rows[other][there] =
			run == own ? row : watch_run_find_alike(run, own, row->row);
	}
	err = vec_push(pairs, pair);
	if (err)
		free(pair);
	return err;
}

static int row_pairs_make(const struct watch_sides *sides, struct row_pairs *pairs)
{
	int err = 0;

	for (size_t i = 0; !err && i < sides->both; i++) {
		unsigned int which;
		size_t at;
		struct watch_run *run = watch_compare_get_run(sides, i, &which, &at);

		err = watch_order_rows(run->w);
		if (err)
			return err;
		vec_for_each(&run->w->order, row) {
			struct run_row *mine = watch_run_find_row(run, *row);

			if (!err && mine && !row_pairs_have(pairs, mine, which, at))
				err = row_pairs_add_row(pairs, sides, mine, which, at);
		}
	}
	return err;
}

static int row_pairs_adjust(const struct row_pairs *pairs, struct difference_tally *tally)
{
	struct difference **list = calloc(pairs->len * REPORT_QUANTILES + 1, sizeof(*list));
	size_t n = 0;
	int err;

	if (!list)
		return -ENOMEM;
	vec_for_each(pairs, pair)
		for (int i = 0; i < REPORT_QUANTILES; i++)
			list[n++] = &(*pair)->quantiles[i].d;
	err = difference_judge(list, n, tally);
	free(list);
	return err;
}

static void row_pairs_release(struct row_pairs *pairs)
{
	vec_for_each(pairs, pair)
		free(*pair);
	vec_release(pairs);
}

/* ---- report ---- */

static bool watch_compare_is_grouped(const struct watch_sides *sides)
{
	for (size_t i = 0; i < sides->both; i++) {
		unsigned int which;
		size_t at;

		if (watch_compare_get_run(sides, i, &which, &at)->w->groups.len)
			return true;
	}
	return false;
}

static struct table *watch_compare_new_table(const struct watch_sides *sides, struct report *r)
{
	const bool grouped = watch_compare_is_grouped(sides);
	const struct column columns[] = {
		{ "stage", "stage", 0, 0 },
		{ "direction", "", 0, 0 },
		{ "protocol", "", 0, 0 },
		{ "origin", "from", 0, 0 },
		{ "group", grouped ? "group" : NULL, COLUMN_FLEX, 0 },
		{ "count_a", NULL, 0, 0 },
		{ "count_b", NULL, 0, 0 },
		{ NULL, "p50 in A", 0, 0 },
		{ NULL, "in B", 0, 0 },
		{ NULL, "p99 in A", 0, 0 },
		{ NULL, "in B", 0, 0 },
		{ NULL, "change", 0, 0 },
		{ NULL, "adjusted p", 0, 0 },
		{ NULL, "differs", 0, 0 },
		{ "quantiles", NULL, 0, 0 },
	};

	return table_new(r, columns, ARRAY_LEN(columns));
}

static struct value watch_compare_side_ns(const struct contrast_side *s)
{
	return value_known_ns(s->known, s->ns);
}

/* Returns the number of packets of a row in all runs of a side; null: it is in none. */
static struct value watch_compare_count(const struct row_pair *pair, unsigned int which)
{
	uint64_t count = 0;
	bool any = false;

	for (size_t i = 0; i < DIFFERENCE_RECORDINGS_MAX; i++) {
		const struct run_row *row = pair->rows[which][i];

		any |= row != NULL;
		for (int k = 0; row && k < CONTRAST_BLOCKS; k++)
			count += row->blocks[k].count;
	}
	return any ? value_u64(count) : value_null();
}

static void row_pairs_add(const struct watch_sides *sides, const struct row_pair *pair,
			  struct table *t, struct report *r)
{
	const struct watch_row *row = NULL;
	const struct watch *w = row_pair_first(sides, pair, &row)->w;
	const struct quantile_difference *p50 = &pair->quantiles[REPORT_P50];
	const struct quantile_difference *p99 = &pair->quantiles[REPORT_P99];

	TABLE_ADD(t, value_string(stage_name(row->id.stage)),
		  value_string(direction_name(row->id.direction)),
		  value_string(protocol_name(row->id.protocol)),
		  value_string(origin_name(row->id.origin)), watch_group_value(w, row, r),
		  watch_compare_count(pair, 0), watch_compare_count(pair, 1),
		  watch_compare_side_ns(&p50->a), watch_compare_side_ns(&p50->b),
		  watch_compare_side_ns(&p99->a), watch_compare_side_ns(&p99->b),
		  p99->a.known && p99->b.known ? value_sns((int64_t)(p99->b.ns - p99->a.ns))
					       : value_null(),
		  difference_adjusted(&p99->d), difference_differs(&p99->d),
		  difference_table(r, pair->quantiles));
}

static double watch_compare_factor(const struct quantile_difference *q)
{
	return q ? fabs(log(((double)q->b.ns + 1) / ((double)q->a.ns + 1))) : -1;
}

static void watch_compare_add_finding(const struct watch_sides *sides,
				      const struct row_pairs *pairs, struct report *r)
{
	const struct quantile_difference *best = NULL;
	const struct watch_row *row = NULL;
	bool tested = false, small = false;

	vec_for_each(pairs, pair) {
		const struct quantile_difference *q = difference_greatest((*pair)->quantiles);

		for (int i = 0; i < REPORT_QUANTILES; i++) {
			tested |= (*pair)->quantiles[i].d.c.tested;
			small |= difference_is_too_little(&(*pair)->quantiles[i].d);
		}
		if (q && watch_compare_factor(q) > watch_compare_factor(best)) {
			best = q;
			row_pair_first(sides, *pair, &row);
		}
	}
	if (best)
		report_finding(r, "`%s` (%s, %s, from %s) changed most: %s.",
			       stage_name(row->id.stage), direction_name(row->id.direction),
			       protocol_name(row->id.protocol), origin_name(row->id.origin),
			       difference_phrase(r, best));
	else if (tested)
		report_finding(r, small ? "No stage has a difference that matters." :
					  "No stage differs by more than chance.");
}

/* Adds to `r` the reasons why the run is partial. */
static int watch_compare_add_reasons(struct watch_run *run, const char *which, bool alone,
				     struct report *r)
{
	struct report own;
	int err;

	report_init(&own, &r->provenance);
	err = watch_report(run->w, WATCH_TOTAL, &own);
	if (!err)
		difference_add_reasons(r, &own, which);
	report_release(&own);
	if (alone && watch_compare_blocks(run) < CONTRAST_BLOCKS_MIN)
		report_reason(r, "too-few-intervals", NULL, "%s has too few intervals for a "
			      "significance test (at least %d are needed; see --interval)", which,
			      CONTRAST_BLOCKS_MIN);
	if (run->beyond)
		report_reason(r, "limit", NULL,
			      "%s exceeds the limit of rows: the remaining rows are not compared",
			      which);
	return err;
}

int watch_compare_report(const struct watch_side *a, const struct watch_side *b, struct report *r,
			 struct difference_tally *tally)
{
	const struct watch_sides sides = { { a, b }, a->n + b->n };
	struct table *t = watch_compare_new_table(&sides, r);
	struct row_pairs pairs;
	int err;

	vec_init(&pairs, sides.both * WATCH_COMPARE_ROWS);
	err = row_pairs_make(&sides, &pairs);
	vec_for_each(&pairs, pair)
		if (!err)
			err = row_pair_compare(&sides, *pair);
	if (!err)
		err = row_pairs_adjust(&pairs, tally);
	vec_for_each(&pairs, pair)
		if (!err)
			row_pairs_add(&sides, *pair, t, r);
	object_add(&r->body, "stages", value_table(t));
	if (!err)
		watch_compare_add_finding(&sides, &pairs, r);
	row_pairs_release(&pairs);
	for (size_t i = 0; !err && i < sides.both; i++) {
		unsigned int which;
		size_t at;
		struct watch_run *run = watch_compare_get_run(&sides, i, &which, &at);

		err = watch_compare_add_reasons(run, which ? "B" : "A", sides.both == 2, r);
	}
	return err ? err : report_error(r);
}
