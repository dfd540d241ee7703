/* SPDX-License-Identifier: Apache-2.0 */
#include "load/template.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/text.h"

#define DIGITS_MAX 20
#define WORD_MAX 32
#define TEMPLATE_TAKES "{key}, {value}, {seq} or {random:N}"

static size_t digits_of(uint64_t n)
{
	size_t digits = 1;

	while (n >= 10) {
		n /= 10;
		digits++;
	}
	return digits;
}

void template_init(struct template *t, size_t max)
{
	*t = (struct template){ .text = STRBUF_INIT(max) };
	vec_init(&t->parts, TEMPLATE_PARTS_MAX);
}

void template_release(struct template *t)
{
	strbuf_release(&t->text);
	vec_release(&t->parts);
}

int template_error(const struct template *t)
{
	return t->text.error;
}

/* ---- parsing ---- */

static void template_add_part(struct template *t, const struct template_part *part)
{
	int err = vec_push(&t->parts, *part);

	if (err && !t->text.error)
		t->text.error = err;
	t->uses |= 1U << part->kind;
}

void template_add(struct template *t, const void *text, size_t size)
{
	struct template_part *last = t->parts.len ? vec_last(&t->parts) : NULL;
	const size_t from = t->text.len;

	if (!size)
		return;
	strbuf_add(&t->text, text, size);
	t->size_max += size;
	if (last && last->kind == TEMPLATE_TEXT)
		last->size += size;
	else
		template_add_part(t, &(struct template_part){ .from = from, .size = size });
}

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || parse_is_digit(c) || c == '_' ||
	       c == '-';
}

/*
 * Returns the length of "{word}" or "{word:...}" at `text`, or 0 if the text is something else,
 * such as JSON.
 */
static size_t word_length(const char *text, size_t size)
{
	size_t n = 1;

	while (n < size && is_word_byte(text[n]))
		n++;
	if (n == 1 || n == size || parse_is_digit(text[1]))
		return 0;
	if (text[n] == ':')
		while (n < size && n < WORD_MAX && !strchr("{}\"' \t\r\n", text[n]))
			n++;
	return n < size && text[n] == '}' ? n + 1 : 0;
}

/* Reads the placeholder "{...}". Returns whether it is known. */
static bool template_read_word(const char *text, size_t size, struct template_part *part)
{
	static const struct {
		const char *word;
		enum template_kind kind;
	} words[] = {
		{ "{key}", TEMPLATE_KEY }, { "{value}", TEMPLATE_VALUE }, { "{seq}", TEMPLATE_SEQ },
	};
	static const char random[] = "{random:";
	char number[WORD_MAX] = "";

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (size == strlen(words[i].word) && !memcmp(text, words[i].word, size)) {
			part->kind = words[i].kind;
			return true;
		}
	}
	if (size < sizeof(random) || memcmp(text, random, sizeof(random) - 1))
		return false;
	part->kind = TEMPLATE_RANDOM;
	memcpy(number, text + sizeof(random) - 1, size - sizeof(random));
	return !parse_u64(number, &part->below) && part->below;
}

static size_t template_part_max(const struct template_part *part)
{
	switch (part->kind) {
	case TEMPLATE_KEY:
		return TEMPLATE_KEY_MAX;
	case TEMPLATE_SEQ:
		return DIGITS_MAX;
	case TEMPLATE_RANDOM:
		return digits_of(part->below - 1);
	case TEMPLATE_VALUE:
	case TEMPLATE_TEXT:
		break;
	}
	return 0;
}

static int template_refuse(const char *text, size_t size, const char *what, struct strbuf *why)
{
	strbuf_printf(why, "%s: '%.*s' is no placeholder: use " TEMPLATE_TAKES ", or write \\{ for "
		      "a brace", what, (int)size, text);
	return -EINVAL;
}

int template_parse(struct template *t, const char *text, size_t size, const char *what,
		   struct strbuf *why)
{
	size_t at = 0, from = 0;

	while (at < size) {
		struct template_part part = { .kind = TEMPLATE_TEXT };
		const bool escape = text[at] == '\\' && at + 1 < size && text[at + 1] == '{';
		const size_t n = text[at] == '{' ? word_length(text + at, size - at) : 0;

		if (!escape && !n) {
			at++;
			continue;
		}
		template_add(t, text + from, at - from);
		from = at + 1;
		at += escape ? 2 : n;
		if (escape)
			continue;
		if (!template_read_word(text + at - n, n, &part))
			return template_refuse(text + at - n, n, what, why);
		from = at;
		t->size_max += template_part_max(&part);
		template_add_part(t, &part);
	}
	template_add(t, text + from, size - from);
	return template_error(t);
}

/* ---- filling in ---- */

/* Returns the number of place `place`: the finalizer of splitmix64 (see base/rng.h). */
static uint64_t random_at(const struct template_part *part, uint64_t seed, size_t place)
{
	uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) % part->below;
}

size_t template_size(const struct template *t, const struct template_values *v)
{
	size_t size = 0;

	for (size_t i = 0; i < t->parts.len; i++) {
		const struct template_part *part = &t->parts.items[i];

		switch (part->kind) {
		case TEMPLATE_TEXT:
			size += part->size;
			break;
		case TEMPLATE_KEY:
			size += v->key_size;
			break;
		case TEMPLATE_VALUE:
			size += v->value_size;
			break;
		case TEMPLATE_SEQ:
			size += digits_of(v->seq);
			break;
		case TEMPLATE_RANDOM:
			size += digits_of(random_at(part, v->random, i));
			break;
		}
	}
	return size;
}

char *template_put(const struct template *t, const struct template_values *v, char *to)
{
	for (size_t i = 0; i < t->parts.len; i++) {
		const struct template_part *part = &t->parts.items[i];

		switch (part->kind) {
		case TEMPLATE_TEXT:
			to = text_put(to, t->text.buf + part->from, part->size);
			break;
		case TEMPLATE_KEY:
			to = text_put(to, v->key, v->key_size);
			break;
		case TEMPLATE_VALUE:
			to = text_put(to, v->value, v->value_size);
			break;
		case TEMPLATE_SEQ:
			to = text_put_u64(to, v->seq);
			break;
		case TEMPLATE_RANDOM:
			to = text_put_u64(to, random_at(part, v->random, i));
			break;
		}
	}
	return to;
}
