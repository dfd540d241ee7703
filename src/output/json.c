/* SPDX-License-Identifier: Apache-2.0 */
#include "output/json.h"

#include "output/json_writer.h"
#include "stats/bucket_edges.h"
#include "stats/hist.h"

static void json_put_value(struct json_writer *w, const char *name, const struct value *v);

static void json_put_ns(struct json_writer *w, const char *name, uint64_t ns, bool known)
{
	if (known)
		json_u64(w, name, ns);
	else
		json_null(w, name);
}

static void json_put_quantiles(struct json_writer *w, const struct distribution *d)
{
	json_begin_array(w, "quantiles");
	for (int i = 0; i < REPORT_QUANTILES; i++) {
		const struct report_quantile_value *q = &d->quantiles[i];

		json_begin_object(w, NULL);
		json_double(w, "q", q->q);
		json_put_ns(w, "ns", q->ns, q->known);
		json_put_ns(w, "lo_ns", q->lo_ns, q->bounded);
		json_put_ns(w, "hi_ns", q->hi_ns, q->bounded);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_put_bucket(struct json_writer *w, uint64_t le_ns, bool limited, uint64_t count)
{
	json_begin_object(w, NULL);
	json_put_ns(w, "le_ns", le_ns, limited);
	json_u64(w, "count", count);
	json_end_object(w);
}

/* Writes the buckets. Values above the highest bucket have no upper edge: le_ns is null. */
static void json_put_buckets(struct json_writer *w, const struct hist *h)
{
	int32_t index = INT32_MIN;
	uint64_t count;

	json_begin_array(w, "buckets");
	if (h->zero)
		json_put_bucket(w, 0, true, h->zero);
	while (hist_next(h, &index, &count))
		json_put_bucket(w, bucket_edges_floor(h->schema, index), true, count);
	if (h->over)
		json_put_bucket(w, 0, false, h->over);
	json_end_array(w);
}

static void json_put_distribution(struct json_writer *w, const struct distribution *d)
{
	const struct hist *h = d->hist;
	bool extremes = h->count && h->min <= h->max;

	json_u64(w, "count", h->count);
	json_put_ns(w, "sum_ns", h->sum, h->sum != UINT64_MAX);
	json_put_ns(w, "min_ns", h->min, extremes);
	json_put_ns(w, "max_ns", h->max, extremes);
	json_put_quantiles(w, d);
	json_put_buckets(w, h);
}

static void json_put_object(struct json_writer *w, const char *name, const struct object *o)
{
	json_begin_object(w, name);
	for (const struct object_field *f = o->first; f; f = f->next)
		json_put_value(w, f->name, &f->value);
	json_end_object(w);
}

static void json_put_list(struct json_writer *w, const char *name, const struct string_list *l)
{
	json_begin_array(w, name);
	for (const struct item *i = l->first; i; i = i->next)
		json_string(w, NULL, i->string);
	json_end_array(w);
}

static void json_put_row(struct json_writer *w, const struct table *t, const struct table_row *row)
{
	json_begin_object(w, NULL);
	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct column *c = &t->columns[i];
		const struct value *v = &row->cells[i];

		if (!c->name)
			continue;
		if (v->type == VALUE_DISTRIBUTION && c->flags & COLUMN_INLINE)
			json_put_distribution(w, v->distribution);
		else
			json_put_value(w, c->name, v);
	}
	json_end_object(w);
}

static void json_put_table(struct json_writer *w, const char *name, const struct table *t)
{
	json_begin_array(w, name);
	for (const struct table_row *row = t->first; row; row = row->next) {
		if (!row->note)
			json_put_row(w, t, row);
	}
	json_end_array(w);
}

static void json_put_value(struct json_writer *w, const char *name, const struct value *v)
{
	switch (v->type) {
	case VALUE_ABSENT:
	case VALUE_PLOT:
	case VALUE_VERDICT:
		return;
	case VALUE_NULL:
		json_null(w, name);
		return;
	case VALUE_BOOL:
		json_bool(w, name, v->boolean);
		return;
	case VALUE_U64:
	case VALUE_NS:
		json_u64(w, name, v->u64);
		return;
	case VALUE_S64:
	case VALUE_SNS:
		json_s64(w, name, v->s64);
		return;
	case VALUE_FRACTION:
		json_double(w, name, v->fraction);
		return;
	case VALUE_NUMBER:
		json_double(w, name, v->number);
		return;
	case VALUE_STRING:
		json_string(w, name, v->string);
		return;
	case VALUE_JSON:
		json_document(w, name, v->string);
		return;
	case VALUE_OBJECT:
		json_put_object(w, name, v->object);
		return;
	case VALUE_LIST:
		json_put_list(w, name, v->list);
		return;
	case VALUE_TABLE:
		json_put_table(w, name, v->table);
		return;
	case VALUE_DISTRIBUTION:
		json_begin_object(w, name);
		json_put_distribution(w, v->distribution);
		json_end_object(w);
		return;
	}
}

static void json_put_provenance(struct json_writer *w, const struct provenance *p)
{
	json_begin_object(w, "hostlat");
	json_string(w, "version", p->version);
	json_string(w, "command", p->command);
	json_u64(w, "schema", p->schema);
	json_string(w, "host", p->host);
	json_put_ns(w, "started_ns", p->started_ns, p->started_ns != 0);
	json_end_object(w);
}

static void json_put_verdict(struct json_writer *w, const struct report *r)
{
	if (!r->verdict)
		return;
	json_string(w, "verdict", r->verdict);
	json_put_table(w, "reasons", r->reasons);
}

void json_report(const struct report *r, enum json_layout layout, struct strbuf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, layout == JSON_DOCUMENT ? 2 : 0);
	json_begin_object(&w, NULL);
	json_put_provenance(&w, &r->provenance);
	if (r->headline)
		json_string(&w, "headline", r->headline);
	for (const struct object_field *f = r->body.first; f; f = f->next) {
		if (f->value.type == VALUE_VERDICT)
			json_put_verdict(&w, r);
		else if (f->name)
			json_put_value(&w, f->name, &f->value);
	}
	json_end_object(&w);
	strbuf_putc(out, '\n');
}
