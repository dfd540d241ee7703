/* SPDX-License-Identifier: Apache-2.0 */
#include "load/said.h"

#include <stdbool.h>
#include <stdio.h>
#include <strings.h>

struct span {
	const char *at;
	size_t n;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct span trimmed(struct span s)
{
	while (s.n && is_space(s.at[0])) {
		s.at++;
		s.n--;
	}
	while (s.n && is_space(s.at[s.n - 1]))
		s.n--;
	return s;
}

/* The first line; *rest is what follows it. */
static struct span first_line(struct span s, struct span *rest)
{
	const char *newline = s.n ? memchr(s.at, '\n', s.n) : NULL;
	const size_t n = newline ? (size_t)(newline - s.at) : s.n;

	*rest = (struct span){ s.at + n, s.n - n };
	return trimmed((struct span){ s.at, n });
}

static struct span title_of(struct span page)
{
	static const char open[] = "<title>";
	struct span title = { NULL, 0 };
	const char *end;

	for (; page.n > sizeof(open); page.at++, page.n--) {
		if (strncasecmp(page.at, open, sizeof(open) - 1))
			continue;
		title.at = page.at + sizeof(open) - 1;
		title.n = page.n - (sizeof(open) - 1);
		end = memchr(title.at, '<', title.n);
		title.n = end ? (size_t)(end - title.at) : title.n;
		break;
	}
	return trimmed(title);
}

/* Compressed or binary data holds control characters soon. */
static bool is_text(struct span s)
{
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.at[i] < ' ' && !is_space(s.at[i]))
			return false;
	}
	return true;
}

/* What a body says in one line. */
static struct span line_of_body(struct span body)
{
	struct span rest;

	body = trimmed(body);
	if (!body.n || !is_text(body))
		return (struct span){ NULL, 0 };
	return *body.at == '<' ? title_of(body) : first_line(body, &rest);
}

static void put(char out[SAID_TEXT_MAX], size_t *len, struct span s)
{
	for (size_t i = 0; i < s.n && *len < SAID_TEXT_MAX - 1; i++) {
		const unsigned char c = (unsigned char)s.at[i];

		out[(*len)++] = c == '\t' ? ' ' : c < ' ' || c > '~' ? '?' : (char)c;
	}
	out[*len] = '\0';
}

void said_clean(const struct said *said, char out[SAID_TEXT_MAX])
{
	struct span rest, head = first_line((struct span){ said->text, said->len }, &rest);
	struct span body = line_of_body(rest);
	size_t len = 0;

	/* nginx's titles begin with the status. */
	if (head.n >= 3 && body.n >= 3 && !memcmp(head.at, body.at, 3)) {
		head = body;
		body.n = 0;
	}
	put(out, &len, head);
	if (!body.n)
		return;
	put(out, &len, (struct span){ ": ", 2 });
	put(out, &len, body);
}

void said_word(const struct said *said, char out[SAID_WORD_MAX])
{
	size_t n = 0;

	while (n < said->len && n < SAID_WORD_MAX - 1 &&
	       ((said->text[n] >= 'A' && said->text[n] <= 'Z') || said->text[n] == '_' ||
		(n && said->text[n] >= '0' && said->text[n] <= '9'))) {
		out[n] = said->text[n];
		n++;
	}
	if (n < said->len && !is_space(said->text[n]))
		n = 0;
	out[n] = '\0';
}
