/* SPDX-License-Identifier: Apache-2.0 */
#include "report/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "report/human.h"
#include "stats/multiple.h"

static const double quantiles_shown[REPORT_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };
static const char *const quantile_names[REPORT_QUANTILES] = { "p50", "p90", "p99", "p99.9" };

/* ---- computing differences ---- */

int difference_quantiles(const struct contrast_run *a, const struct contrast_run *b,
			 struct quantile_difference out[REPORT_QUANTILES])
{
	int err = 0;

	for (int i = 0; !err && i < REPORT_QUANTILES; i++) {
		struct quantile_difference *d = &out[i];

		*d = (struct quantile_difference){ .q = quantiles_shown[i] };
		err = contrast_side(a, d->q, DIFFERENCE_CONFIDENCE, &d->a);
		if (!err)
			err = contrast_side(b, d->q, DIFFERENCE_CONFIDENCE, &d->b);
		if (err)
			break;
		contrast_sides(&d->a, &d->b, &d->d.c);
		err = contrast_shares(a, b, d->q, &d->d.c);
	}
	return err;
}

int difference_judge(struct difference *const *list, size_t n)
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
		list[i]->significant = list[i]->adjusted <= DIFFERENCE_FALSE;
	}
	free(p);
	return err;
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
			  difference_adjusted(&d->d), difference_significant(&d->d));
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

/* ---- reasons of both reports ---- */

void difference_add_reasons(struct report *into, const struct report *from, const char *which)
{
	if (!from->reasons)
		return;
	for (const struct table_row *row = from->reasons->first; row; row = row->next) {
		const struct value *cells = row->cells;

		report_reason(into, cells[0].string,
			      cells[2].type == VALUE_STRING ? cells[2].string : NULL, "%s: %s",
			      which, cells[1].string);
	}
}
