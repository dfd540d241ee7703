/* SPDX-License-Identifier: Apache-2.0 */
#include "load/http_put.h"

#include "load/http_request.h"
#include "load/text.h"
#include "load/workload.h"

static char *http_put_filled(char *p, const struct http_request *r, const struct workload *w,
			     const struct operation *o)
{
	char key[WORKLOAD_KEY_MAX];
	struct template_values values = {
		.key = key, .value = workload_bytes(w), .value_size = o->size, .seq = o->number,
		.random = o->random,
	};

	if (http_request_uses(r) >> TEMPLATE_KEY & 1)
		values.key_size = workload_key_text(w, o->key, key);
	p = template_put(&r->head, &values, p);
	if (!r->body.parts.len)
		return p;
	/* Numbers of the body differ from those of the head. */
	values.random = ~values.random;
	p = text_put_u64(p, template_size(&r->body, &values));
	return template_put(&r->body, &values, TEXT_PUT(p, "\r\n\r\n"));
}

static char *http_put_one(char *p, const struct workload *w, const struct operation *o)
{
	const struct http_request *r = &w->http->of[o->kind];

	if (r->head.parts.len == 1 && !r->body.parts.len)
		return text_put(p, r->head.text.buf, r->head.text.len);
	return http_put_filled(p, r, w, o);
}

const protocol_put http_put[OPERATIONS] = {
	[OPERATION_GET] = http_put_one, [OPERATION_SET] = http_put_one,
	[OPERATION_DELETE] = http_put_one, [OPERATION_HEAD] = http_put_one,
};
