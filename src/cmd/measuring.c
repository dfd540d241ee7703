/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/measuring.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "cmd/child.h"
#include "trace/tracefs.h"

static int ready = -1; /* pipe to a parent that waits in child_ready(); -1: none */

/*
 * Takes over the pipe whose number the parent's child_start() has put into CHILD_READY_FD, before
 * any file gets this number. Ignores a number that is not a pipe for writing: then another program
 * has set the variable, or it came through sudo -E.
 */
static void measuring_find_parent(void)
{
	const char *number = secure_getenv(CHILD_READY_FD);
	struct stat st;
	uint64_t fd;

	if (number && !parse_u64(number, &fd) && fd > STDERR_FILENO && fd <= INT_MAX &&
	    !fstat((int)fd, &st) && S_ISFIFO(st.st_mode) &&
	    (fcntl((int)fd, F_GETFL) & O_ACCMODE) == O_WRONLY &&
	    !fcntl((int)fd, F_SETFD, FD_CLOEXEC))
		ready = (int)fd;
	unsetenv(CHILD_READY_FD);
}

void measuring_prepare(void)
{
	measuring_find_parent();
	tracefs_clean(NULL);
}

void measuring_begin(void)
{
	privilege_keep(PRIVILEGE_COLLECT);
	if (ready < 0 || write(ready, "", 1) != 1)
		log_info("measuring");
	if (ready >= 0)
		close(ready);
	ready = -1;
}
