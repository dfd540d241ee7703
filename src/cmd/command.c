/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the dispatcher and by the commands help, completion and man. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "cmd/cmd.h"

const struct command *command_find(const struct command *const *table, const char *name)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (; *table; table++) {
		if (strcmp((*table)->name, name) == 0)
			return *table;
		if (!(*table)->hidden)
			nearest_offer(&nearest, (*table)->name);
	}
	if (nearest.best)
		log_error("there is no command '%s'; did you mean '%s'?", name, nearest.best);
	else
		log_error("there is no command '%s'; 'hostlat --help' lists them", name);
	return NULL;
}

int command_print(struct strbuf *text)
{
	int result = EXIT_OK;
	const int err = text->error ? text->error : strbuf_fetch_shortage();

	if (err) {
		log_error("cannot format the output: %s", strerror(-err));
		result = EXIT_CANNOT;
	} else if ((fputs(strbuf_str(text), stdout) == EOF || fflush(stdout)) && errno != EPIPE) {
		log_error("cannot write to standard output: %m");
		result = EXIT_CANNOT;
	}
	strbuf_release(text);
	return result;
}
