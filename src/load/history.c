/* SPDX-License-Identifier: Apache-2.0 */
#include "load/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

/* ---- lines ---- */

struct history_line {
	uint64_t time_s;
	const char *verdict, *load; /* not terminated */
	size_t verdict_len, load_len;
};

/* Returns false if the line of `len` bytes is none of this file's. */
static bool history_parse(const char *text, size_t len, struct history_line *line)
{
	const char *const end = text + len, *verdict, *load;
	char *rest;

	verdict = memchr(text, ' ', len);
	load = verdict ? memchr(verdict + 1, ' ', (size_t)(end - verdict - 1)) : NULL;
	if (!load || *text < '0' || *text > '9')
		return false;
	*line = (struct history_line){
		.time_s = strtoull(text, &rest, 10), .verdict = verdict + 1, .load = load + 1,
		.verdict_len = (size_t)(load - verdict - 1),
		.load_len = (size_t)(end - load - 1),
	};
	return rest == verdict && line->verdict_len && line->load_len;
}

static const char *history_next(const char *text)
{
	const size_t len = strcspn(text, "\n");

	return text + len + (text[len] == '\n');
}

static void history_count_code(struct load_history *h, const char *code)
{
	uint32_t i = 0;

	while (i < h->n_codes && h->codes[i].code != code)
		i++;
	BUG_ON(i == LOAD_HISTORY_CODES);
	h->n_codes += i == h->n_codes;
	h->codes[i].code = code;
	h->codes[i].runs++;
}

/* Returns whether the verdict, "CODE,CODE", has a code. */
static bool history_has(const struct history_line *line, const char *code)
{
	const size_t len = strlen(code);
	const char *at = line->verdict, *const end = at + line->verdict_len;

	while (at < end) {
		const char *const comma = memchr(at, ',', (size_t)(end - at)) ?: end;

		if ((size_t)(comma - at) == len && !memcmp(at, code, len))
			return true;
		at = comma + 1;
	}
	return false;
}

/* Counts the reasons that come with the moment; others repeat with each run of that load. */
static void history_count_line(struct load_history *h, const struct history_line *line)
{
	static const char *const of_a_moment[LOAD_HISTORY_CODES] = {
		"host-noisy", "client-saturated", "non-stationary-trend", "non-stationary-shift",
		"non-stationary-periodic",
	};
	bool unsound = false;

	h->runs++;
	for (size_t i = 0; i < LOAD_HISTORY_CODES; i++) {
		if (!history_has(line, of_a_moment[i]))
			continue;
		history_count_code(h, of_a_moment[i]);
		unsound = true;
	}
	h->unsound += unsound;
}

void load_history_count(const char *text, const char *load, uint64_t now_s,
			struct load_history *h)
{
	const size_t load_len = strlen(load);

	*h = (struct load_history){ 0 };
	for (const char *at = text; *at; at = history_next(at)) {
		struct history_line line;

		if (history_parse(at, strcspn(at, "\n"), &line) &&
		    line.load_len == load_len && !memcmp(line.load, load, load_len) &&
		    line.time_s <= now_s && now_s - line.time_s < LOAD_HISTORY_SPAN_S)
			history_count_line(h, &line);
	}
}

/* Copies the file's last lines, so that one more fits; damaged ones are left out. */
static void history_copy_lines(struct strbuf *out, const char *text)
{
	struct history_line line;
	uint32_t lines = 0;

	for (const char *at = text; *at; at = history_next(at))
		lines += history_parse(at, strcspn(at, "\n"), &line);
	for (const char *at = text; *at; at = history_next(at)) {
		const size_t len = strcspn(at, "\n");

		if (!history_parse(at, len, &line) || lines-- >= LOAD_HISTORY_LINES)
			continue;
		strbuf_add(out, at, len);
		strbuf_puts(out, "\n");
	}
}

void load_history_append(struct strbuf *out, const char *text, const char *load, uint64_t now_s,
			 const struct report *r)
{
	const char *comma = "";

	history_copy_lines(out, text);
	strbuf_printf(out, "%llu ", (unsigned long long)now_s);
	if (!r->reasons || !r->reasons->first)
		strbuf_puts(out, "ok");
	for (const struct table_row *row = r->reasons ? r->reasons->first : NULL; row;
	     row = row->next, comma = ",")
		strbuf_printf(out, "%s%s", comma, row->cells[0].string);
	strbuf_printf(out, " %s\n", load);
}

/* ---- the report ---- */

void load_history_report(const struct load_history *h, struct report *r)
{
	struct object *o = object_new(r);
	struct strbuf why = STRBUF_INIT(1024);

	object_add(o, "runs", value_u64(h->runs));
	object_add(o, "unsound", value_u64(h->unsound));
	object_add(&r->body, "earlier_runs", value_object(o));
	if (!h->unsound || r->partial)
		return;
	for (uint32_t i = 0; i < h->n_codes; i++)
		strbuf_printf(&why, "%s%s %u", i ? ", " : "", h->codes[i].code,
			      h->codes[i].runs);
	report_finding(r, "%u of the last %u runs of this load, within a day, %s unsound (%s): "
		       "this one may have met a quiet stretch; --repeat tells how much runs differ",
		       h->unsound, h->runs, h->unsound == 1 ? "was" : "were", strbuf_str(&why));
	strbuf_release(&why);
}
