/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a result for the report page. What is accepted has nothing in it that HTML would
 * take for its own, and is the same when it is copied again; any cut of it is refused.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "output/json_text.h"

static int copy(const char *data, size_t size, struct strbuf *out)
{
	struct json_text_fault fault = { 0 };
	char *text = malloc(size + 1);
	int err;

	BUG_ON(!text);
	memcpy(text, data, size);
	text[size] = '\0';
	err = json_text_copy(text, size, out, &fault);
	BUG_ON(err && (out->len || !fault.what || !fault.line || fault.column > size + 1));
	free(text);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf once = STRBUF_INIT(1 << 20), twice = STRBUF_INIT(1 << 20);

	if (size > 65536)
		return 0;
	json_text_is_result((const char *)data, size);
	if (!copy((const char *)data, size, &once)) {
		BUG_ON(strpbrk(strbuf_str(&once), "<>&\n"));
		BUG_ON(copy(strbuf_str(&once), once.len, &twice));
		BUG_ON(strcmp(strbuf_str(&once), strbuf_str(&twice)) != 0);
		strbuf_reset(&twice);
		BUG_ON(!copy(strbuf_str(&once), size % once.len, &twice));
	}
	strbuf_release(&once);
	strbuf_release(&twice);
	return 0;
}
