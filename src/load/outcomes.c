/* SPDX-License-Identifier: Apache-2.0 */
#include "load/outcomes.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/sort.h"

#define SCHEMA 5 /* buckets are 2.2 % wide */

/* FNV-1a, 32 bits, by Fowler, Noll and Vo. */
uint32_t outcome_of_cause(enum cause_of of, const char *name)
{
	uint32_t hash = (2166136261u ^ (uint32_t)of) * 16777619u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash > OUTCOME_MISS ? hash : hash + OUTCOME_MISS + 1;
}

static struct outcome_latency *outcomes_slot(struct outcomes *o, uint32_t id)
{
	struct outcome_latency *slot;

	for (uint32_t i = 0; i < o->n; i++) {
		if (o->list[i].id == id)
			return &o->list[i];
	}
	if (o->n == OUTCOMES_MAX)
		return &o->list[OUTCOMES_MAX - 1];
	slot = &o->list[o->n++];
	slot->id = id;
	hist_init(&slot->latency, SCHEMA);
	return slot;
}

int outcomes_add(struct outcomes *o, uint32_t id, uint64_t latency_ns)
{
	return hist_record(&outcomes_slot(o, id)->latency, latency_ns);
}

void outcomes_release(struct outcomes *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		hist_release(&o->list[i].latency);
	o->n = 0;
}

/* ---- the report ---- */

static const char *outcomes_name(uint32_t id, const struct causes *causes)
{
	if (id == OUTCOME_NONE)
		return "completed";
	if (id == OUTCOME_MISS)
		return "miss";
	for (const struct load_cause *c = causes->list; c < causes->list + causes->n; c++) {
		if (outcome_of_cause(c->of, c->name) == id)
			return c->name;
	}
	return "other";
}

static int outcomes_order(const void *a, const void *b)
{
	const struct outcome_latency *x = *(const struct outcome_latency *const *)a;
	const struct outcome_latency *y = *(const struct outcome_latency *const *)b;

	return sort_order(y->latency.count, x->latency.count) ?: sort_order(x->id, y->id);
}

static struct value outcomes_quantile(const struct outcome_latency *o, double q)
{
	struct hist_quantile found;

	return hist_quantile(&o->latency, q, &found) ? value_null() : value_ns(found.value);
}

void outcomes_report(const struct outcomes *o, const struct causes *causes, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "outcome", .head = "reply" }, { .name = "count", .head = "count" },
		{ .name = "p50_ns", .head = "p50" }, { .name = "p99_ns", .head = "p99" },
	};
	const struct outcome_latency *list[OUTCOMES_MAX];
	struct table *t;

	if (o->n < 2)
		return;
	t = table_new(r, columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < o->n; i++)
		list[i] = &o->list[i];
	qsort(list, o->n, sizeof(*list), outcomes_order);
	for (uint32_t i = 0; i < o->n; i++)
		TABLE_ADD(t, value_string(outcomes_name(list[i]->id, causes)),
			  value_u64(list[i]->latency.count), outcomes_quantile(list[i], 0.5),
			  outcomes_quantile(list[i], 0.99));
	object_add(&r->body, "outcomes", value_table(t));
}
