/* SPDX-License-Identifier: Apache-2.0 */
/* What the page draws besides: contexts of the cores, queues, and the run over time. */
#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "diagnose/sections.h"
#include "diagnose/words.h"

/* ---- contexts ---- */

static const struct column context_columns[] = {
	{ "where", NULL, 0, 0 },
	{ "context", NULL, 0, 0 },
	{ "target_fraction", NULL, 0, 0 },
	{ "reference_fraction", NULL, 0, 0 },
};

static const char *context_name(const struct recorded *rec, struct report *r,
				const struct context *c)
{
	char buf[WORDS_MAX];
	const char *name;

	switch ((enum atom_type)c->seen) {
	case ATOM_HARDIRQ:
		return report_format(r, "%s", words_hardirq(buf, c->who));
	case ATOM_SOFTIRQ:
		return report_format(r, "%s", words_softirq(buf, c->who));
	case ATOM_TASK:
	case ATOM_FAULT:
		name = culprit_name(rec, r, c->who);
		return *name ? name : "an unknown task";
	case ATOM_IDLE:
		return "idle";
	case ATOM_BLIND:
		break;
	}
	return "blind";
}

static int largest_first(const void *a, const void *b)
{
	const struct context *x = a, *y = b;

	if (x->target_ns != y->target_ns)
		return x->target_ns > y->target_ns ? -1 : 1;
	if (x->reference_ns != y->reference_ns)
		return x->reference_ns > y->reference_ns ? -1 : 1;
	if (x->seen != y->seen)
		return x->seen < y->seen ? -1 : 1;
	return x->who < y->who ? -1 : x->who > y->who;
}

static struct value fraction(uint64_t ns, uint64_t total)
{
	return total ? value_fraction((double)ns / (double)total) : value_null();
}

static int add_contexts(const struct diagnosis *d, struct report *r)
{
	struct table *t = table_new(r, context_columns, ARRAY_LEN(context_columns));
	const size_t n = d->own.contexts.len;
	struct context *sorted = calloc(n + 1, sizeof(*sorted));
	uint64_t targets = 0, references = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = d->own.contexts.items[i];
		targets += sorted[i].target_ns;
		references += sorted[i].reference_ns;
	}
	qsort(sorted, n, sizeof(*sorted), largest_first);
	for (size_t i = 0; i < n; i++)
		TABLE_ADD(t, value_string(where_name(sorted[i].where)),
			  value_string(context_name(&d->own, r, &sorted[i])),
			  fraction(sorted[i].target_ns, targets),
			  fraction(sorted[i].reference_ns, references));
	object_add(&r->body, "contexts", value_table(t));
	free(sorted);
	return 0;
}

/* ---- queues ---- */

static const struct column queue_columns[] = {
	{ "what", NULL, 0, 0 },      { "where", NULL, 0, 0 },
	{ "target_median", NULL, 0, 0 }, { "target_max", NULL, 0, 0 },
	{ "reference_median", NULL, 0, 0 },
};

/* How many messages the same thread read while one waited, or left before it was sent. */
static int add_queues(const struct diagnosis *d, struct report *r)
{
	struct table *t = table_new(r, queue_columns, ARRAY_LEN(queue_columns));
	uint64_t *values = calloc(d->judged.len + 1, sizeof(*values));
	const bool sent = d->own.messages.departures;
	size_t n = 0;

	if (!values)
		return -ENOMEM;
	vec_for_each(&d->judged, j)
		values[n++] = d->own.splits[j->subject].ahead;
	if (n) {
		const uint64_t middle = median_of(values, n);

		TABLE_ADD(t, value_string(sent ? "messages of its connection that left before" :
					  "messages that the reader took before"),
			  value_string(where_name(sent ? WHERE_TRANSMIT : WHERE_APPLICATION)),
			  value_u64(middle),
			  value_u64(values[n - 1]),
			  d->models.len == 1 ? value_u64(d->models.items[0].ahead) : value_null());
	}
	object_add(&r->body, "queuing", value_table(t));
	free(values);
	return 0;
}

/* ---- over time ---- */

static const struct column time_columns[] = {
	{ "from_ns", NULL, 0, 0 },
	{ "to_ns", NULL, 0, 0 },
	{ "latency", NULL, COLUMN_INLINE, 0 },
};

static void add_over_time(const struct diagnosis *d, struct report *r)
{
	struct table *t = table_new(r, time_columns, ARRAY_LEN(time_columns));
	const struct messages *all = &d->own.messages;
	const uint64_t step = (all->to - all->from) / OVER_TIME_STEPS + 1;

	for (uint32_t i = 0; i < OVER_TIME_STEPS && all->all.len; i++)
		TABLE_ADD(t, value_ns(all->from + i * step), value_ns(all->from + (i + 1) * step),
			  value_distribution(r, &d->over_time[i]));
	object_add(&r->body, "over_time", value_table(t));
}

int report_views(const struct diagnosis *d, struct report *r)
{
	int err = add_contexts(d, r);

	if (!err)
		err = add_queues(d, r);
	if (!err)
		add_over_time(d, r);
	return err;
}
