/* SPDX-License-Identifier: Apache-2.0 */
#include "load/dial_times.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "report/human.h"

#define SCHEMA 3 /* buckets are 9 % wide */
#define VALUE_MAX (8UL << 10)

static const char *const names[DIAL_TIMES] = {
	[DIAL_CONNECT] = "connect", [DIAL_HANDSHAKE] = "handshake",
	[DIAL_RECONNECT] = "reconnect",
};

int dial_times_init(struct dial_times *times)
{
	int err = 0;

	for (int i = 0; i < DIAL_TIMES; i++) {
		hist_init(&times->of[i], SCHEMA);
		err = err ? err : hist_reserve(&times->of[i], 1, BUCKET_LIMIT);
	}
	return err;
}

void dial_times_release(struct dial_times *times)
{
	for (int i = 0; i < DIAL_TIMES; i++)
		hist_release(&times->of[i]);
}

void dial_times_note(struct dial_times *times, enum dial_time of, uint64_t ns)
{
	int err = hist_record(&times->of[of], ns);

	BUG_ON(err);
}

int dial_times_add(struct dial_times *times, const struct dial_times *more)
{
	int err = 0;

	for (int i = 0; i < DIAL_TIMES && !err; i++)
		err = hist_merge(&times->of[i], &more->of[i]);
	return err;
}

/* ---- facts ---- */

/* Puts a fact per histogram: "connect MIN_NS MAX_NS INDEX:COUNT ...", in ascending order. */
int dial_times_put(const struct dial_times *times, struct event_sink *sink, uint64_t now)
{
	struct strbuf value = STRBUF_INIT(VALUE_MAX);
	int err = 0;

	for (int i = 0; i < DIAL_TIMES && !err; i++) {
		const struct hist *h = &times->of[i];
		int32_t index = INT32_MIN;
		uint64_t n;

		if (!h->count)
			continue;
		strbuf_reset(&value);
		strbuf_printf(&value, "%s %" PRIu64 " %" PRIu64, names[i], h->min, h->max);
		while (hist_next(h, &index, &n))
			strbuf_printf(&value, " %" PRId32 ":%" PRIu64, index, n);
		err = value.error ? value.error :
				    event_put_fact(sink, now, LOAD_FACT_DIAL, strbuf_str(&value));
	}
	strbuf_release(&value);
	return err;
}

/* Parses digits that end with `end`, or with the text if `end` is a space. */
static int dial_times_number(const char **at, char end, uint64_t *out)
{
	char *after;

	if (**at < '0' || **at > '9')
		return -EBADMSG;
	errno = 0;
	*out = strtoull(*at, &after, 10);
	if (errno || (*after != end && !(end == ' ' && !*after)))
		return -EBADMSG;
	*at = after + (*after != '\0');
	return 0;
}

static int dial_times_parse_bucket(const char **at, struct hist *h)
{
	const bool negative = **at == '-';
	uint64_t index = 0, n = 0;
	int32_t i;
	int err;

	*at += negative;
	err = dial_times_number(at, ':', &index);
	if (!err)
		err = dial_times_number(at, ' ', &n);
	if (err || index > INT32_MAX || !n || n > UINT32_MAX)
		return -EBADMSG;
	i = negative ? -(int32_t)index : (int32_t)index;
	if (!hist_has_index(SCHEMA, i))
		return -EBADMSG;
	return hist_cover(h, SCHEMA, i, i) ?: hist_add_scaled(h, SCHEMA, i, n);
}

static int dial_times_parse(const char *at, struct hist *h)
{
	uint64_t min = 0, max = 0;
	int err = dial_times_number(&at, ' ', &min);

	if (!err)
		err = dial_times_number(&at, ' ', &max);
	while (!err && *at)
		err = dial_times_parse_bucket(&at, h);
	if (err || min > max || !h->count)
		return err == -ENOMEM ? err : -EBADMSG;
	hist_add_stats(h, 0, min, max);
	return 0;
}

int dial_times_add_fact(struct dial_times *times, const char *value)
{
	for (int i = 0; i < DIAL_TIMES; i++) {
		const size_t len = strlen(names[i]);
		struct hist h;
		int err;

		if (strncmp(value, names[i], len) != 0 || value[len] != ' ')
			continue;
		hist_init(&h, SCHEMA);
		err = dial_times_parse(value + len + 1, &h);
		if (!err)
			err = hist_merge(&times->of[i], &h);
		hist_release(&h);
		return err;
	}
	return -EBADMSG;
}

/* ---- the report ---- */

static uint64_t dial_times_quantile(const struct hist *h, double q)
{
	struct hist_quantile found = { 0 };

	hist_quantile(h, q, &found);
	return found.value;
}

void dial_times_report(const struct dial_times *times, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "of" }, { .name = "count" }, { .name = "p50_ns" }, { .name = "p99_ns" },
		{ .name = "max_ns" },
	};
	struct table *t = NULL;

	for (int i = 0; i < DIAL_TIMES; i++) {
		const struct hist *h = &times->of[i];

		if (!h->count)
			continue;
		t = t ? t : table_new(r, columns, ARRAY_LEN(columns));
		TABLE_ADD(t, value_string(names[i]), value_u64(h->count),
			  value_ns(dial_times_quantile(h, 0.5)),
			  value_ns(dial_times_quantile(h, 0.99)), value_ns(h->max));
	}
	if (t)
		object_add(&r->body, "connection_times", value_table(t));
}

static const char *dial_times_phrase(const struct hist *h, const char *noun, struct report *r)
{
	char count[HUMAN_MAX], p50[HUMAN_MAX], p99[HUMAN_MAX], max[HUMAN_MAX];

	return report_format(r, "%s %s%s took %s at p50, %s at p99, %s at most",
			     human_count(count, h->count), noun, h->count == 1 ? "" : "s",
			     human_ns(p50, dial_times_quantile(h, 0.5)),
			     human_ns(p99, dial_times_quantile(h, 0.99)), human_ns(max, h->max));
}

void dial_times_words(const struct dial_times *times, struct report *r)
{
	const struct hist *tls = &times->of[DIAL_HANDSHAKE], *re = &times->of[DIAL_RECONNECT];

	if (tls->count)
		report_finding(r, "connections: %s",
			       dial_times_phrase(tls, "TLS handshake", r));
	if (re->count)
		report_finding(r, "connections: %s", dial_times_phrase(re, "reconnect", r));
}
