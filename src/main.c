/* SPDX-License-Identifier: Apache-2.0 */
/* Opens missing standard streams before any command runs. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cmd/cmd.h"

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
	return dispatch(command_table, argc, argv);
}
