/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a process is. A snapshot: the process may be gone, or be another one with the same pid, as soon as
 * it is taken; start_ticks tells two of them apart.
 */
#ifndef HOSTLAT_HOST_TASK_H
#define HOSTLAT_HOST_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/cgroup.h"
#include "host/root.h"

#define HOST_COMM_MAX    64      /* kernel threads of work queues are longer than 16 */
#define HOST_CMDLINE_MAX 256

struct host_task {
	pid_t pid;                      /* as asked: may be a thread */
	pid_t tgid;                     /* its process */
	pid_t ppid;
	char comm[HOST_COMM_MAX];
	char cmdline[HOST_CMDLINE_MAX]; /* arguments joined by spaces, cut; "" for kernel threads */
	uint64_t start_ticks;           /* since boot, in units of sysconf(_SC_CLK_TCK) */
	uint64_t netns;                 /* inode of the network namespace; 0: not permitted to know */
	struct host_cgroup cgroup;
};

/* -ESRCH: there is no such process (any more). */
int host_task_get(const struct host_root *root, pid_t pid, struct host_task *task);

/* Only the name; cheaper. Same errors. `size` of HOST_COMM_MAX is always enough. */
int host_task_comm(const struct host_root *root, pid_t pid, char *comm, size_t size);

/* "memcached (pid 4711)", with the container or unit if it has one. */
void host_task_describe(const struct host_task *task, char *buf, size_t size);

/*
 * Calls `visit` with each visible process, at most HOST_TASKS_MAX of them. Stops when it returns
 * non-zero, and returns that.
 */
#define HOST_TASKS_MAX 65536
int host_task_each(const struct host_root *root, int (*visit)(void *ctx, pid_t pid), void *ctx);

#endif
