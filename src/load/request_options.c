/* SPDX-License-Identifier: Apache-2.0 */
#include "load/request_options.h"

#include <string.h>
#include <strings.h>

#include "base/bug.h"

#define SHOWN_MAX (REQUEST_HEADER_BYTES_MAX + 64)

const char *request_options_body_file(const struct request_options *o)
{
	return o->body && *o->body == '@' ? o->body + 1 : NULL;
}

/* Whether the name of a header field hints at a secret value. */
static bool request_options_is_secret(const char *name, size_t size)
{
	static const char *const words[] = {
		"auth", "cookie", "key", "password", "secret", "session", "token",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const size_t n = strlen(words[i]);

		for (size_t at = 0; at + n <= size; at++) {
			if (!strncasecmp(name + at, words[i], n))
				return true;
		}
	}
	return false;
}

static void request_options_show_header(const char *header, struct strbuf *out)
{
	const size_t name = strcspn(header, ":");

	if (request_options_is_secret(header, name))
		strbuf_printf(out, "%.*s: ***", (int)name, header);
	else
		strbuf_puts(out, header);
}

static int request_options_put_one(struct event_sink *sink, uint64_t now, const char *name,
				   const char *value)
{
	struct strbuf text = STRBUF_INIT(SHOWN_MAX);
	int err;

	if (!value)
		return 0;
	strbuf_printf(&text, "%s ", name);
	if (!strcmp(name, "header"))
		request_options_show_header(value, &text);
	else
		strbuf_puts(&text, value);
	err = text.error ? text.error :
		event_put_fact(sink, now, LOAD_FACT_REQUEST, strbuf_str(&text));
	strbuf_release(&text);
	return err;
}

int request_options_put(const struct request_options *o, struct event_sink *sink, uint64_t now)
{
	const struct {
		const char *name, *value;
	} texts[] = {
		{ "method", o->method }, { "body", o->body },
	};
	int err = 0;

	for (uint32_t i = 0; !err && i < o->headers.len; i++)
		err = request_options_put_one(sink, now, "header", o->headers.items[i]);
	for (size_t i = 0; !err && i < ARRAY_LEN(texts); i++)
		err = request_options_put_one(sink, now, texts[i].name, texts[i].value);
	return err;
}
