/* SPDX-License-Identifier: Apache-2.0 */
#include "load/http_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/readfile.h"
#include "load/http_fields.h"

#define BODY_MAX (64 << 20)
#define HEAD_ROOM (1 << 20) /* more than the largest head */
#define LENGTH "Content-Length: "
#define LENGTH_ROOM 32 /* digits of a length and the two line ends behind it */

static const char *const usual_methods[OPERATIONS] = {
	[OPERATION_GET] = "GET", [OPERATION_SET] = "POST", [OPERATION_DELETE] = "DELETE",
	[OPERATION_HEAD] = "HEAD",
};

/* The parts of a request that depend on its operation. */
struct http_form {
	enum operation_kind kind;
	const char *method;
	const char *body; /* template or "@FILE"; NULL: none */
};

/* ---- body ---- */

static int http_body_read(struct template *body, const char *path, struct strbuf *why)
{
	struct strbuf text = STRBUF_INIT(BODY_MAX);
	int err = readfile(path, &text);

	if (err == -E2BIG) {
		strbuf_printf(why, "--body: %s has more than %d MiB", path, BODY_MAX >> 20);
		err = -EFBIG;
	} else if (err) {
		strbuf_printf(why, "--body: cannot read %s: %s", path, strerror(-err));
	} else {
		template_add(body, strbuf_str(&text), text.len);
		err = template_error(body);
	}
	strbuf_release(&text);
	return err;
}

static uint32_t http_body_count_values(const struct template *body)
{
	uint32_t n = 0;

	vec_for_each(&body->parts, part)
		n += part->kind == TEMPLATE_VALUE;
	return n;
}

static int http_body_make(struct template *body, const char *text, struct strbuf *why)
{
	int err;

	template_init(body, BODY_MAX);
	if (!text)
		return 0;
	if (*text == '@')
		return http_body_read(body, text + 1, why);
	if (strlen(text) > REQUEST_BODY_TEXT_MAX) {
		strbuf_printf(why, "--body takes a text of at most %d bytes: use --body @FILE",
			      REQUEST_BODY_TEXT_MAX);
		return -EINVAL;
	}
	err = template_parse(body, text, strlen(text), "--body", why);
	if (!err && http_body_count_values(body) > 1) {
		strbuf_puts(why, "--body: {value} is given twice");
		return -EINVAL;
	}
	return err;
}

/* ---- head ---- */

static int http_head_make(struct template *head, const struct http_form *form,
			  const struct target *target, const struct http_defaults *usual,
			  struct strbuf *why)
{
	static const struct request_options none;
	const struct request_options *o = target->options ? target->options : &none;
	struct http_defaults defaults = *usual;
	int err;

	defaults.content_type = target->protocol->grpc ? "application/grpc" :
				form->body ? "application/octet-stream" : NULL;
	template_init(head, BODY_MAX + HEAD_ROOM);
	template_add(head, form->method, strlen(form->method));
	template_add(head, " ", 1);
	err = template_parse(head, target->path, strlen(target->path), "the URL's path", why);
	if (err)
		return err;
	template_add(head, " HTTP/1.1\r\n", strlen(" HTTP/1.1\r\n"));
	err = http_fields_add(head, &defaults, o, why);
	if (!err && head->uses & 1U << TEMPLATE_VALUE) {
		strbuf_puts(why, "{value} belongs into --body: a URL and --header take {key}, "
			    "{seq} and {random:N}");
		err = -EINVAL;
	}
	return err ? err : template_error(head);
}

/* Ends the head and appends a body whose length is the same in all requests. */
static void http_head_end(struct template *head, const struct template *body)
{
	char length[64];
	int n = snprintf(length, sizeof(length), LENGTH "%zu\r\n\r\n", body->size_max);

	template_add(head, length, (size_t)n);
	template_add(head, strbuf_str(&body->text), body->text.len);
}

static int http_request_make(struct http_request *r, const struct http_form *form,
			     const struct target *target,
			     const struct http_defaults *defaults, struct strbuf *why)
{
	int err = http_body_make(&r->body, form->body, why);

	if (!err)
		err = http_head_make(&r->head, form, target, defaults, why);
	if (err)
		return err;
	if (r->body.uses & ~(1U << TEMPLATE_TEXT)) {
		template_add(&r->head, LENGTH, strlen(LENGTH));
		return template_error(&r->head);
	}
	/* RFC 9110, 8.6: a write says that it has no body. */
	if (form->body || form->kind == OPERATION_SET)
		http_head_end(&r->head, &r->body);
	else
		template_add(&r->head, "\r\n", 2);
	template_release(&r->body);
	return template_error(&r->head);
}

/* ---- all requests of a target ---- */

uint32_t http_request_uses(const struct http_request *r)
{
	return r->head.uses | r->body.uses;
}

/* Makes the one request of --http-method and --body, or of gRPC, whose body is h2's. */
static int http_requests_make_one(struct http_requests *out, const struct target *target,
				  const struct http_defaults *defaults, struct strbuf *why)
{
	const struct request_options *o = target->options;
	struct http_form form = {
		.method = o && o->method ? o->method : "POST", .body = o ? o->body : NULL,
	};
	int err = http_method_parse(form.method, &form.kind, why);

	if (err)
		return err;
	if (form.body && !http_method_has_body(form.method)) {
		strbuf_printf(why, "--body: a %s request has no body: remove --http-method %s, or "
			      "use --http-method POST", form.method, form.method);
		return -EINVAL;
	}
	out->only = &out->of[form.kind];
	return http_request_make(&out->of[form.kind], &form, target, defaults, why);
}

/* Makes a request for each operation of the workload's mix. */
static int http_requests_make_mix(struct http_requests *out, const struct target *target,
				  const struct http_defaults *defaults, struct strbuf *why)
{
	int err = 0;

	for (int i = 0; !err && i < OPERATIONS && usual_methods[i]; i++) {
		const struct http_form form = {
			.kind = i, .method = usual_methods[i],
			.body = i == OPERATION_SET ? "{value}" : NULL,
		};

		err = http_request_make(&out->of[i], &form, target, defaults, why);
	}
	return err;
}

/* Makes the fields that --replay adds to recorded requests. */
static int http_requests_make_fields(struct http_requests *out, const struct request_options *o,
				     const struct http_defaults *defaults, struct strbuf *why)
{
	static const struct request_options none;
	int err = 0;

	for (int i = 0; !err && i < HTTP_FIELD_PARTS; i++) {
		template_init(&out->fields[i], HEAD_ROOM);
		err = http_fields_add_part(&out->fields[i], i, defaults, o ? o : &none, why);
		err = err ? err : template_error(&out->fields[i]);
	}
	return err;
}

int http_requests_make(struct http_requests *out, const struct target *target,
		       const struct http_defaults *defaults, struct strbuf *why)
{
	const struct request_options *o = target->options;
	int err = o ? http_fields_check(o, why) : 0;

	*out = (struct http_requests){ 0 };
	if (!err && o && defaults->authorization && http_fields_has(o, "Authorization")) {
		strbuf_puts(why, "--header Authorization cannot be combined with --auth or a user "
				 "in the URL");
		err = -EINVAL;
	}
	if (!err)
		err = http_requests_make_fields(out, o, defaults, why);
	if (!err && (target->protocol->grpc || (o && (o->method || o->body))))
		err = http_requests_make_one(out, target, defaults, why);
	else if (!err)
		err = http_requests_make_mix(out, target, defaults, why);
	if (err == -E2BIG && !why->len)
		strbuf_printf(why, "a request has at most %d placeholders", TEMPLATE_PARTS_MAX / 2);
	return err == -E2BIG ? -EINVAL : err;
}

void http_requests_release(struct http_requests *requests)
{
	for (int i = 0; i < OPERATIONS; i++) {
		template_release(&requests->of[i].head);
		template_release(&requests->of[i].body);
	}
	for (int i = 0; i < HTTP_FIELD_PARTS; i++)
		template_release(&requests->fields[i]);
}

size_t http_requests_size_max(const struct http_requests *requests)
{
	size_t max = 0;

	for (int i = 0; i < OPERATIONS; i++) {
		const struct http_request *r = &requests->of[i];
		const size_t size = r->head.size_max + r->body.size_max + LENGTH_ROOM;

		max = size > max ? size : max;
	}
	return max;
}
