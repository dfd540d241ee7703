/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any texts as what tracefs says of its events: the page's header, the entry's and the exit's
 * format, with a NUL between them. What is understood can be applied to any event.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "trace/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void get(const struct trace_field *field, const unsigned char *data, size_t size)
{
	uint64_t value;

	BUG_ON(field->size != 2 && field->size != 4 && field->size != 8);
	trace_field_get(field, data, (uint32_t)size, &value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *texts[3], *all = malloc(size + 3), *at = all;
	struct trace_format format = { 0 };

	BUG_ON(!all);
	memcpy(all, data, size);
	memset(all + size, 0, 3);
	for (int i = 0; i < 3; i++) {
		texts[i] = at;
		if (at < all + size)
			at += strlen(at) + 1;
	}
	if (size <= 65536 && !trace_format_read(&format, texts[0], texts[1], texts[2])) {
		get(&format.type, data, size);
		get(&format.entry_func, data, size);
		get(&format.exit_func, data, size);
	}
	free(all);
	return 0;
}
