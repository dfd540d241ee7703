/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a report: an arena, and appending to lists in it. Items are never removed, so pointers
 * into the report are valid for its lifetime.
 */
#include "report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "stats/hist.h"

/* Size of an arena's chunk: a report of one interval takes one or two. */
#define CHUNK_BYTES (32UL << 10)

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char bytes[];
};

static const double quantiles[REPORT_QUANTILES] = {
	[REPORT_P50] = 0.5, [REPORT_P90] = 0.9, [REPORT_P99] = 0.99, [REPORT_P999] = 0.999,
};

void report_fail(struct report *r, int error)
{
	if (!r->error)
		r->error = error;
}

static struct chunk *report_add_chunk(struct report *r, size_t size)
{
	struct chunk *c;

	if (size < CHUNK_BYTES)
		size = CHUNK_BYTES;
	if (size > REPORT_MEMORY_MAX - r->bytes) {
		report_fail(r, -E2BIG);
		return NULL;
	}
	c = malloc(sizeof(*c) + size);
	if (!c) {
		report_fail(r, -ENOMEM);
		return NULL;
	}
	*c = (struct chunk){ .next = r->chunks, .size = size };
	r->chunks = c;
	r->bytes += size;
	return c;
}

/* Allocates zeroed memory in the arena; NULL if that, or an earlier allocation, fails. */
static void *report_alloc(struct report *r, size_t size)
{
	struct chunk *c = r->chunks;
	void *p;

	if (r->error)
		return NULL;
	size = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
	if (!c || c->size - c->used < size)
		c = report_add_chunk(r, size);
	if (!c)
		return NULL;
	p = c->bytes + c->used;
	c->used += size;
	return memset(p, 0, size);
}

static const char *report_copy_string(struct report *r, const char *s)
{
	size_t size = s ? strlen(s) + 1 : 0;
	char *p = s ? report_alloc(r, size) : NULL;

	return p ? memcpy(p, s, size) : NULL;
}

static const char *report_vformat(struct report *r, const char *fmt, va_list ap)
{
	va_list again;
	char *p = NULL;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0)
		report_fail(r, -EINVAL);
	else
		p = report_alloc(r, (size_t)len + 1);
	if (p)
		vsnprintf(p, (size_t)len + 1, fmt, ap);
	return p;
}

const char *report_format(struct report *r, const char *fmt, ...)
{
	const char *s;
	va_list ap;

	va_start(ap, fmt);
	s = report_vformat(r, fmt, ap);
	va_end(ap);
	return s ? s : "";
}

/* Returns the value with its strings owned by the report: copies them unless they already are. */
static struct value report_own_value(struct report *r, struct value v)
{
	if (v.type == VALUE_STRING)
		return value_string(report_copy_string(r, v.string));
	return v;
}

void report_init(struct report *r, const struct provenance *provenance)
{
	static const struct column columns[] = {
		{ .name = "code" }, { .name = "message" }, { .name = "evidence" },
	};

	*r = (struct report){ .provenance = *provenance };
	r->summary.report = r;
	r->findings.report = r;
	r->body.report = r;
	r->provenance.version = report_copy_string(r, provenance->version);
	r->provenance.command = report_copy_string(r, provenance->command);
	r->provenance.host = report_copy_string(r, provenance->host);
	r->reasons = table_new(r, columns, sizeof(columns) / sizeof(columns[0]));
}

void report_release(struct report *r)
{
	struct chunk *next;

	if (!r)
		return;
	for (struct chunk *c = r->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	*r = (struct report){ 0 };
}

int report_error(const struct report *r)
{
	return r->error;
}

static void string_list_append(struct string_list *l, const char *string)
{
	struct item *item = string ? report_alloc(l->report, sizeof(*item)) : NULL;

	if (!item)
		return;
	item->string = string;
	if (l->last)
		l->last->next = item;
	else
		l->first = item;
	l->last = item;
	l->count++;
}

void report_headline(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	r->headline = report_vformat(r, fmt, ap);
	va_end(ap);
	r->headline_in_text = true;
}

bool report_headline_has(const struct report *r, const char *finding)
{
	const size_t len = strlen(finding);

	return r->headline_in_text && len && r->headline && finding[len - 1] == '.' &&
	       !strncmp(r->headline, finding, len - 1);
}

void report_headline_said(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	r->headline = report_vformat(r, fmt, ap);
	va_end(ap);
	r->headline_in_text = false;
}

void report_title(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	r->title = report_vformat(r, fmt, ap);
	va_end(ap);
}

void report_summary(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	string_list_append(&r->summary, report_vformat(r, fmt, ap));
	va_end(ap);
}

void report_finding(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	string_list_append(&r->findings, report_vformat(r, fmt, ap));
	va_end(ap);
}

void report_verdict(struct report *r, const char *verdict)
{
	r->verdict = report_copy_string(r, verdict);
}

void report_reason(struct report *r, const char *code, const char *evidence, const char *fmt, ...)
{
	const char *message;
	va_list ap;

	va_start(ap, fmt);
	message = report_vformat(r, fmt, ap);
	va_end(ap);
	TABLE_ADD(r->reasons, value_string(code), value_string(message), value_string(evidence));
	r->partial = true;
	if (!r->verdict)
		report_verdict(r, "partial");
}

void report_place_findings(struct report *r)
{
	object_add(&r->body, "findings", value_list(&r->findings));
}

void report_place_verdict(struct report *r)
{
	object_add(&r->body, "verdict", (struct value){ .type = VALUE_VERDICT });
}

struct object *object_new(struct report *r)
{
	struct object *o = report_alloc(r, sizeof(*o));

	if (o)
		o->report = r;
	return o;
}

void object_add(struct object *o, const char *name, struct value v)
{
	struct object_field *f = o ? report_alloc(o->report, sizeof(*f)) : NULL;

	if (!f)
		return;
	f->name = name;
	f->value = report_own_value(o->report, v);
	if (o->last)
		o->last->next = f;
	else
		o->first = f;
	o->last = f;
}

const struct table *object_table(const struct object *o, const char *name)
{
	for (const struct object_field *f = o->first; f; f = f->next) {
		if (f->value.type == VALUE_TABLE && f->name && !strcmp(f->name, name))
			return f->value.table;
	}
	return NULL;
}

struct string_list *list_new(struct report *r)
{
	struct string_list *l = report_alloc(r, sizeof(*l));

	if (l)
		l->report = r;
	return l;
}

void list_add(struct string_list *l, const char *fmt, ...)
{
	va_list ap;

	if (!l)
		return;
	va_start(ap, fmt);
	string_list_append(l, report_vformat(l->report, fmt, ap));
	va_end(ap);
}

struct table *table_new(struct report *r, const struct column *columns, size_t n)
{
	struct column *own_columns = report_alloc(r, n * sizeof(*columns));
	struct table *t = report_alloc(r, sizeof(*t));

	if (!t || !own_columns)
		return NULL;
	memcpy(own_columns, columns, n * sizeof(*columns));
	*t = (struct table){ .report = r, .columns = own_columns, .ncolumns = n };
	return t;
}

static struct table_row *table_add_row(struct table *t, const struct value *values, size_t n)
{
	struct table_row *row =
		t ? report_alloc(t->report, sizeof(*row) + t->ncolumns * sizeof(*values)) : NULL;

	if (!row)
		return NULL;
	BUG_ON(n > t->ncolumns);
	for (size_t i = 0; i < n; i++)
		row->cells[i] = report_own_value(t->report, values[i]);
	if (t->last)
		t->last->next = row;
	else
		t->first = row;
	t->last = row;
	t->nrows++;
	return row;
}

void table_add(struct table *t, const struct value *values, size_t n)
{
	table_add_row(t, values, n);
}

void table_add_note(struct table *t, const struct value *values, size_t n, const char *fmt, ...)
{
	struct table_row *row = table_add_row(t, values, n);
	va_list ap;

	if (!row)
		return;
	va_start(ap, fmt);
	row->note = report_vformat(t->report, fmt, ap);
	va_end(ap);
}

struct value value_distribution(struct report *r, const struct hist *h)
{
	return value_distribution_sampled(r, h, 1);
}

struct value value_distribution_sampled(struct report *r, const struct hist *h, uint64_t one_in)
{
	const uint64_t measured = h->count / (one_in ? one_in : 1);
	struct distribution *d = report_alloc(r, sizeof(*d));
	struct hist_quantile found;

	if (!d)
		return value_null();
	d->hist = h;
	d->count = h->count;
	d->min = h->min;
	d->max = h->max;
	for (size_t i = 0; i < REPORT_QUANTILES; i++) {
		struct report_quantile_value *q = &d->quantiles[i];

		q->q = quantiles[i];
		q->known = q->bounded = hist_beyond(measured, q->q) >= 1 &&
					hist_quantile(h, q->q, &found) == 0;
		if (!q->known)
			continue;
		q->rough = hist_beyond(measured, q->q) < REPORT_BEYOND_MIN;
		q->ns = found.value;
		q->lo_ns = found.lo;
		q->hi_ns = found.hi;
	}
	return (struct value){ .type = VALUE_DISTRIBUTION, .distribution = d };
}

struct value value_plot(struct report *r, const struct plot *plot)
{
	struct plot *own = report_alloc(r, sizeof(*own));

	if (!own)
		return value_null();
	*own = *plot;
	return (struct value){ .type = VALUE_PLOT, .plot = own };
}
