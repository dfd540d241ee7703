/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what the options name exists, and whether they go together: before anything is loaded. */
#ifndef HOSTLAT_CMD_SESSION_CHECK_H
#define HOSTLAT_CMD_SESSION_CHECK_H

#include <stdbool.h>

#include "cmd/session_options.h"
#include "probe/watch_config.h"

/*
 * Fills in what names stand for: the namespace's inode, the cgroup's number. `messages` and
 * `activity`: they are to be recorded, too. After a message, -EINVAL if the command line is at
 * fault, or another -errno.
 */
int session_check(const struct probe_options *o, bool messages, bool activity,
		  struct watch_probe_config *probe);

#endif
