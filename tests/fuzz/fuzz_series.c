/* SPDX-License-Identifier: Apache-2.0 */
/* Series of a store: a text that is one is what is written of its cells, in the shortest form. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "store/series.h"

#define CELLS 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf out = STRBUF_INIT(4096);
	uint8_t cells[CELLS], back[CELLS];
	char *text = malloc(size + 1);

	BUG_ON(!text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (!series_read(text, cells, CELLS)) {
		series_write(&out, cells, CELLS);
		BUG_ON(out.error || series_read(strbuf_str(&out), back, CELLS));
		BUG_ON(memcmp(cells, back, CELLS) != 0);
		BUG_ON(out.len > strlen(text));
	}
	strbuf_release(&out);
	free(text);
	return 0;
}
