/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/counter.h"

#include "base/bug.h"

#define ROW(field, value, bits, json, key, in, ...)                                                \
	{ .name = (key), .text = { .meaning = __VA_ARGS__ }, .object = COUNTER_OF_##json,          \
	  .unit = COUNTER_IN_##in, .known = (bits), .at = offsetof(struct event_conn, field),      \
	  .size = sizeof(((struct event_conn *)0)->field) },

static const struct counter counters[] = { CONN_COUNTERS_EACH(ROW) };

static const char *const objects[] = {
	[COUNTER_OF_EVENTS] = "events",
	[COUNTER_OF_BYTES] = "bytes",
	[COUNTER_OF_CALLS] = "calls",
	[COUNTER_OF_RTT] = "rtt",
	[COUNTER_OF_RECOVERY] = "recovery",
	[COUNTER_OF_SAMPLES] = "samples",
};

const struct counter *counter_next(const struct counter *before, enum counter_object object)
{
	size_t i = before ? (size_t)(before - counters) + 1 : 0;

	while (i < COUNTERS && counters[i].object != object)
		i++;
	return i < COUNTERS ? &counters[i] : NULL;
}

uint64_t counter_value(const struct counter *counter, const struct event_conn *e)
{
	const void *at = (const char *)e + counter->at;

	return counter->size == sizeof(uint64_t) ? *(const uint64_t *)at : *(const uint32_t *)at;
}

bool counter_is_known(const struct counter *counter, const struct event_conn *e)
{
	return (e->known & counter->known) == counter->known;
}

/* Returns the counter's value; null if it is unknown. */
static struct value counter_cell(const struct counter *counter, const struct event_conn *e)
{
	const uint64_t value = counter_value(counter, e);

	if (!counter_is_known(counter, e))
		return value_null();
	return counter->unit == COUNTER_IN_TIME ? value_ns(value) : value_u64(value);
}

static bool counter_has_column(const struct counter *counter, bool spare)
{
	return counter->text.head && (spare || !(counter->text.flags & COLUMN_SPARE));
}

size_t counter_columns(struct column *out, bool spare)
{
	size_t n = 0;

	for (size_t i = 0; i < COUNTERS; i++)
		if (counter_has_column(&counters[i], spare))
			out[n++] = (struct column){ .head = counters[i].text.head,
						    .flags = counters[i].text.flags };
	return n;
}

size_t counter_cells(struct value *out, const struct event_conn *e, bool spare)
{
	size_t n = 0;

	for (size_t i = 0; i < COUNTERS; i++)
		if (counter_has_column(&counters[i], spare))
			out[n++] = counter_cell(&counters[i], e);
	return n;
}

void counter_put(struct object *o, const struct event_conn *e, enum counter_object object)
{
	const struct counter *counter = NULL;

	while ((counter = counter_next(counter, object)))
		object_add(o, counter->name, counter_cell(counter, e));
}

void counter_manual(struct strbuf *out)
{
	for (size_t i = 0; i < COUNTERS; i++) {
		const struct counter *c = &counters[i];

		if (!c->name)
			continue;
		strbuf_printf(out, ".TP\n.I %s.%s\n", objects[c->object], c->name);
		if (c->text.filter)
			strbuf_printf(out, "(filter: %s)\n", c->text.filter);
		strbuf_printf(out, "%s.\n", c->text.meaning);
	}
}
