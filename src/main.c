/* SPDX-License-Identifier: Apache-2.0 */
/* Contains the command table, and opens missing standard streams before any command runs. */
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cmd/cmd.h"

extern const struct command cmd_agent, cmd_compare, cmd_completion, cmd_conns, cmd_diagnose,
	cmd_doctor, cmd_explain, cmd_help, cmd_load, cmd_man, cmd_record, cmd_report, cmd_serve,
	cmd_watch;

static const struct command *const commands[] = {
	&cmd_load,
	&cmd_watch,
	&cmd_conns,
	&cmd_record,
	&cmd_diagnose,
	&cmd_compare,
	&cmd_explain,
	&cmd_report,
	&cmd_serve,
	&cmd_doctor,
	&cmd_help,
	&cmd_completion,
	&cmd_man,
	&cmd_agent,
	NULL,
};

/*
 * Opens closed standard streams: otherwise a socket could become standard output and get the
 * results. Their use still fails: /dev/null is opened in the opposite direction.
 */
static int open_missing_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	if (open_missing_streams())
		return EXIT_CANNOT;
	signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe returns EPIPE instead */
	return dispatch(commands, argc, argv);
}
