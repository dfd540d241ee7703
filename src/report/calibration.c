/* SPDX-License-Identifier: Apache-2.0 */
#include "report/calibration.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/rng.h"
#include "report/human.h"
#include "stats/special.h"

#define SEED 0x63616c69
#define POWER 0.9

static void calibration_count(const struct quantile_difference *quantiles, unsigned int *differ)
{
	bool any = false;

	for (int i = 0; i < REPORT_QUANTILES; i++) {
		differ[i] += quantiles[i].d.significant;
		any |= quantiles[i].d.significant;
	}
	differ[CALIBRATION_ANY] += any;
}

static int calibration_compare_pairs(const struct difference_series *series,
				     struct calibration_result *out)
{
	struct quantile_difference quantiles[REPORT_QUANTILES];
	int err = 0;

	for (size_t i = 0; i < series->n; i++)
		for (size_t k = i + 1; !err && k < series->n; k++) {
			err = difference_of_two(series, i, series, k, quantiles);
			if (!err)
				err = difference_judge_quantiles(quantiles, NULL);
			if (err)
				return err;
			calibration_count(quantiles, out->pairs_differ);
			out->pairs++;
		}
	return err;
}

static void calibration_copy(const struct difference_series *from, size_t i,
			     struct difference_series *to)
{
	to->schema = from->schema;
	to->strict = from->strict;
	to->runs[to->n] = from->runs[i];
	for (int k = 0; k < REPORT_QUANTILES; k++)
		to->sides[to->n][k] = from->sides[i][k];
	to->n++;
}

static int calibration_compare_single(const struct difference_series *series,
				      struct calibration_result *out)
{
	struct quantile_difference quantiles[REPORT_QUANTILES];
	struct difference_series *sides = calloc(2, sizeof(*sides));
	int err = sides ? 0 : -ENOMEM;

	for (size_t i = 0; !err && series->n > 2 && i < series->n; i++) {
		sides[0].n = sides[1].n = 0;
		for (size_t k = 0; k < series->n; k++)
			calibration_copy(series, k, &sides[k == i]);
		err = difference_quantiles(&sides[0], &sides[1], quantiles);
		if (!err)
			err = difference_judge_quantiles(quantiles, NULL);
		if (err)
			break;
		calibration_count(quantiles, out->single_differ);
		out->single++;
	}
	free(sides);
	return err;
}

/* Draws recordings for both sides without replacement (Fisher and Yates). */
static void calibration_draw(const struct difference_series *series, struct rng *rng,
			     struct difference_series *sides)
{
	size_t order[DIFFERENCE_RECORDINGS_MAX];

	sides[0].n = sides[1].n = 0;
	for (size_t i = 0; i < series->n; i++)
		order[i] = i;
	for (size_t i = 0; i < 2 * CALIBRATION_SIDE; i++) {
		const size_t at = i + rng_below(rng, series->n - i);
		const size_t drawn = order[at];

		order[at] = order[i];
		order[i] = drawn;
		calibration_copy(series, drawn, &sides[i % 2]);
	}
}

static int calibration_compare_draws(const struct difference_series *series,
				     struct calibration_result *out)
{
	struct quantile_difference quantiles[REPORT_QUANTILES];
	struct difference_series *sides;
	struct rng rng;
	int err = 0;

	if (series->n < 2 * CALIBRATION_SIDE)
		return 0;
	sides = calloc(2, sizeof(*sides));
	if (!sides)
		return -ENOMEM;
	rng_init(&rng, SEED);
	while (!err && out->drawn < CALIBRATION_DRAWS) {
		calibration_draw(series, &rng, sides);
		err = difference_quantiles(&sides[0], &sides[1], quantiles);
		if (!err)
			err = difference_judge_quantiles(quantiles, NULL);
		calibration_count(quantiles, out->drawn_differ);
		out->drawn++;
	}
	free(sides);
	return err;
}

/*
 * Returns the change, relative to the value, that a test at 5 % finds with probability POWER if
 * recordings have this standard deviation of the logarithm.
 */
static double calibration_change(double deviation, double na, double nb)
{
	const double df = na + nb - 2;
	const double t = student_quantile(1 - DIFFERENCE_FALSE / 2, df) +
			 student_quantile(POWER, df);

	const double change = expm1(t * deviation * sqrt(1 / na + 1 / nb));

	return change < DIFFERENCE_LEAST ? DIFFERENCE_LEAST : change;
}

int calibration_run(const struct difference_series *series, struct calibration_result *out)
{
	int err;

	*out = (struct calibration_result){ .recordings = series->n };
	for (int i = 0; i < REPORT_QUANTILES; i++) {
		out->deviation[i] = difference_series_deviation(series, i);
		out->found[i] = calibration_change(out->deviation[i], CALIBRATION_SIDE,
						   CALIBRATION_SIDE);
	}
	err = calibration_compare_pairs(series, out);
	if (!err)
		err = calibration_compare_single(series, out);
	return err ? err : calibration_compare_draws(series, out);
}

double calibration_found(const struct difference_series *a, const struct difference_series *b,
			 double *deviation)
{
	double squares = 0;

	if (a->n + b->n < 3 || !a->n || !b->n)
		return *deviation = NAN;
	for (int side = 0; side < 2; side++) {
		const struct difference_series *s = side ? b : a;
		const double x = difference_series_deviation(s, REPORT_P99);

		if (s->n > 1)
			squares += x * x * (double)(s->n - 1);
	}
	*deviation = sqrt(squares / (double)(a->n + b->n - 2));
	return calibration_change(*deviation, (double)a->n, (double)b->n);
}

/* ---- report ---- */

static const struct column calibration_columns[] = {
	{ "of", "", 0, 0 },
	{ "q", NULL, 0, 0 },
	{ NULL, "", 0, 0 },
	{ "deviation", "standard deviation", 0, 0 },
	{ "found", NULL, 0, 0 },
	{ NULL, "3 per side find", 0, 0 },
	{ "pairs", NULL, 0, 0 },
	{ "pairs_differ", NULL, 0, 0 },
	{ NULL, "pairs that differ", 0, 0 },
	{ "single", NULL, 0, 0 },
	{ "single_differ", NULL, 0, 0 },
	{ NULL, "1 against the others", 0, 0 },
	{ "drawn", NULL, 0, 0 },
	{ "drawn_differ", NULL, 0, 0 },
	{ NULL, "3 against 3", 0, 0 },
};

struct table *calibration_table(struct report *r)
{
	return table_new(r, calibration_columns, ARRAY_LEN(calibration_columns));
}

static struct value calibration_known(double fraction)
{
	return isfinite(fraction) ? value_fraction(fraction) : value_null();
}

const char *calibration_change_words(struct report *r, double change)
{
	char percent[HUMAN_MAX];

	return change < 1 ? report_format(r, "%s", human_fraction(percent, change)) :
			    report_format(r, "a factor of %.3g", 1 + change);
}

static struct value calibration_found_words(struct report *r, double found)
{
	return isfinite(found) ? value_string(calibration_change_words(r, found)) : value_null();
}

static struct value calibration_share(struct report *r, unsigned int differ, unsigned int all)
{
	char share[HUMAN_MAX];

	return !all ? value_null() :
	       value_string(report_format(r, "%u of %u (%s)", differ, all,
					  human_fraction(share, (double)differ / all)));
}

void calibration_add(const struct calibration_result *c, const char *of, struct table *t,
		     struct report *r)
{
	static const double qs[REPORT_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };
	static const char *const names[REPORT_QUANTILES + 1] = { "p50", "p90", "p99", "p99.9",
								 "any" };

	for (int i = 0; i <= CALIBRATION_ANY; i++) {
		const bool any = i == CALIBRATION_ANY;

		TABLE_ADD(t, value_string(of), any ? value_null() : value_number(qs[i]),
			  value_string(names[i]),
			  any ? value_null() : calibration_known(c->deviation[i]),
			  any ? value_null() : calibration_known(c->found[i]),
			  any ? value_null() : calibration_found_words(r, c->found[i]),
			  value_u64(c->pairs),
			  value_u64(c->pairs_differ[i]),
			  calibration_share(r, c->pairs_differ[i], c->pairs),
			  value_u64(c->single), value_u64(c->single_differ[i]),
			  calibration_share(r, c->single_differ[i], c->single),
			  value_u64(c->drawn),
			  value_u64(c->drawn_differ[i]),
			  calibration_share(r, c->drawn_differ[i], c->drawn));
	}
}
