/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the file of earlier runs: what is kept of it is read again as it was. */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "load/history.h"

#define NOW 1800000000u
#define URL "http://10.0.0.2/"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct provenance who = { .command = "load", .schema = 1 };
	struct strbuf out = STRBUF_INIT(1 << 20);
	struct load_history before, after;
	char *text = strndup((const char *)data, size);
	struct report r;

	BUG_ON(!text);
	report_init(&r, &who);
	load_history_count(text, URL, NOW, &before);
	BUG_ON(before.unsound > before.runs);
	load_history_append(&out, text, URL, NOW, &r);
	load_history_count(strbuf_str(&out), URL, NOW, &after);
	BUG_ON(out.error || !after.runs || after.runs > LOAD_HISTORY_LINES);
	BUG_ON(before.runs < LOAD_HISTORY_LINES && after.runs > before.runs + 1);
	report_release(&r);
	strbuf_release(&out);
	free(text);
	return 0;
}
