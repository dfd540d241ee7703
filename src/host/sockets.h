/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes that hold sockets. */
#ifndef HOSTLAT_HOST_SOCKETS_H
#define HOSTLAT_HOST_SOCKETS_H

#include <stdint.h>
#include <sys/types.h>

#include "host/root.h"

/*
 * Calls `visit` with each socket, by its inode, of each process whose descriptors are visible. If
 * `visit` returns non-zero, stops and returns that.
 */
int host_socket_each(const struct host_root *root,
		     int (*visit)(void *ctx, pid_t pid, uint64_t inode), void *ctx);

#endif
