/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a machine and their names. */
#ifndef HOSTLAT_HOST_PIDS_H
#define HOSTLAT_HOST_PIDS_H

#include <stddef.h>
#include <sys/types.h>

#include "host/root.h"

#define HOST_COMM_MAX 64        /* bytes; work queue threads have names longer than 16 */

/* Reads a process' or thread's name, HOST_COMM_MAX bytes at most. -ESRCH: it does not exist. */
int host_pid_comm(const struct host_root *root, pid_t pid, char *comm, size_t size);

/*
 * Calls `visit` with each visible process, at most HOST_PIDS_MAX of them. If `visit` returns
 * non-zero, stops and returns that.
 */
#define HOST_PIDS_MAX 65536
int host_pid_each(const struct host_root *root, int (*visit)(void *ctx, pid_t pid), void *ctx);

#endif
