/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of HTTP/2 (RFC 9113, 8.3.1) and gRPC calls, converted from the text that the workload
 * has for HTTP/1.1: so every option that forms a request does so in both.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bug.h"
#include "load/h2_session.h"
#include "load/http_put.h"
#include "load/http_request.h"
#include "load/workload.h"

#define PSEUDO_FIELDS 4 /* method, scheme, authority and path, in this order */
#define MORE_FIELDS 1   /* "te" of gRPC */

/* Fields of a connection, which HTTP/2 has not (RFC 9113, 8.2.2). */
static const char *const left_out[] = {
	"connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
};

static nghttp2_nv h2_field(const char *name, const char *value, size_t size)
{
	/* The text lives as long as the stream, so that nghttp2 copies neither. */
	return (nghttp2_nv){
		.name = (uint8_t *)name, .namelen = strlen(name),
		.value = (uint8_t *)value, .valuelen = size,
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE,
	};
}

static bool h2_is_left_out(const char *name, bool grpc)
{
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
		if (strcmp(name, left_out[i]) == 0)
			return true;
	}
	/* A call's body is none of HTTP/1.1's. */
	return grpc && strcmp(name, "content-length") == 0;
}

/* Reads "METHOD PATH HTTP/1.1", whose end is `end`. */
static void h2_read_request_line(struct h2_request *r, char *line, const char *end)
{
	char *path = memchr(line, ' ', (size_t)(end - line)), *version;

	*path++ = '\0';
	version = memrchr(path, ' ', (size_t)(end - path));
	r->fields[0] = h2_field(":method", line, strlen(line));
	r->fields[3] = h2_field(":path", path, (size_t)(version - path));
}

/* Reads "Name: value", whose end is `end`; the name becomes lower case. */
static void h2_read_field(struct h2_request *r, char *line, const char *end, bool grpc)
{
	char *colon = memchr(line, ':', (size_t)(end - line)), *value = colon + 2;

	*colon = '\0';
	for (char *p = line; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (strcmp(line, "host") == 0)
		r->fields[2] = h2_field(":authority", value, (size_t)(end - value));
	else if (!h2_is_left_out(line, grpc))
		r->fields[r->n_fields++] = h2_field(line, value, (size_t)(end - value));
}

static size_t h2_count_lines(const char *text, const char *end)
{
	size_t n = 0;

	while ((text = memmem(text, (size_t)(end - text), "\r\n", 2)) != NULL && ++n)
		text += 2;
	return n;
}

static int h2_request_read(struct h2_request *r, const struct h2_session *s, size_t size)
{
	char *line = r->text, *end = r->text + size, *next;
	char *body = (char *)memmem(line, size, "\r\n\r\n", 4) + 4;

	r->fields = calloc(PSEUDO_FIELDS + MORE_FIELDS + h2_count_lines(line, body),
			   sizeof(*r->fields));
	if (!r->fields)
		return -ENOMEM;
	r->n_fields = PSEUDO_FIELDS;
	r->fields[1] = h2_field(":scheme", s->tls ? "https" : "http", s->tls ? 5 : 4);
	r->fields[2] = h2_field(":authority", "", 0);
	for (; line < body - 2; line = next + 2) {
		next = memmem(line, (size_t)(body - line), "\r\n", 2);
		if (line == r->text)
			h2_read_request_line(r, line, next);
		else
			h2_read_field(r, line, next, s->grpc);
	}
	if (s->grpc)
		r->fields[r->n_fields++] = h2_field("te", "trailers", 8);
	r->body = (const unsigned char *)body;
	r->body_size = (size_t)(end - body);
	return 0;
}

static void h2_request_set_message(struct h2_request *r, const struct workload *w)
{
	static const unsigned char empty[GRPC_PREFIX];

	r->body = w->message.bytes ? w->message.bytes : empty;
	r->body_size = w->message.bytes ? w->message.size : sizeof(empty);
}

int h2_request_make(struct h2_request *r, const struct h2_session *s, const struct workload *w,
		    const struct operation *o)
{
	char *end;
	int err;

	*r = (struct h2_request){ .text = malloc(w->request_overhead + o->size) };
	if (!r->text)
		return -ENOMEM;
	end = http_put[o->kind](r->text, w, o);
	err = h2_request_read(r, s, (size_t)(end - r->text));
	if (s->grpc)
		h2_request_set_message(r, w);
	return err;
}

void h2_request_release(struct h2_request *r)
{
	free(r->text);
	free(r->fields);
	*r = (struct h2_request){ 0 };
}

bool h2_request_is_same(const struct workload *w, enum operation_kind kind)
{
	return !(http_request_uses(&w->http->of[kind]) & ~(1U << TEMPLATE_TEXT));
}
