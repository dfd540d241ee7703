/* SPDX-License-Identifier: Apache-2.0 */
/* What the page draws besides: queues, and the run over time. */
#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "diagnose/sections.h"

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
	int err = report_contexts(d, r);

	if (!err)
		err = add_queues(d, r);
	if (!err)
		add_over_time(d, r);
	return err;
}
