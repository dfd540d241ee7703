/* SPDX-License-Identifier: Apache-2.0 */
#include "load/request_options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/bug.h"
#include "base/parse.h"

#define SHOWN_MAX (REQUEST_HEADER_BYTES_MAX + 64)

/* ---- connections ---- */

static int request_options_copy_port(const char *text, char port[16])
{
	uint64_t n;

	if (parse_u64(text, &n) || n < 1 || n > 65535)
		return -EINVAL;
	snprintf(port, 16, "%u", (unsigned int)n);
	return 0;
}

int request_options_split(const char *text, char host[256], char port[16])
{
	const bool v6 = *text == '[';
	const char *from = text + v6;
	const size_t size = strcspn(from, v6 ? "]" : ":");
	const char *rest = from + size + (v6 && from[size]);

	if (!size || size >= 256 || (v6 && !from[size]) || strcspn(from, " /?#@") < size)
		return -EINVAL;
	memcpy(host, from, size);
	host[size] = '\0';
	if (v6 && !strchr(host, ':'))
		return -EINVAL;
	if (!*rest)
		return 0;
	return *rest == ':' ? request_options_copy_port(rest + 1, port) : -EINVAL;
}

/* Whether SNI can hold the text: a name, not an address (RFC 6066, 3). */
static bool request_options_is_name(const char *text)
{
	unsigned char address[16];
	const size_t size = strlen(text);

	return size < 254 && inet_pton(AF_INET, text, address) != 1 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
		       size;
}

int request_options_check(const struct request_options *o, struct strbuf *why)
{
	char host[256], port[16];

	if (o->connect_to && request_options_split(o->connect_to, host, port)) {
		strbuf_printf(why, "--connect-to takes HOST or HOST:PORT, such as 10.0.0.1:8443 or "
			      "[::1]:8443, not '%s'", o->connect_to);
		return -EINVAL;
	}
	if (o->sni && !request_options_is_name(o->sni)) {
		strbuf_printf(why, "--sni takes a host name such as example.org, not '%s'", o->sni);
		return -EINVAL;
	}
	return 0;
}

/* ---- facts ---- */

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
	static const char *const resumption[] = { NULL, "no", "yes" };
	const struct {
		const char *name, *value;
	} texts[] = {
		{ "method", o->method }, { "body", o->body }, { "auth", o->auth },
		{ "connect-to", o->connect_to }, { "sni", o->sni },
		{ "tls-resumption", resumption[o->tls_resumption] },
	};
	int err = 0;

	for (uint32_t i = 0; !err && i < o->headers.len; i++)
		err = request_options_put_one(sink, now, "header", o->headers.items[i]);
	for (size_t i = 0; !err && i < ARRAY_LEN(texts); i++)
		err = request_options_put_one(sink, now, texts[i].name, texts[i].value);
	return err;
}
