/* SPDX-License-Identifier: Apache-2.0 */
/* The command table, nothing else. */
#include <stddef.h>

#include "cmd/cmd.h"

extern const struct command cmd_completion, cmd_doctor, cmd_help, cmd_man, cmd_record,
	cmd_watch;

static const struct command *const commands[] = {
	&cmd_watch,
	&cmd_record,
	&cmd_doctor,
	&cmd_help,
	&cmd_completion,
	&cmd_man,
	NULL,
};

int main(int argc, char **argv)
{
	return dispatch(commands, argc, argv);
}
