/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 (RFC 9112): parses the request line and the headers that determine the end of the
 * request and of the connection. A body is skipped; a chunked body is refused.
 */
#include "load/serve_http.h"

#include "base/bug.h"
#include "load/serve_line.h"

enum serve_http_kind { PAGE, PAGE_HEAD };

#define REFUSAL(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

struct serve_http_headers {
	uint64_t length;
	bool close, keep, chunked;
};

static const struct serve_word *value_of(const char *line, size_t len, const char *name,
					 struct serve_word *value)
{
	size_t n = strlen(name);

	if (len < n || strncasecmp(line, name, n))
		return NULL;
	return serve_words(line + n, len - n, value, 1) ? value : NULL;
}

static int serve_http_parse_header(const char *line, size_t len, struct serve_http_headers *h)
{
	struct serve_word value;

	switch (line[0] | 0x20) {
	case 'c':
		if (value_of(line, len, "content-length:", &value))
			return serve_number(&value, SERVE_BODY_MAX, &h->length);
		if (value_of(line, len, "connection:", &value)) {
			h->close = h->close || serve_word_is(&value, "close");
			h->keep = h->keep || serve_word_is(&value, "keep-alive");
		}
		break;
	case 't':
		if (value_of(line, len, "transfer-encoding:", &value))
			h->chunked = true;
		break;
	}
	return 0;
}

static int serve_http_parse_headers(const char *p, const char *end, struct serve_http_headers *h)
{
	while (p < end) {
		const char *next = memchr(p, '\n', (size_t)(end - p));

		next = next ? next + 1 : end;
		if (serve_http_parse_header(p, (size_t)(next - p), h))
			return -EPROTO;
		p = next;
	}
	return 0;
}

/* Returns the number of bytes up to the empty line, included; 0: incomplete; -EPROTO: too long. */
static ssize_t find_end(struct serve_state *state, const char *data, size_t size)
{
	const char *end = memmem(data + state->scanned, size - state->scanned, "\r\n\r\n", 4);

	state->scanned = 0;
	if (end)
		return end + 4 - data;
	if (size >= SERVE_LINE_MAX)
		return -EPROTO;
	state->scanned = size > 3 ? (uint32_t)size - 3 : 0;
	return 0;
}

static int serve_http_refuse(struct serve_request *out, const char *text)
{
	out->text = text;
	return -EPROTO;
}

int serve_http_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out)
{
	ssize_t end = find_end(state, data, size);
	struct serve_http_headers h = { 0 };
	struct serve_word words[4];
	const char *line;
	bool old;

	if (end <= 0)
		return end ? serve_http_refuse(out, REFUSAL("431 Request Header Fields Too Large"))
			   : 0;
	line = memchr(data, '\n', (size_t)end);
	if (serve_words(data, (size_t)(line - data), words, ARRAY_LEN(words)) != 3)
		return serve_http_refuse(out, REFUSAL("400 Bad Request"));
	old = serve_word_is(&words[2], "HTTP/1.0");
	if (!old && !serve_word_is(&words[2], "HTTP/1.1"))
		return serve_http_refuse(out, REFUSAL("505 HTTP Version Not Supported"));
	if (serve_http_parse_headers(line + 1, data + end - 2, &h))
		return serve_http_refuse(out, REFUSAL("400 Bad Request"));
	if (h.chunked)
		return serve_http_refuse(out, REFUSAL("501 Not Implemented"));
	out->kind = serve_word_is(&words[0], "HEAD") ? PAGE_HEAD : PAGE;
	out->last = h.close || (old && !h.keep);
	out->service_ns = SERVE_DRAWN;
	*used = (size_t)end;
	*skip = h.length;
	return 1;
}

void serve_http_write(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out)
{
	size_t len = strlen(settings->page);

	memcpy(to, settings->page, len);
	*out = (struct serve_reply){
		.head = len,
		.fill = request->kind == PAGE_HEAD ? 0 : settings->reply_size,
	};
}
