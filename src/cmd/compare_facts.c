/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/compare_facts.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "base/strbuf.h"

/*
 * Prefix of recorded facts about the run itself, such as its time and pid. They do not describe the
 * host's set-up and are not compared.
 */
#define OF_THE_RUN "run."

/*
 * Recorded counters since boot, and facts that each run has of its own. They do not describe the
 * set-up and are not compared.
 */
static const char *const counters[] = { "cpu.steal_percent", "net.softnet.dropped",
					"net.softnet.squeezed", "load.seed", "load.dial",
					"load.thread", "clock.max_error_us" };

#define VALUES_MAX (1UL << 20)

void compare_facts_init(struct compare_facts *facts)
{
	vec_init(facts, COMPARE_FACTS_MAX);
}

void compare_facts_release(struct compare_facts *facts)
{
	vec_for_each(facts, fact) {
		free(fact->key);
		free(fact->value);
	}
	vec_release(facts);
}

static bool compare_facts_is_setup(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		if (!strcmp(key, counters[i]))
			return false;
	return strncmp(key, OF_THE_RUN, strlen(OF_THE_RUN)) != 0;
}

int compare_facts_add(struct compare_facts *facts, const char *key, const char *value)
{
	struct compare_fact fact;
	int err;

	if (!compare_facts_is_setup(key))
		return 0;
	fact = (struct compare_fact){ strdup(key), strdup(value) };
	err = fact.key && fact.value ? vec_push(facts, fact) : -ENOMEM;
	if (err) {
		free(fact.key);
		free(fact.value);
	}
	return err == -E2BIG ? 0 : err;
}

int compare_facts_move(struct compare_facts *from, struct compare_facts *to)
{
	int err = 0;

	while (!err && from->len) {
		err = vec_push(to, from->items[from->len - 1]);
		if (err == -E2BIG)
			return 0;
		from->len -= !err;
	}
	return err;
}

static int compare_facts_order(const void *a, const void *b)
{
	const struct compare_fact *x = a, *y = b;
	const int order = strcmp(x->key, y->key);

	return order ? order : strcmp(x->value, y->value);
}

static void compare_facts_sort(struct compare_facts *facts)
{
	if (facts->len)
		qsort(facts->items, facts->len, sizeof(*facts->items), compare_facts_order);
}

/*
 * Returns the values of the facts named `key`, which begin at index *at, joined by commas. Moves
 * *at to the first fact with another name. Returns NULL if no fact has this name.
 */
static const char *compare_facts_values(const struct compare_facts *facts, size_t *at,
					const char *key, struct report *r)
{
	struct strbuf text = STRBUF_INIT(VALUES_MAX);
	const char *all = NULL, *last = NULL;

	for (; *at < facts->len && !strcmp(facts->items[*at].key, key); (*at)++) {
		const char *value = facts->items[*at].value;

		if (!last || strcmp(last, value))
			strbuf_printf(&text, "%s%s", text.len ? ", " : "", value);
		last = value;
	}
	if (text.len || (*at && !strcmp(facts->items[*at - 1].key, key)))
		all = report_format(r, "%s", strbuf_str(&text));
	strbuf_release(&text);
	return all;
}

static const struct column fact_columns[] = {
	{ "name", "set-up", 0, 0 },
	{ "a", "A", COLUMN_FLEX, 0 },
	{ "b", "B", COLUMN_FLEX, 0 },
};

void compare_facts_report(struct compare_facts *a, struct compare_facts *b, struct report *r)
{
	struct table *t = table_new(r, fact_columns, ARRAY_LEN(fact_columns));
	size_t i = 0, k = 0;

	compare_facts_sort(a);
	compare_facts_sort(b);
	while (i < a->len || k < b->len) {
		const char *x = i < a->len ? a->items[i].key : NULL;
		const char *y = k < b->len ? b->items[k].key : NULL;
		const char *key = !y || (x && strcmp(x, y) < 0) ? x : y;
		const char *in_a = compare_facts_values(a, &i, key, r),
			   *in_b = compare_facts_values(b, &k, key, r);

		if (!in_a != !in_b || (in_a && strcmp(in_a, in_b)))
			TABLE_ADD(t, value_string(report_format(r, "%s", key)),
				  value_string(in_a), value_string(in_b));
	}
	object_add(&r->body, "facts", value_table(t));
}
