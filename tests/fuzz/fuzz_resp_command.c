/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a command of Redis. What is accepted fits into a buffer of the promised size. */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/resp_command.h"

static void use(struct workload *w, const struct resp_commands *commands, struct strbuf *why)
{
	struct rng rng;
	char *buffer;
	size_t max;

	BUG_ON(resp_commands_size(commands, w, &max, why));
	w->commands = commands;
	buffer = malloc(max);
	BUG_ON(!buffer);
	for (uint64_t i = 0; i < 4; i++) {
		struct encoded_request out = { .number = i };

		rng_init(&rng, i);
		BUG_ON(resp_command_encode(w, &rng, buffer, max, &out));
		BUG_ON(out.size > max || out.size < 4 || buffer[0] != '*');
	}
	free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf why = STRBUF_INIT(1 << 20);
	char *text = strndup((const char *)data, size);
	struct opt_list texts = { .items = { text }, .len = 1 };
	struct resp_commands *commands;
	struct workload w;
	int err;

	BUG_ON(!text || workload_parse(&w, "value=uniform:0:100", NULL, &why));
	err = resp_commands_new(&commands, &texts, &why);
	BUG_ON((err != 0) != (why.len != 0));
	if (!err)
		use(&w, commands, &why);
	resp_commands_free(commands);
	workload_release(&w);
	strbuf_release(&why);
	free(text);
	return 0;
}
