/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as pages of a trace buffer. Times never go back, and what is lost has an end before
 * anything else comes. The first byte: how many bytes of a page's 8-byte length there are, and
 * where the functions are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "trace/calls.h"

#define PAGE 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint64_t last;
	bool lost;
};

static void look(void *ctx, const struct trace_call *call)
{
	struct seen *seen = ctx;

	BUG_ON(call->time < seen->last);
	BUG_ON(seen->lost != (call->what == TRACE_AGAIN));
	seen->last = call->time;
	seen->lost = call->what == TRACE_LOST;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_calls calls = { 0 };
	struct seen seen = { 0 };
	struct trace_format format;

	if (size < 1)
		return 0;
	format = (struct trace_format){
		.page = { .length_at = 8, .length_size = data[0] & 1 ? 8 : 4 },
		.type = { .at = 0, .size = 2 },
		.entry = 1,
		.exit = 2,
		.entry_func = { .at = data[0] >> 1 & 31, .size = 8 },
		.exit_func = { .at = data[0] >> 2 & 31, .size = 4 },
	};
	format.page.data_at = 8 + format.page.length_size;
	for (data++, size--; size;) {
		const size_t part = size < PAGE ? size : PAGE;
		unsigned char *page = malloc(part); /* so that reading beyond it is seen */

		BUG_ON(!page);
		memcpy(page, data, part);
		trace_calls_page(&calls, &format, page, part, look, &seen);
		free(page);
		data += part;
		size -= part;
	}
	BUG_ON(seen.lost);
	return 0;
}
