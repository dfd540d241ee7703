/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity of a process. It is a snapshot: the process may be gone, or be another one with the same
 * pid, as soon as it is taken; start_ticks tells two of them apart.
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
	pid_t pid;                      /* pid as given: may be a thread */
	pid_t tgid;                     /* process of the thread */
	pid_t ppid;
	char comm[HOST_COMM_MAX];
	char cmdline[HOST_CMDLINE_MAX]; /* arguments joined by spaces, cut; "" for kernel threads */
	uint64_t start_ticks;           /* since boot, in units of sysconf(_SC_CLK_TCK) */
	uint64_t netns;                 /* network namespace, by inode; 0: not permitted */
	struct host_cgroup cgroup;
};

/* -ESRCH: there is no such process (any more). */
int host_task_get(const struct host_root *root, pid_t pid, struct host_task *task);

/* "memcached (pid 4711)", with the container or unit if it has one. */
void host_task_describe(const struct host_task *task, char *buf, size_t size);

#endif
