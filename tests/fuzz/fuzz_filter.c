/* SPDX-License-Identifier: Apache-2.0 */
/* A random connection (the first bytes) and any text as a filter: never true with its opposite. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bug.h"
#include "conns/filter.h"

#define OUT_MAX (1 << 20)
#define VIEW_BYTES 64

static const char *const words[] = { "nginx", "a \"b\" \\", "", "send-buffer", "timeout" };

static struct filter_view view_of(const uint8_t bytes[VIEW_BYTES])
{
	struct filter_view v = { .tcp_state = bytes[1] % 16, .local_port = bytes[2],
			       .remote_port = (uint16_t)(bytes[3] << 8 | bytes[4]) };

	v.family = bytes[0] % 3 == 0 ? 0 : bytes[0] % 3 == 1 ? AF_INET : AF_INET6;
	memcpy(v.local, bytes + 5, v.family == AF_INET ? 4 : 16);
	memcpy(v.remote, bytes + 21, v.family == AF_INET ? 4 : 16);
	for (int i = 0; i < CONN_TEXTS; i++)
		v.text[i] = bytes[37 + i] % 6 ? words[bytes[37 + i] % 6 - 1] : NULL;
	v.classes = bytes[43] % 4 ? words : NULL;
	v.n_classes = bytes[43] % 6 < ARRAY_LEN(words) ? bytes[43] % 6 : 0;
	memcpy(&v.known, bytes + 44, sizeof(v.known));
	for (int i = 0; i < CONN_NUMBERS; i++)
		v.number[i] = (uint64_t)bytes[52 + i % 12] << i;
	return v;
}

static bool opposite(const char *text, const struct filter_view *view)
{
	struct strbuf whole = STRBUF_INIT(OUT_MAX), why = STRBUF_INIT(OUT_MAX);
	struct filter *filter;
	bool holds = false;

	strbuf_printf(&whole, "not (%s)", text);
	if (filter_parse(strbuf_str(&whole), &filter, &why) == 0) {
		holds = filter_match(filter, view);
		filter_free(filter);
	}
	strbuf_release(&whole);
	strbuf_release(&why);
	return holds;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf why = STRBUF_INIT(OUT_MAX);
	uint8_t bytes[VIEW_BYTES] = { 0 };
	struct filter_view view;
	struct filter *filter;
	char *text;
	int err;

	memcpy(bytes, data, size < VIEW_BYTES ? size : VIEW_BYTES);
	view = view_of(bytes);
	text = size > VIEW_BYTES ? strndup((const char *)data + VIEW_BYTES, size - VIEW_BYTES) :
				   strdup("");
	BUG_ON(!text);
	err = filter_parse(text, &filter, &why);
	BUG_ON((err != 0) != (why.len != 0));
	if (!err) {
		BUG_ON(filter_match(filter, &view) && opposite(text, &view));
		filter_free(filter);
	}
	strbuf_release(&why);
	free(text);
	return 0;
}
