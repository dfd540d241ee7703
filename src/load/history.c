/* SPDX-License-Identifier: Apache-2.0 */
#include "load/history.h"

#include <stdlib.h>
#include <string.h>

#define CODE_LEN_MAX 40

/* ---- lines ---- */

struct history_line {
	uint64_t time_s;
	const char *verdict, *target; /* not terminated */
	size_t verdict_len, target_len;
};

/* Returns false if the line of `len` bytes is none of this file's. */
static bool history_parse(const char *text, size_t len, struct history_line *line)
{
	const char *const end = text + len, *verdict, *target;
	char *rest;

	verdict = memchr(text, ' ', len);
	target = verdict ? memchr(verdict + 1, ' ', (size_t)(end - verdict - 1)) : NULL;
	if (!target || *text < '0' || *text > '9')
		return false;
	*line = (struct history_line){
		.time_s = strtoull(text, &rest, 10), .verdict = verdict + 1, .target = target + 1,
		.verdict_len = (size_t)(target - verdict - 1),
		.target_len = (size_t)(end - target - 1),
	};
	return rest == verdict && line->verdict_len && line->target_len;
}

static const char *history_next(const char *text)
{
	const size_t len = strcspn(text, "\n");

	return text + len + (text[len] == '\n');
}

static void history_count_code(struct load_history *h, const char *code, size_t len)
{
	struct load_history_code *c = h->codes;

	if (!len || len > CODE_LEN_MAX || strspn(code, "abcdefghijklmnopqrstuvwxyz-") < len)
		return;
	for (; c < h->codes + h->n_codes; c++)
		if ((size_t)c->len == len && !memcmp(c->code, code, len))
			break;
	if (c == h->codes + LOAD_HISTORY_CODES)
		return;
	if (c == h->codes + h->n_codes) {
		h->n_codes++;
		c->code = code;
		c->len = (int)len;
	}
	c->runs++;
}

static void history_count_line(struct load_history *h, const struct history_line *line)
{
	const char *at = line->verdict, *const end = at + line->verdict_len;

	h->runs++;
	if (line->verdict_len == 2 && !memcmp(at, "ok", 2))
		return;
	h->unsound++;
	while (at < end) {
		const char *const comma = memchr(at, ',', (size_t)(end - at)) ?: end;

		history_count_code(h, at, (size_t)(comma - at));
		at = comma + 1;
	}
}

void load_history_count(const char *text, const char *target, uint64_t now_s,
			struct load_history *h)
{
	const size_t target_len = strlen(target);

	*h = (struct load_history){ 0 };
	for (const char *at = text; *at; at = history_next(at)) {
		struct history_line line;

		if (history_parse(at, strcspn(at, "\n"), &line) &&
		    line.target_len == target_len && !memcmp(line.target, target, target_len) &&
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

void load_history_append(struct strbuf *out, const char *text, const char *target, uint64_t now_s,
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
	strbuf_printf(out, " %s\n", target);
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
		strbuf_printf(&why, "%s%.*s %u", i ? ", " : "", h->codes[i].len, h->codes[i].code,
			      h->codes[i].runs);
	report_finding(r, "%u of the last %u runs of this target, within a day, %s unsound (%s): "
		       "this one may have met a quiet stretch; --repeat tells how much runs differ",
		       h->unsound, h->runs, h->unsound == 1 ? "was" : "were", strbuf_str(&why));
	strbuf_release(&why);
}
