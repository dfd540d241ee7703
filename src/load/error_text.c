/* SPDX-License-Identifier: Apache-2.0 */
#include "load/error_text.h"

#include <stdio.h>
#include <strings.h>

#include "base/bug.h"

#define SPEAKS_TLS "the server speaks TLS (as https:// does)"
#define SPEAKS_HTTP2 "the server speaks HTTP/2 only (use h2c:// or, with TLS, h2://)"
#define QUOTED_MAX 80

struct span {
	const char *at;
	size_t n;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct span error_text_trim(struct span s)
{
	while (s.n && is_space(s.at[0])) {
		s.at++;
		s.n--;
	}
	while (s.n && is_space(s.at[s.n - 1]))
		s.n--;
	return s;
}

/* Returns the first line of `s`, trimmed; sets *rest to the text after this line. */
static struct span error_text_first_line(struct span s, struct span *rest)
{
	const char *newline = s.n ? memchr(s.at, '\n', s.n) : NULL;
	const size_t n = newline ? (size_t)(newline - s.at) : s.n;

	*rest = (struct span){ s.at + n, s.n - n };
	return error_text_trim((struct span){ s.at, n });
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
	return error_text_trim(title);
}

/* Whether bytes are text: compressed or binary data soon contains control characters. */
static bool error_text_is_text(struct span s)
{
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.at[i] < ' ' && !is_space(s.at[i]))
			return false;
	}
	return true;
}

/* Returns a line that describes a body: its first line, or the title of an HTML page. */
static struct span line_of_body(struct span body)
{
	struct span rest;

	body = error_text_trim(body);
	if (!body.n || !error_text_is_text(body))
		return (struct span){ NULL, 0 };
	return *body.at == '<' ? title_of(body) : error_text_first_line(body, &rest);
}

static void error_text_put(char out[ERROR_TEXT_CLEAN_MAX], size_t *len, struct span s)
{
	for (size_t i = 0; i < s.n && *len < ERROR_TEXT_CLEAN_MAX - 1; i++) {
		const unsigned char c = (unsigned char)s.at[i];

		out[(*len)++] = c == '\t' ? ' ' : c < ' ' || c > '~' ? '?' : (char)c;
	}
	out[*len] = '\0';
}

void error_text_clean(const struct error_text *text, char out[ERROR_TEXT_CLEAN_MAX])
{
	struct span rest,
		head = error_text_first_line((struct span){ text->text, text->len }, &rest);
	struct span body = line_of_body(rest);
	size_t len = 0;

	/* nginx repeats the status in the title of an error page, so the title suffices. */
	if (head.n >= 3 && body.n >= 3 && !memcmp(head.at, body.at, 3)) {
		head = body;
		body.n = 0;
	}
	error_text_put(out, &len, head);
	if (!body.n)
		return;
	error_text_put(out, &len, (struct span){ ": ", 2 });
	error_text_put(out, &len, body);
}

static bool is_tls(const unsigned char *p, size_t size)
{
	/* RFC 8446, 5.1: a TLS record with an alert or a handshake, of version 3.x. */
	return size >= 3 && (p[0] == 21 || p[0] == 22) && p[1] == 3 && p[2] <= 4;
}

/* RFC 9113, 3.4: an HTTP/2 server's first frame is SETTINGS, of stream 0. */
static bool is_http2(const unsigned char *p, size_t size)
{
	static const unsigned char stream[4];

	return size >= 9 && !p[0] && p[3] == 4 && p[4] <= 1 && !memcmp(p + 5, stream, 4);
}

static struct span line_at(const char *bytes, size_t size, size_t at)
{
	struct span line = { bytes + at, 0 };

	while (line.at > bytes && line.at[-1] != '\n')
		line.at--;
	while (line.at + line.n < bytes + size && line.at[line.n] != '\n')
		line.n++;
	return error_text_trim(line);
}

void error_text_garbled(struct error_text *text, const char *bytes, size_t size, size_t at,
			bool http2)
{
	const unsigned char *p = (const unsigned char *)bytes;
	struct span line;

	error_text_begin(text);
	if (is_tls(p, size)) {
		error_text_add(text, SPEAKS_TLS, strlen(SPEAKS_TLS));
	} else if (!http2 && is_http2(p, size)) {
		error_text_add(text, SPEAKS_HTTP2, strlen(SPEAKS_HTTP2));
	} else {
		line = line_at(bytes, size, at < size ? at : size - 1);
		if (!line.n || !error_text_is_text(line))
			return;
		line.n = line.n < QUOTED_MAX ? line.n : QUOTED_MAX;
		error_text_add(text, "'", 1);
		error_text_add(text, line.at, line.n);
		error_text_add(text, "'", 1);
	}
}

bool error_text_denies(const char *text, size_t size)
{
	static const char *const beginnings[] = {
		/* Redis */
		"NOAUTH ", "NOPERM ", "WRONGPASS ", "ERR unknown ", "ERR wrong number of arguments",
		/* memcached */
		"CLIENT_ERROR unauthenticated", "CLIENT_ERROR bad authentication", "Auth failure",
	};

	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++) {
		const size_t n = strlen(beginnings[i]);

		if (size >= n && !memcmp(text, beginnings[i], n))
			return true;
	}
	return false;
}

void error_text_word(const struct error_text *text, char out[ERROR_TEXT_WORD_MAX])
{
	size_t n = 0;

	while (n < text->len && n < ERROR_TEXT_WORD_MAX - 1 &&
	       ((text->text[n] >= 'A' && text->text[n] <= 'Z') || text->text[n] == '_' ||
		(n && text->text[n] >= '0' && text->text[n] <= '9'))) {
		out[n] = text->text[n];
		n++;
	}
	if (n < text->len && !is_space(text->text[n]))
		n = 0;
	out[n] = '\0';
}
