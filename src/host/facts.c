/* SPDX-License-Identifier: Apache-2.0 */
#include "host/facts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"

void host_facts_init(struct host_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	vec_init(facts, HOST_FACTS_MAX);
}

void host_facts_release(struct host_facts *facts)
{
	if (!facts)
		return;
	vec_for_each(facts, fact) {
		free(fact->key);
		free(fact->value);
	}
	vec_release(facts);
}

/* Makes a value printable: values are shown on one line of a table and stored in recordings. */
static void facts_make_printable(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = ' ';
}

static void facts_add(struct host_facts *facts, const char *key, const char *value, bool known)
{
	struct host_fact fact = { .known = known };
	int err;

	fact.key = strndup(key, HOST_FACT_KEY_MAX);
	fact.value = strndup(value, HOST_FACT_VALUE_MAX);
	err = fact.key && fact.value ? vec_push(facts, fact) : -ENOMEM;
	if (err) {
		facts->error = facts->error ? facts->error : err;
		free(fact.key);
		free(fact.value);
		return;
	}
	facts_make_printable(fact.value);
}

void host_facts_add(struct host_facts *facts, const char *key, const char *fmt, ...)
{
	struct strbuf value = STRBUF_INIT(64 << 10);
	va_list args;

	va_start(args, fmt);
	strbuf_vprintf(&value, fmt, args);
	va_end(args);
	if (!value.error)
		facts_add(facts, key, strbuf_str(&value), true);
	else if (!facts->error)
		facts->error = value.error;
	strbuf_release(&value);
}

void host_facts_add_unknown(struct host_facts *facts, const char *key, const char *why, int err)
{
	char value[HOST_FACT_VALUE_MAX];

	if (err)
		snprintf(value, sizeof(value), "n/a: %s: %s", why, strerror(-err));
	else
		snprintf(value, sizeof(value), "n/a: %s", why);
	facts_add(facts, key, value, false);
}

const char *host_facts_get(const struct host_facts *facts, const char *key)
{
	for (size_t i = 0; i < facts->len; i++)
		if (facts->items[i].known && !strcmp(facts->items[i].key, key))
			return facts->items[i].value;
	return NULL;
}
