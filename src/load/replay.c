/* SPDX-License-Identifier: Apache-2.0 */
#include "load/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/vec.h"
#include "load/arrival.h"
#include "load/http_fields.h"
#include "load/http_request.h"
#include "load/text.h"
#include "load/workload.h"

#define TTL_MAX (30 * 86400) /* longest relative time of memcached, s: more means a date */
#define COUNTER_DIGITS 20    /* values up to this size are digits, which incr and decr count */

struct replay_request {
	uint64_t from;   /* place of its bytes in `text` */
	uint32_t first;  /* bytes before the target's fields, or of memcached's line */
	uint32_t rest;   /* bytes behind them; REPLAY_CACHE: of the value */
	uint16_t type;   /* enum operation_kind, or OPERATION_COMMAND */
	uint8_t own;     /* mask of default fields that the record has itself */
	bool has_value;
};

struct replay {
	enum replay_format format;
	const char *path; /* borrowed */
	struct strbuf text;
	struct replay_requests VEC_OF(struct replay_request) requests;
	unsigned char *value; /* bytes of values; owned */
	size_t value_max, request_max;
};

/* Whether a field has neither blanks nor control characters. */
static bool replay_is_printable(const struct replay_field *f)
{
	for (size_t i = 0; i < f->size; i++) {
		const unsigned char c = (unsigned char)f->text[i];

		if (c <= ' ' || c == 127)
			return false;
	}
	return true;
}

/* ---- HTTP ---- */

static int replay_add_http(struct replay *r, struct replay_file *file, struct replay_row *row,
			   const struct request_options *o, struct strbuf *why)
{
	struct replay_request request = { .from = r->text.len };
	struct strbuf unused = STRBUF_INIT(4096);
	enum operation_kind kind;
	const char *wrong = NULL;
	int err = http_method_parse(row->method.text, &kind, &unused);

	strbuf_release(&unused);
	if (err)
		return replay_file_refuse(file, row, "the method is none that can be sent, such as "
						     "GET or POST", why);
	if (*row->path.text != '/' ||
	    !replay_is_printable(&row->path))
		return replay_file_refuse(file, row, "the path must begin with '/' and have no "
						     "blanks or control characters", why);
	strbuf_printf(&r->text, "%s %s HTTP/1.1\r\n", row->method.text, row->path.text);
	request.first = (uint32_t)(r->text.len - request.from);
	request.own = http_fields_add_recorded(&r->text, row->headers.text, row->headers.size, o,
					       &wrong);
	if (wrong)
		return replay_file_refuse(file, row, wrong, why);
	/* RFC 9110, 8.6: a write says that it has no body. */
	if (row->body.size || kind == OPERATION_SET)
		strbuf_printf(&r->text, "Content-Length: %zu\r\n", row->body.size);
	strbuf_puts(&r->text, "\r\n");
	strbuf_add(&r->text, row->body.text, row->body.size);
	request.rest = (uint32_t)(r->text.len - request.from - request.first);
	request.type = (uint16_t)kind;
	return vec_push(&r->requests, request);
}

/* ---- memcached ---- */

/*
 * Operations of cache-trace and their commands. Those whose success depends on what is stored have
 * the type OPERATION_COMMAND. A cas is a set: the trace does not have its number.
 */
static const struct {
	const char *name, *command;
	uint16_t type;
	bool has_value, counts;
} cache_operations[] = {
	{ "get", "get", OPERATION_GET, false, false },
	{ "gets", "gets", OPERATION_GET, false, false },
	{ "set", "set", OPERATION_SET, true, false },
	{ "cas", "set", OPERATION_SET, true, false },
	{ "add", "add", OPERATION_COMMAND, true, false },
	{ "replace", "replace", OPERATION_COMMAND, true, false },
	{ "append", "append", OPERATION_COMMAND, true, false },
	{ "prepend", "prepend", OPERATION_COMMAND, true, false },
	{ "delete", "delete", OPERATION_DELETE, false, false },
	{ "incr", "incr", OPERATION_COMMAND, false, true },
	{ "decr", "decr", OPERATION_COMMAND, false, true },
};

static int replay_add_cache(struct replay *r, struct replay_file *file, struct replay_row *row,
			    struct strbuf *why)
{
	struct replay_request request = { .from = r->text.len };
	size_t i = 0;

	while (i < ARRAY_LEN(cache_operations) &&
	       strcmp(cache_operations[i].name, row->operation.text) != 0)
		i++;
	if (i == ARRAY_LEN(cache_operations))
		return replay_file_refuse(file, row, "the operation must be get, gets, set, add, "
					  "replace, cas, append, prepend, delete, incr or decr",
					  why);
	if (!row->key.size || row->key.size > WORKLOAD_KEY_MAX || !replay_is_printable(&row->key))
		return replay_file_refuse(file, row, "a key must have 1 to 250 bytes without "
						     "blanks or control characters", why);
	if (row->value_size > WORKLOAD_VALUE_MAX)
		return replay_file_refuse(file, row, "the value has more than 64 MiB", why);
	request.type = cache_operations[i].type;
	request.has_value = cache_operations[i].has_value;
	strbuf_printf(&r->text, "%s %s", cache_operations[i].command, row->key.text);
	if (request.has_value) {
		request.rest = (uint32_t)row->value_size;
		strbuf_printf(&r->text, " 0 %u %u",
			      (unsigned int)(row->ttl_s < TTL_MAX ? row->ttl_s : TTL_MAX),
			      request.rest);
		r->value_max = request.rest > r->value_max ? request.rest : r->value_max;
	} else if (cache_operations[i].counts) {
		strbuf_puts(&r->text, " 1");
	}
	strbuf_puts(&r->text, "\r\n");
	request.first = (uint32_t)(r->text.len - request.from);
	return vec_push(&r->requests, request);
}

/* ---- reading ---- */

static int replay_explain(const struct replay *r, int err, struct strbuf *why)
{
	err = err ? err : r->text.error;
	if (err == -E2BIG)
		strbuf_printf(why, "%s: more than %u requests or 2 GiB of them: set a shorter "
			      "--for, or split the file", r->path, REPLAY_REQUESTS_MAX);
	else if (err == -ENOMEM && !why->len)
		strbuf_printf(why, "%s: no memory for the requests", r->path);
	return err;
}

static int replay_read_rows(struct replay *r, struct replay_file *file, double end_ns,
			    const struct request_options *o, struct strbuf *why)
{
	struct replay_row row;
	int ret;

	while ((ret = replay_file_next(file, &row, why)) > 0 && (double)row.at_ns < end_ns) {
		ret = r->format == REPLAY_HTTP ? replay_add_http(r, file, &row, o, why) :
						 replay_add_cache(r, file, &row, why);
		if (ret || r->text.error)
			break;
	}
	ret = replay_explain(r, ret < 0 ? ret : 0, why);
	if (!ret && !r->requests.len) {
		strbuf_printf(why, "%s: the file has no request", r->path);
		ret = -EINVAL;
	}
	return ret;
}

/* Computes the largest size of a request, and makes the bytes of values. */
static int replay_finish(struct replay *r)
{
	vec_for_each(&r->requests, request) {
		const size_t size = (size_t)request->first + request->rest + 2;

		r->request_max = size > r->request_max ? size : r->request_max;
	}
	r->value = workload_make_bytes(r->value_max);
	return r->value ? 0 : -ENOMEM;
}

/* Returns the recorded time, in ns from the first request, of which no request is needed. */
static double replay_end(const struct load_config *config)
{
	struct strbuf unused = STRBUF_INIT(4096);
	struct arrival arrival;
	const bool own = config->loop == LOOP_OPEN &&
			 !arrival_parse(config->arrival, &arrival, &unused) &&
			 arrival.kind == ARRIVAL_FILE && !strcmp(arrival.file, config->replay);

	strbuf_release(&unused);
	return own ? (double)config->duration_ns * arrival.a : HUGE_VAL;
}

int replay_read(struct replay **out, const struct load_config *config, struct strbuf *why)
{
	struct replay *r = calloc(1, sizeof(*r));
	struct replay_file *file = NULL;
	int err = r ? replay_file_open(&file, config->replay, why) : -ENOMEM;

	*out = r;
	if (err)
		goto out;
	r->format = replay_file_format(file);
	r->path = config->replay;
	strbuf_init(&r->text, REPLAY_BYTES_MAX);
	vec_init(&r->requests, REPLAY_REQUESTS_MAX);
	err = replay_read_rows(r, file, replay_end(config), &config->request, why);
	if (!err)
		err = replay_explain(r, replay_finish(r), why);
out:
	replay_file_close(file);
	if (err) {
		replay_free(r);
		*out = NULL;
	}
	return err;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	strbuf_release(&r->text);
	vec_release(&r->requests);
	free(r->value);
	free(r);
}

int replay_check(const struct replay *r, const struct target *target, const struct workload *w,
		 struct strbuf *why)
{
	if (target->protocol->replays != r->format) {
		strbuf_printf(why, "--replay %s: the file has requests of %s, not of %s", r->path,
			      r->format == REPLAY_HTTP ? "http or https" : "memcached",
			      target->protocol->name);
		return -EINVAL;
	}
	if (r->format == REPLAY_HTTP && strcmp(target->path, "/") != 0) {
		strbuf_printf(why, "--replay has paths of its own: remove %s from the URL",
			      target->path);
		return -EINVAL;
	}
	for (int i = 0; r->format == REPLAY_HTTP && i < HTTP_FIELD_PARTS; i++) {
		if (!(w->http->fields[i].uses >> TEMPLATE_KEY & 1))
			continue;
		strbuf_puts(why, "--header: recorded requests (--replay) have no {key} of a "
				 "workload; {seq} and {random:N} are filled in");
		return -EINVAL;
	}
	return 0;
}

size_t replay_request_max(const struct replay *r)
{
	return r->request_max;
}

/* ---- sending ---- */

/* Writes the fields that the record does not have itself. */
static char *replay_put_fields(char *p, const struct workload *w, const struct replay_request *r,
			       const struct encoded_request *out)
{
	const struct template_values values = { .seq = out->number, .random = out->number };

	for (int i = 0; i < HTTP_FIELD_PARTS; i++) {
		if (!(r->own >> i & 1))
			p = template_put(&w->http->fields[i], &values, p);
	}
	return p;
}

int replay_encode(const struct workload *w, void *buffer, size_t cap, struct encoded_request *out)
{
	const struct replay *replay = w->replay;
	const struct replay_request *r =
		&replay->requests.items[out->number % replay->requests.len];
	const char *text = replay->text.buf + r->from;
	char *p = buffer;

	if (cap < (size_t)r->first + r->rest + 2 + w->request_overhead)
		return -ENOBUFS;
	p = text_put(p, text, r->first);
	if (replay->format == REPLAY_HTTP) {
		p = replay_put_fields(p, w, r, out);
		p = text_put(p, text + r->first, r->rest);
	} else if (r->has_value) {
		if (r->rest <= COUNTER_DIGITS)
			p = text_put(p, "11111111111111111111", r->rest);
		else
			p = text_put(p, replay->value, r->rest);
		p = TEXT_PUT(p, "\r\n");
	}
	out->size = (size_t)(p - (char *)buffer);
	out->type = r->type;
	return 0;
}
