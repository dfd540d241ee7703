/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity of a process. It is a snapshot: the process may end, and its pid be reused, at any time;
 * start_ticks distinguishes the two processes.
 */
#ifndef HOSTLAT_HOST_TASK_H
#define HOSTLAT_HOST_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/cgroup.h"
#include "host/pids.h"
#include "host/root.h"

#define HOST_CMDLINE_MAX 256

struct host_task {
	pid_t pid;                      /* pid as passed; may be a thread's */
	pid_t tgid;                     /* process that the thread belongs to */
	pid_t ppid;
	char comm[HOST_COMM_MAX];
	char cmdline[HOST_CMDLINE_MAX]; /* arguments joined by spaces, cut; "": kernel thread */
	uint64_t start_ticks;           /* start since boot, in units of sysconf(_SC_CLK_TCK) */
	uint64_t netns;                 /* network namespace's inode; 0: not permitted */
	struct host_cgroup cgroup;
};

/* Reads a process' identity. Returns 0 or -errno; -ESRCH: it does not exist (any more). */
int host_task_get(const struct host_root *root, pid_t pid, struct host_task *task);

/* Writes "memcached (pid 4711)", with the container or unit if there is one. */
void host_task_describe(const struct host_task *task, char *buf, size_t size);

#endif
