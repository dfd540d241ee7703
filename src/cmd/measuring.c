/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/measuring.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "cmd/child.h"
#include "trace/tracefs.h"

void measuring_prepare(void)
{
	tracefs_clean(NULL);
}

/* Writes a byte to the parent that waits in child_ready(). Returns false without such a parent. */
static bool measuring_notify(void)
{
	const char *number = getenv(CHILD_READY_FD);
	uint64_t fd;

	if (!number || parse_u64(number, &fd) || fd <= STDERR_FILENO || fd > INT_MAX ||
	    write((int)fd, "", 1) != 1)
		return false;
	close((int)fd);
	return true;
}

void measuring_begin(void)
{
	privilege_keep(PRIVILEGE_COLLECT);
	if (!measuring_notify())
		log_info("measuring");
}
