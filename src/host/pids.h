/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a machine and their names. */
#ifndef HOSTLAT_HOST_PIDS_H
#define HOSTLAT_HOST_PIDS_H

#include <stddef.h>
#include <sys/types.h>

#include "host/root.h"

#define HOST_COMM_MAX 64        /* names of work queue threads are longer than 16 */

/* The name of a process or thread. -ESRCH: there is none (any more). HOST_COMM_MAX is enough. */
int host_pid_comm(const struct host_root *root, pid_t pid, char *comm, size_t size);

/*
 * Calls `visit` with each visible process, at most HOST_PIDS_MAX of them. Stops when it returns
 * non-zero, and returns that.
 */
#define HOST_PIDS_MAX 65536
int host_pid_each(const struct host_root *root, int (*visit)(void *ctx, pid_t pid), void *ctx);

#endif
