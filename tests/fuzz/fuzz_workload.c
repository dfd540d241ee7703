/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a workload, in one line or as a file (the first byte says which). What is accepted
 * must encode, with every protocol, into a buffer of the promised size.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/protocol.h"
#include "load/workload.h"
#include "load/workload_set.h"
#include "load/workload_file.h"

/* Whether the protocol lacks an operation of the workload. */
static bool lacks(const struct protocol *p, const struct workload *w)
{
	for (int i = 0; p->put && i < OPERATIONS; i++) {
		if (w->share[i] > 0 && !p->put[i])
			return true;
	}
	return false;
}

static void use(const struct workload *parsed)
{
	size_t max = workload_request_max(parsed);
	struct workload copy = *parsed, *w = &copy;
	char *buffer = malloc(max);
	struct encoded_request out = { 0 };
	struct rng rng;

	BUG_ON(!buffer);
	rng_init(&rng, 1);
	BUG_ON(w->keys < 1 || w->keys > WORKLOAD_KEYS_MAX);
	for (int i = 0; i < OPERATIONS; i++)
		BUG_ON(!(w->share[i] >= 0 && w->share[i] <= 1));
	for (const struct protocol *p = protocols; p->name; p++) {
		/* Requests of HTTP and gRPC are made for a target: fuzz_http_request. */
		if (p->has_path || lacks(p, w))
			continue;
		w->key_of = protocol_stores(p) ? ~0U : 0;
		for (uint32_t id = 0; id < 4; id++) {
			BUG_ON(protocol_encode(p, w, &rng, id, buffer, max, &out) ||
			       out.size > max);
			if (protocol_stores(p))
				BUG_ON(protocol_encode_store(p, w, id % w->keys, buffer, max,
							     &out) || out.size > max);
		}
	}
	free(buffer);
}

static int from_file(struct workload *w, const uint8_t *text, size_t size, struct strbuf *why)
{
	struct workload_settings settings;
	char *copy = calloc(1, size + 1);
	int err;

	BUG_ON(!copy);
	memcpy(copy, text, size);
	workload_settings_init(&settings, w);
	err = workload_file_parse(&settings, "input", copy, size, why);
	free(copy);
	if (!err)
		err = workload_finish(w, NULL, why);
	if (err)
		workload_release(w);
	return err;
}

/* The setting in front keeps the input from being read as a file name. */
static int from_line(struct workload *w, const uint8_t *text, size_t size, struct strbuf *why)
{
	static const char first[] = "reply=40,";
	char *line = calloc(1, sizeof(first) + size);
	int err;

	BUG_ON(!line);
	memcpy(line, first, sizeof(first) - 1);
	memcpy(line + sizeof(first) - 1, text, size);
	err = workload_parse(w, line, NULL, why);
	free(line);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf why = STRBUF_INIT(1 << 20);
	struct workload w;
	int err;

	if (!size || size > 65536)
		return 0;
	err = (data[0] % 2 ? from_file : from_line)(&w, data + 1, size - 1, &why);
	BUG_ON((err != 0) != (why.len != 0));
	if (!err)
		use(&w);
	if (!err)
		workload_release(&w);
	strbuf_release(&why);
	return 0;
}
