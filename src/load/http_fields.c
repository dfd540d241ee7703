/* SPDX-License-Identifier: Apache-2.0 */
#include "load/http_fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/version.h"

#define TCHARS "!#$%&'*+-.^_`|~" /* besides letters and digits (RFC 9110, 5.6.2) */
#define HEADER_TAKES "--header takes 'NAME: VALUE'"

/* A field of --header; `value` is trimmed. */
struct header_field {
	const char *name, *value;
	size_t name_size, value_size;
};

/* Names that --header may give once, or without a value to omit the field. */
static const char *const default_names[] = {
	"Host", "User-Agent", "Authorization", "Content-Type",
};

/* ---- syntax ---- */

static bool is_token(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const char c = text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !parse_is_digit(c) &&
		    (!c || !strchr(TCHARS, c)))
			return false;
	}
	return size > 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Splits "NAME: VALUE". Returns false without a colon. */
static bool http_field_split(const char *header, struct header_field *f)
{
	const char *colon = strchr(header, ':');

	if (!colon)
		return false;
	f->name = header;
	f->name_size = (size_t)(colon - header);
	f->value = colon + 1;
	while (is_blank(*f->value))
		f->value++;
	f->value_size = strlen(f->value);
	while (f->value_size && is_blank(f->value[f->value_size - 1]))
		f->value_size--;
	return true;
}

static bool http_field_is(const struct header_field *f, const char *name)
{
	return f->name_size == strlen(name) && !strncasecmp(f->name, name, f->name_size);
}

static bool http_field_is_default(const struct header_field *f)
{
	for (size_t i = 0; i < ARRAY_LEN(default_names); i++) {
		if (http_field_is(f, default_names[i]))
			return true;
	}
	return false;
}

/* Finds the field of --header with this name. Returns false if there is none. */
static bool http_field_find(const struct request_options *o, const char *name,
			    struct header_field *f)
{
	for (uint32_t i = 0; i < o->headers.len; i++) {
		if (http_field_split(o->headers.items[i], f) && http_field_is(f, name))
			return true;
	}
	return false;
}

bool http_fields_has(const struct request_options *o, const char *name)
{
	struct header_field unused;

	return http_field_find(o, name, &unused);
}

/* ---- checks ---- */

static int http_fields_refuse(struct strbuf *why, const char *text)
{
	strbuf_puts(why, text);
	return -EINVAL;
}

/* Refuses control characters, which would end the field (RFC 9110, 5.5). */
static int http_field_check_value(const struct header_field *f, struct strbuf *why)
{
	for (size_t i = 0; i < f->value_size; i++) {
		const unsigned char c = (unsigned char)f->value[i];

		if (c == '\r' || c == '\n')
			return http_fields_refuse(why, "--header: a value cannot contain a line "
						       "end: give each field its own --header");
		if ((c < ' ' && c != '\t') || c == 127) {
			strbuf_printf(why, "--header: the value of %.*s has a control character",
				      (int)f->name_size, f->name);
			return -EINVAL;
		}
	}
	return 0;
}

static int http_field_check(const char *header, struct strbuf *why)
{
	struct header_field f;

	if (strlen(header) > REQUEST_HEADER_BYTES_MAX) {
		strbuf_printf(why, "--header: a field has at most %d bytes",
			      REQUEST_HEADER_BYTES_MAX);
		return -EINVAL;
	}
	if (!http_field_split(header, &f))
		return http_fields_refuse(why, HEADER_TAKES ", with a colon after the name");
	if (!is_token(f.name, f.name_size))
		return http_fields_refuse(why, HEADER_TAKES ": a name has letters, digits and "
						       TCHARS " only");
	if (http_field_is(&f, "Content-Length") || http_field_is(&f, "Transfer-Encoding")) {
		strbuf_printf(why, "--header: hostlat itself sets the length of a body: remove "
			      "%.*s", (int)f.name_size, f.name);
		return -EINVAL;
	}
	if (!f.value_size && !http_field_is_default(&f)) {
		strbuf_printf(why, "--header: %.*s has no value; only default fields can be "
			      "removed: Host, User-Agent, Authorization, Content-Type",
			      (int)f.name_size, f.name);
		return -EINVAL;
	}
	return http_field_check_value(&f, why);
}

int http_fields_check(const struct request_options *o, struct strbuf *why)
{
	uint32_t seen[ARRAY_LEN(default_names)] = { 0 };
	int err = 0;

	for (uint32_t i = 0; !err && i < o->headers.len; i++) {
		struct header_field f;

		err = http_field_check(o->headers.items[i], why);
		if (err)
			break;
		http_field_split(o->headers.items[i], &f);
		for (size_t k = 0; k < ARRAY_LEN(default_names); k++) {
			if (!http_field_is(&f, default_names[k]) || !seen[k]++)
				continue;
			strbuf_printf(why, "--header: %s is given twice", default_names[k]);
			err = -EINVAL;
		}
	}
	return err;
}

/* ---- fields of a request ---- */

static void http_fields_add_name(struct template *t, const char *name, size_t size)
{
	template_add(t, name, size);
	template_add(t, ": ", 2);
}

/* Adds a default field, or the field of --header that replaces it. */
static int http_fields_add_default(struct template *t, const char *name, const char *value,
				   const struct request_options *o, struct strbuf *why)
{
	struct header_field f;
	int err = 0;

	if (http_field_find(o, name, &f)) {
		if (!f.value_size)
			return 0;
		http_fields_add_name(t, name, strlen(name));
		err = template_parse(t, f.value, f.value_size, "--header", why);
	} else if (value) {
		http_fields_add_name(t, name, strlen(name));
		template_add(t, value, strlen(value));
	} else {
		return 0;
	}
	template_add(t, "\r\n", 2);
	return err;
}

int http_fields_add(struct template *t, const struct http_defaults *defaults,
		    const struct request_options *o, struct strbuf *why)
{
	int err = 0;

	for (int i = 0; !err && i < HTTP_FIELD_PARTS; i++)
		err = http_fields_add_part(t, i, defaults, o, why);
	return err;
}

/* Adds all fields of --header that replace no default field. */
static int http_fields_add_others(struct template *t, const struct request_options *o,
				  struct strbuf *why)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < o->headers.len; i++) {
		struct header_field f;

		if (!http_field_split(o->headers.items[i], &f) || http_field_is_default(&f))
			continue;
		http_fields_add_name(t, f.name, f.name_size);
		err = template_parse(t, f.value, f.value_size, "--header", why);
		template_add(t, "\r\n", 2);
	}
	return err;
}

int http_fields_add_part(struct template *t, int part, const struct http_defaults *defaults,
			 const struct request_options *o, struct strbuf *why)
{
	char agent[64];
	const char *const values[] = {
		defaults->host, agent, defaults->authorization, defaults->content_type,
	};

	_Static_assert(ARRAY_LEN(values) == ARRAY_LEN(default_names) &&
		       HTTP_FIELD_PARTS == ARRAY_LEN(default_names) + 1, "a part for each");
	if (part == HTTP_FIELD_PARTS - 1)
		return http_fields_add_others(t, o, why);
	snprintf(agent, sizeof(agent), "hostlat/%s", hostlat_version());
	return http_fields_add_default(t, default_names[part], values[part], o, why);
}

/* ---- recorded fields ---- */

/* Fields of one connection (RFC 9110, 7.6.1), and those that the body's length sets. */
static const char *const unsent_names[] = {
	"Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding",
	"Upgrade", "HTTP2-Settings", "Content-Length",
};

static bool http_field_is_sent(const struct header_field *f, const struct request_options *o)
{
	for (size_t i = 0; i < ARRAY_LEN(unsent_names); i++) {
		if (http_field_is(f, unsent_names[i]))
			return false;
	}
	if (o && o->auth && http_field_is(f, "Authorization"))
		return false;
	for (uint32_t i = 0; o && i < o->headers.len; i++) {
		struct header_field given;

		if (http_field_split(o->headers.items[i], &given) &&
		    given.name_size == f->name_size &&
		    !strncasecmp(given.name, f->name, f->name_size))
			return false;
	}
	return true;
}

/* Adds a recorded field. Returns the bit of the default field that it is, or 0. */
static uint8_t http_field_add_recorded(struct strbuf *out, const char *line,
				       const struct request_options *o, const char **wrong)
{
	struct strbuf unused = STRBUF_INIT(4096);
	struct header_field f;

	if (!http_field_split(line, &f) || !is_token(f.name, f.name_size) ||
	    http_field_check_value(&f, &unused)) {
		strbuf_release(&unused);
		*wrong = "each line of the headers must be 'NAME: VALUE', without control "
			 "characters";
		return 0;
	}
	if (!http_field_is_sent(&f, o))
		return 0;
	strbuf_printf(out, "%.*s: %.*s\r\n", (int)f.name_size, f.name, (int)f.value_size,
		      f.value);
	for (size_t i = 0; i < ARRAY_LEN(default_names); i++) {
		if (http_field_is(&f, default_names[i]))
			return (uint8_t)(1U << i);
	}
	return 0;
}

uint8_t http_fields_add_recorded(struct strbuf *out, char *text, size_t size,
				 const struct request_options *o, const char **wrong)
{
	char *line, *rest = text;
	uint8_t own = 0;

	if (strlen(text) != size)
		*wrong = "the headers contain a zero byte";
	while (!*wrong && (line = strsep(&rest, "\n")) != NULL) {
		const size_t n = strlen(line);

		if (n && line[n - 1] == '\r')
			line[n - 1] = '\0';
		if (*line)
			own |= http_field_add_recorded(out, line, o, wrong);
	}
	return own;
}

/* ---- methods ---- */

/*
 * Known methods. `kind` decides which requests are sent again after a close (all but writes, of
 * which PUT may be) and whether a reply has a body.
 */
static const struct {
	const char *name;
	enum operation_kind kind;
	bool has_body; /* RFC 9110, 9.3 gives a body a meaning, or lets the server do so */
} methods[] = {
	{ "GET", OPERATION_GET, false },
	{ "HEAD", OPERATION_HEAD, false },
	{ "POST", OPERATION_SET, true },
	{ "PUT", OPERATION_SET, true },
	{ "PATCH", OPERATION_SET, true },
	{ "DELETE", OPERATION_DELETE, true },
	{ "OPTIONS", OPERATION_GET, true },
	{ "TRACE", OPERATION_GET, false },
};

int http_method_parse(const char *method, enum operation_kind *kind, struct strbuf *why)
{
	*kind = OPERATION_SET;
	if (!is_token(method, strlen(method)) || strlen(method) > HTTP_METHOD_MAX) {
		strbuf_printf(why, "--http-method takes up to %d letters, digits and %s, such as "
			      "PUT", HTTP_METHOD_MAX, TCHARS);
		return -EINVAL;
	}
	if (!strcmp(method, "CONNECT"))
		return http_fields_refuse(why, "--http-method: CONNECT opens a tunnel, which gives "
					       "no replies to measure");
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (!strcmp(method, methods[i].name)) {
			*kind = methods[i].kind;
			return 0;
		}
		if (strcasecmp(method, methods[i].name) != 0)
			continue;
		strbuf_printf(why, "--http-method: methods distinguish upper and lower case: write "
			      "%s, not %s", methods[i].name, method);
		return -EINVAL;
	}
	return 0;
}

bool http_method_is_idempotent(const char *method)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (!strcmp(method, methods[i].name))
			return methods[i].kind != OPERATION_SET || !strcmp(method, "PUT");
	}
	return false;
}

bool http_method_has_body(const char *method)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (!strcmp(method, methods[i].name))
			return methods[i].has_body;
	}
	return true;
}
