/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any lines as options of HTTP requests; the first byte of a line says which option it is: a header
 * field, the method, the body, the workload, else the path. What is accepted must encode into a
 * buffer of the promised size, without a line end in the fields.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/protocol.h"
#include "load/workload.h"

struct input {
	struct request_options options;
	const char *workload, *path;
};

static void read_line(struct input *in, const char *line)
{
	const char *text = *line ? line + 1 : NULL;

	if (*line == 'H' && in->options.headers.len < OPT_LIST_MAX)
		in->options.headers.items[in->options.headers.len++] = text;
	else if (*line == 'M' && *text)
		in->options.method = text;
	else if (*line == 'B' && *text && *text != '@')
		in->options.body = text;
	else if (*line == 'W' && strchr(text, '='))
		in->workload = text;
	else if (*line)
		in->path = line;
}

/* The head has a line per field: as many as all requests of these options. */
static void check(const struct input *in, const char *request, size_t size)
{
	const char *end = memmem(request, size, "\r\n\r\n", 4);
	uint32_t lines = 0;

	BUG_ON(!end);
	for (const char *p = request; p < end; p++)
		lines += *p == '\n';
	/* Host, User-Agent, Content-Type, Content-Length */
	BUG_ON(lines > in->options.headers.len + 4);
}

static void use(const struct input *in, const struct workload *w, const struct protocol *p)
{
	const size_t max = workload_request_max(w);
	char *buffer = malloc(max);
	struct rng rng;

	BUG_ON(!buffer);
	rng_init(&rng, 1);
	for (uint32_t id = 0; id < 8; id++) {
		struct encoded_request out = { .number = UINT64_MAX - id };

		BUG_ON(protocol_encode(p, w, &rng, id, buffer, max, &out) || out.size > max);
		check(in, buffer, out.size);
	}
	free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf why = STRBUF_INIT(1 << 20), url = STRBUF_INIT(1 << 20);
	char *text = strndup((const char *)data, size), *rest = text, *line;
	struct input in = { .path = "" };
	struct workload w;
	struct target t;

	BUG_ON(!text);
	while ((line = strsep(&rest, "\n")))
		read_line(&in, line);
	strbuf_printf(&url, "http://h/%s", in.path);
	if (!target_parse(strbuf_str(&url), &t, &why)) {
		t.options = &in.options;
		if (!workload_parse(&w, in.workload, &t, &why)) {
			use(&in, &w, t.protocol);
			workload_release(&w);
		} else {
			BUG_ON(!why.len);
		}
	}
	strbuf_release(&why);
	strbuf_release(&url);
	free(text);
	return 0;
}
