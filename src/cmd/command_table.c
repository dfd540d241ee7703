/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all commands, in the order of help. */
#include <stddef.h>

#include "cmd/cmd.h"

extern const struct command cmd_agent, cmd_compare, cmd_completion, cmd_conns, cmd_diagnose,
	cmd_doctor, cmd_explain, cmd_fleet, cmd_help, cmd_load, cmd_man, cmd_record, cmd_report,
	cmd_serve, cmd_watch;

const struct command *const command_table[] = {
	&cmd_explain,
	&cmd_load,
	&cmd_watch,
	&cmd_conns,
	&cmd_record,
	&cmd_diagnose,
	&cmd_compare,
	&cmd_fleet,
	&cmd_report,
	&cmd_serve,
	&cmd_doctor,
	&cmd_help,
	&cmd_completion,
	&cmd_man,
	&cmd_agent,
	NULL,
};
