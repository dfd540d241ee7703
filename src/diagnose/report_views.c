/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of the report page: contexts, queues, and the latency over time. */
#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "diagnose/sections.h"

/* ---- queues ---- */

static const struct column queue_columns[] = {
	{ "what", NULL, 0, 0 },      { "where", NULL, 0, 0 },
	{ "target_median", NULL, 0, 0 }, { "target_max", NULL, 0, 0 },
	{ "reference_median", NULL, 0, 0 },
	{ "messages", NULL, 0, 0 },  { "median_ns", NULL, 0, 0 },
	{ "p25_ns", NULL, 0, 0 },    { "p75_ns", NULL, 0, 0 },
	{ "max_ns", NULL, 0, 0 },
};

/* One kind of queue: in the kernel; or of a thread or connection. */
struct queue {
	const char *label;
	enum where where;
	bool kernel;
};

static uint32_t views_queue_length(const struct queue *queue, const struct breakdown *breakdown)
{
	return queue->kernel ? breakdown->packets : breakdown->served_before;
}

/* Returns for how many ns a message waited for earlier messages in the queue. */
static uint64_t views_time_in(const struct queue *queue, const struct breakdown *breakdown)
{
	uint64_t ns = 0;

	vec_for_each(&breakdown->shares, s) {
		const unsigned int cause = s->place / WHERE_MAX;

		if (s->message && cause != CAUSE_OTHER_RECEIVE &&
		    (cause == CAUSE_KERNEL_QUEUE) == queue->kernel)
			ns += s->ns;
	}
	return ns;
}

static struct value views_queue_quantile(const uint64_t *times, size_t n, size_t percent)
{
	return n ? value_ns(times[(n - 1) * percent / 100]) : value_null();
}

static int views_add_queue(const struct diagnosis *d, struct table *t, const struct queue *queue)
{
	uint64_t *lengths = calloc(2 * d->excesses.len + 1, sizeof(*lengths)), *times, middle;
	const struct baseline *baseline = d->baselines.len == 1 ? d->baselines.items : NULL;
	size_t n = 0, waited = 0;

	if (!lengths)
		return -ENOMEM;
	times = lengths + d->excesses.len;
	vec_for_each(&d->excesses, j) {
		const struct breakdown *breakdown = &d->own.breakdowns[j->subject];
		const uint64_t ns = views_time_in(queue, breakdown);

		lengths[n++] = views_queue_length(queue, breakdown);
		if (ns)
			times[waited++] = ns;
	}
	middle = excess_median(lengths, n);
	if (waited)
		excess_median(times, waited); /* sorts `times` */
	TABLE_ADD(t, value_string(queue->label), value_string(cause_where_name(queue->where)),
		  value_u64(middle), value_u64(lengths[n - 1]),
		  !baseline ? value_null() :
		  value_u64(queue->kernel ? baseline->packets : baseline->served_before),
		  value_u64(waited), views_queue_quantile(times, waited, 50),
		  views_queue_quantile(times, waited, 25), views_queue_quantile(times, waited, 75),
		  views_queue_quantile(times, waited, 100));
	free(lengths);
	return 0;
}

/* Adds each queue's length when a message waited in it, and the waiting time. */
static int views_add_queuing(const struct diagnosis *d, struct report *r)
{
	static const struct queue queues[] = {
		{ "messages that the reader read earlier", WHERE_APPLICATION, false },
		{ "packets received earlier in the same softirq", WHERE_RECEIVE, true },
	};
	static const struct queue sent = { "earlier messages of the same connection",
					   WHERE_TRANSMIT, false };
	struct table *t = table_new(r, queue_columns, ARRAY_LEN(queue_columns));
	int err = 0;

	if (d->excesses.len && d->own.messages.departures)
		err = views_add_queue(d, t, &sent);
	for (size_t i = 0; i < 2 && !err && d->excesses.len && !d->own.messages.departures; i++)
		err = views_add_queue(d, t, &queues[i]);
	object_add(&r->body, "queuing", value_table(t));
	return err;
}

/* ---- latency over time ---- */

static const struct column time_columns[] = {
	{ "from_ns", NULL, 0, 0 },
	{ "to_ns", NULL, 0, 0 },
	{ "latency", NULL, COLUMN_INLINE, 0 },
};

static void views_add_over_time(const struct diagnosis *d, struct report *r)
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
		err = views_add_queuing(d, r);
	if (!err)
		views_add_over_time(d, r);
	return err;
}
