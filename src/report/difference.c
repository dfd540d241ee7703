/* SPDX-License-Identifier: Apache-2.0 */
#include "report/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/sort.h"
#include "base/strbuf.h"
#include "report/human.h"
#include "stats/multiple.h"
#include "stats/sample.h"
#include "stats/special.h"

/* A change by a greater factor has no use; it keeps bounds of few recordings within 64 bits. */
#define FACTOR_MAX 1e6

static const double quantiles_shown[REPORT_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };
static const char *const quantile_names[REPORT_QUANTILES] = { "p50", "p90", "p99", "p99.9" };

/* ---- the recordings of a side ---- */

int difference_series_add(struct difference_series *series, const struct contrast_run *run)
{
	struct contrast_side *sides = series->sides[series->n];
	int err = 0;

	if (series->n == DIFFERENCE_RECORDINGS_MAX)
		return -E2BIG;
	for (int i = 0; !err && i < REPORT_QUANTILES; i++)
		err = contrast_side(run, quantiles_shown[i], DIFFERENCE_CONFIDENCE, &sides[i]);
	if (!err)
		series->runs[series->n++] = *run;
	return err;
}

/* Returns the factor by which a bucket's upper edge exceeds its lower edge. */
static double difference_bucket(int schema)
{
	return exp2(exp2(-schema));
}

/* Logarithms of a quantile in each recording that has it, with their errors within. */
struct difference_logs {
	double values[DIFFERENCE_RECORDINGS_MAX], errors[DIFFERENCE_RECORDINGS_MAX];
	size_t n;
};

static void difference_take_logs(const struct difference_series *series, int quantile,
				 struct difference_logs *out)
{
	const double z = normal_quantile((1 + DIFFERENCE_CONFIDENCE) / 2);
	/* the error of a value that may be anywhere in its bucket */
	const double rounding = log(difference_bucket(series->schema)) / sqrt(12);

	out->n = 0;
	for (size_t i = 0; i < series->n; i++) {
		const struct contrast_side *s = &series->sides[i][quantile];
		double error = rounding;

		if (!s->known)
			continue;
		if (s->bounded && s->lo_ns)
			error = fmax(error, log((double)s->hi_ns / (double)s->lo_ns) / (2 * z));
		out->values[out->n] = log((double)(s->ns ?: 1));
		out->errors[out->n++] = error;
	}
}

static struct welch_side difference_welch_side(const struct difference_logs *logs)
{
	return (struct welch_side){ logs->values, logs->errors, logs->n };
}

double difference_series_deviation(const struct difference_series *series, int quantile)
{
	struct difference_logs logs;
	struct welch_side side;

	difference_take_logs(series, quantile, &logs);
	side = difference_welch_side(&logs);
	return logs.n < 2 ? NAN : sqrt(welch_variance(&side));
}

/* ---- computing differences ---- */

static int difference_within(const struct difference_series *a, size_t i,
			     const struct difference_series *b, size_t k, int quantile,
			     struct quantile_difference *out)
{
	int err;

	out->a = a->sides[i][quantile];
	out->b = b->sides[k][quantile];
	contrast_sides(&out->a, &out->b, &out->d.c);
	err = contrast_shares(&a->runs[i], &b->runs[k], out->q, &out->d.c);
	if (a->strict || b->strict)
		out->d.c.tested &= out->d.c.bounded;
	return err;
}

static struct contrast_side difference_mean(const struct difference_logs *logs)
{
	double sum = 0;

	for (size_t i = 0; i < logs->n; i++)
		sum += logs->values[i] / (double)logs->n;
	return (struct contrast_side){ .known = logs->n, .ns = (uint64_t)llround(exp(sum)) };
}

/* Converts a factor of A's value to a difference in ns. */
static double difference_in_ns(const struct contrast_side *a, double logarithm)
{
	return (double)a->ns * expm1(fmin(logarithm, log(FACTOR_MAX)));
}

static int difference_between(const struct difference_series *a, const struct difference_series *b,
			      int quantile, struct quantile_difference *out)
{
	struct difference_logs logs_a, logs_b;
	struct contrast *c = &out->d.c;
	struct welch_side x, y;
	int err;

	difference_take_logs(a, quantile, &logs_a);
	difference_take_logs(b, quantile, &logs_b);
	out->a = difference_mean(&logs_a);
	out->b = difference_mean(&logs_b);
	x = difference_welch_side(&logs_a);
	y = difference_welch_side(&logs_b);
	err = welch_compare(&x, &y, DIFFERENCE_CONFIDENCE, c);
	c->difference = (double)out->b.ns - (double)out->a.ns;
	c->lo = difference_in_ns(&out->a, c->lo);
	c->hi = difference_in_ns(&out->a, c->hi);
	return err;
}

static void difference_set_small_by(struct difference *d, double a, double b, double factor)
{
	d->small = fmax(a, b) < fmin(a, b) * factor;
}

void difference_set_small(struct difference *d, double a, double b)
{
	difference_set_small_by(d, a, b, 1 + DIFFERENCE_LEAST);
}

static void difference_set_small_quantile(struct quantile_difference *d, int schema)
{
	difference_set_small_by(&d->d, (double)d->a.ns, (double)d->b.ns,
				fmax(1 + DIFFERENCE_LEAST, difference_bucket(schema)));
}

int difference_of_two(const struct difference_series *a, size_t i,
		      const struct difference_series *b, size_t k,
		      struct quantile_difference out[REPORT_QUANTILES])
{
	int err = 0;

	for (int at = 0; !err && at < REPORT_QUANTILES; at++) {
		out[at] = (struct quantile_difference){ .q = quantiles_shown[at] };
		err = difference_within(a, i, b, k, at, &out[at]);
		difference_set_small_quantile(&out[at], a->schema);
	}
	return err;
}

int difference_bounds(const struct difference_series *a, const struct difference_series *b,
		      int quantile, struct quantile_difference *out)
{
	if (a->n != 1 || b->n != 1)
		return difference_between(a, b, quantile, out);
	out->a = a->sides[0][quantile];
	out->b = b->sides[0][quantile];
	contrast_sides(&out->a, &out->b, &out->d.c);
	return 0;
}

int difference_quantiles(const struct difference_series *a, const struct difference_series *b,
			 struct quantile_difference out[REPORT_QUANTILES])
{
	int err = 0;

	if (a->n == 1 && b->n == 1)
		return difference_of_two(a, 0, b, 0, out);
	for (int at = 0; !err && at < REPORT_QUANTILES; at++) {
		out[at] = (struct quantile_difference){ .q = quantiles_shown[at] };
		err = difference_between(a, b, at, &out[at]);
		difference_set_small_quantile(&out[at], a->schema);
	}
	return err;
}

/* ---- means of blocks ---- */

static struct welch_side difference_take_means(const struct difference_blocks *all, size_t n,
					       struct difference_logs *out)
{
	out->n = 0;
	for (size_t i = 0; i < n && out->n < DIFFERENCE_RECORDINGS_MAX; i++) {
		if (!all[i].n)
			continue;
		out->values[out->n] = sample_mean(all[i].blocks, all[i].n);
		out->errors[out->n++] = contrast_error(all[i].blocks, all[i].n);
	}
	return difference_welch_side(out);
}

int difference_means(const struct difference_blocks *a, size_t na,
		     const struct difference_blocks *b, size_t nb, struct difference *out)
{
	struct difference_logs values_a, values_b;
	struct welch_side x, y;

	if (na == 1 && nb == 1)
		return contrast_means(a->blocks, a->n, b->blocks, b->n, DIFFERENCE_CONFIDENCE,
				      &out->c);
	x = difference_take_means(a, na, &values_a);
	y = difference_take_means(b, nb, &values_b);
	return welch_compare(&x, &y, DIFFERENCE_CONFIDENCE, &out->c);
}

/* ---- significance ---- */

int difference_judge(struct difference *const *list, size_t n, struct difference_tally *tally)
{
	double *p = calloc(2 * n + 1, sizeof(*p)), *adjusted = p + n;
	size_t tested = 0;
	int err;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (list[i]->c.tested)
			p[tested++] = list[i]->c.p;
	err = fdr_adjust(p, tested, adjusted);
	tested = 0;
	for (size_t i = 0; !err && i < n; i++) {
		if (!list[i]->c.tested)
			continue;
		list[i]->adjusted = adjusted[tested++];
		list[i]->significant = list[i]->adjusted <= DIFFERENCE_FALSE && !list[i]->small;
		if (tally) {
			tally->tested++;
			tally->significant += list[i]->significant;
		}
	}
	free(p);
	return err;
}

int difference_judge_quantiles(struct quantile_difference quantiles[REPORT_QUANTILES],
			       struct difference_tally *tally)
{
	struct difference *list[REPORT_QUANTILES];

	for (int i = 0; i < REPORT_QUANTILES; i++)
		list[i] = &quantiles[i].d;
	return difference_judge(list, REPORT_QUANTILES, tally);
}

/* ---- fields and text ---- */

struct value difference_lo(const struct difference *d)
{
	return d->c.bounded ? value_sns((int64_t)floor(d->c.lo)) : value_null();
}

struct value difference_hi(const struct difference *d)
{
	return d->c.bounded ? value_sns((int64_t)ceil(d->c.hi)) : value_null();
}

struct value difference_p(const struct difference *d)
{
	return d->c.tested ? value_number(d->c.p) : value_null();
}

struct value difference_adjusted(const struct difference *d)
{
	return d->c.tested ? value_fraction(d->adjusted) : value_null();
}

struct value difference_significant(const struct difference *d)
{
	return d->c.tested ? value_bool(d->significant) : value_null();
}

struct value difference_why(const struct difference *d)
{
	if (d->significant)
		return value_null();
	return value_string(!d->c.tested ? "untested" :
			    difference_is_too_little(d) ? "least-effect" : "chance");
}

struct value difference_differs(const struct difference *d)
{
	if (!d->c.tested)
		return value_null();
	return value_string(d->significant ? "yes" :
			    difference_is_too_little(d) ? "too little" : "no");
}

struct value difference_interval(struct report *r, const struct difference *d)
{
	char lo[HUMAN_MAX], hi[HUMAN_MAX];

	if (!d->c.bounded)
		return value_null();
	return value_string(report_format(r, "%s to %s", human_sns(lo, (int64_t)floor(d->c.lo)),
					  human_sns(hi, (int64_t)ceil(d->c.hi))));
}

static const struct column quantile_columns[] = {
	{ NULL, "", 0, 0 },
	{ "q", NULL, 0, 0 },
	{ "a_ns", "A", 0, 0 },
	{ "b_ns", "B", 0, 0 },
	{ "difference_ns", "change", 0, 0 },
	{ "lo_ns", NULL, 0, 0 },
	{ "hi_ns", NULL, 0, 0 },
	{ NULL, "95 % interval", COLUMN_FLEX, 0 },
	{ "p_value", NULL, 0, 0 },
	{ "adjusted_p", "adjusted p", 0, 0 },
	{ "significant", NULL, 0, 0 },
	{ "why", NULL, 0, 0 },
	{ NULL, "differs", 0, 0 },
};

struct value difference_table(struct report *r, const struct quantile_difference *quantiles)
{
	struct table *t = table_new(r, quantile_columns, ARRAY_LEN(quantile_columns));

	for (int i = 0; i < REPORT_QUANTILES; i++) {
		const struct quantile_difference *d = &quantiles[i];

		TABLE_ADD(t, value_string(quantile_names[i]), value_number(d->q),
			  value_known_ns(d->a.known, d->a.ns),
			  value_known_ns(d->b.known, d->b.ns),
			  d->a.known && d->b.known ?
				value_sns((int64_t)(d->b.ns - d->a.ns)) : value_null(),
			  difference_lo(&d->d), difference_hi(&d->d),
			  difference_interval(r, &d->d), difference_p(&d->d),
			  difference_adjusted(&d->d), difference_significant(&d->d),
			  difference_why(&d->d), difference_differs(&d->d));
	}
	return value_table(t);
}

static double difference_factor(const struct quantile_difference *d)
{
	return fabs(log(((double)d->b.ns + 1) / ((double)d->a.ns + 1)));
}

const struct quantile_difference *difference_greatest(const struct quantile_difference *quantiles)
{
	const struct quantile_difference *greatest = NULL;

	for (int i = 0; i < REPORT_QUANTILES; i++) {
		const struct quantile_difference *d = &quantiles[i];

		if (d->d.significant && d->a.ns != d->b.ns &&
		    (!greatest || difference_factor(d) > difference_factor(greatest)))
			greatest = d;
	}
	return greatest;
}

const char *difference_phrase(struct report *r, const struct quantile_difference *quantile)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];
	int at = 0;

	while (at < REPORT_QUANTILES - 1 && quantiles_shown[at] != quantile->q)
		at++;
	return report_format(r, "%s %s from %s to %s", quantile_names[at],
			     quantile->b.ns < quantile->a.ns ? "fell" : "rose",
			     human_ns(a, quantile->a.ns), human_ns(b, quantile->b.ns));
}

/* ---- findings ---- */

static const char *difference_adjusted_human(char *buf, const struct difference *d)
{
	return human_fraction(buf, d->adjusted);
}

static int difference_by_significance(const void *a, const void *b)
{
	const struct quantile_difference *x = *(const struct quantile_difference *const *)a;
	const struct quantile_difference *y = *(const struct quantile_difference *const *)b;

	return sort_order(x->d.adjusted, y->d.adjusted) ?:
	       sort_order(difference_factor(y), difference_factor(x)) ?: sort_order(x->q, y->q);
}

/* Adds the quantiles that differ besides p99, the most significant first, as one finding. */
static void difference_add_others(struct report *r, const char *of,
				  const struct quantile_difference *quantiles)
{
	const struct quantile_difference *others[REPORT_QUANTILES];
	struct strbuf text = STRBUF_INIT(1024);
	size_t n = 0;

	for (int i = 0; i < REPORT_QUANTILES; i++)
		if (i != REPORT_P99 && quantiles[i].d.significant)
			others[n++] = &quantiles[i];
	qsort(others, n, sizeof(*others), difference_by_significance);
	for (size_t i = 0; i < n; i++)
		strbuf_printf(&text, "%s%s", i ? ", " : "", difference_phrase(r, others[i]));
	if (n)
		report_finding(r, "Other quantiles of the %s: %s.", of, strbuf_str(&text));
	strbuf_release(&text);
}

static void difference_add_p99(struct report *r, const char *of,
			       const struct quantile_difference *p99)
{
	char a[HUMAN_MAX], b[HUMAN_MAX], p[HUMAN_MAX];
	const char *values = report_format(r, "%s in A, %s in B", human_ns(a, p99->a.ns),
					   human_ns(b, p99->b.ns));

	if (p99->d.significant)
		report_finding(r, "The %s' %s (adjusted p %s).", of, difference_phrase(r, p99),
			       difference_adjusted_human(p, &p99->d));
	else if (difference_is_too_little(&p99->d))
		report_finding(r, "The %s' p99 has no difference that matters: %s.", of, values);
	else if (p99->d.c.tested)
		report_finding(r, "The %s' p99 does not differ by more than chance: %s (adjusted "
			       "p %s).", of, values, difference_adjusted_human(p, &p99->d));
	else if (p99->a.known && p99->b.known)
		report_finding(r, "Whether the %s' p99 differs is unknown: %s.", of, values);
}

void difference_add_findings(struct report *r, const char *of,
			     const struct quantile_difference *quantiles)
{
	difference_add_p99(r, of, &quantiles[REPORT_P99]);
	difference_add_others(r, of, quantiles);
}

/* ---- reasons of both reports ---- */

static bool difference_has_reason(const struct report *r, const char *code, const char *message)
{
	if (!r->reasons)
		return false;
	for (const struct table_row *row = r->reasons->first; row; row = row->next)
		if (!strcmp(row->cells[0].string, code) && !strcmp(row->cells[1].string, message))
			return true;
	return false;
}

void difference_add_reasons(struct report *into, const struct report *from, const char *which)
{
	if (!from->reasons)
		return;
	for (const struct table_row *row = from->reasons->first; row; row = row->next) {
		const struct value *cells = row->cells;
		const char *message = report_format(into, "%s: %s", which, cells[1].string);

		if (message && !difference_has_reason(into, cells[0].string, message))
			report_reason(into, cells[0].string,
				      cells[2].type == VALUE_STRING ? cells[2].string : NULL, "%s",
				      message);
	}
}
