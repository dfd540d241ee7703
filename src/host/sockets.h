/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes hold which sockets. */
#ifndef HOSTLAT_HOST_SOCKETS_H
#define HOSTLAT_HOST_SOCKETS_H

#include <stdint.h>
#include <sys/types.h>

#include "host/root.h"

/*
 * Calls `visit` with each socket that a process holds, by its inode: of all processes whose
 * descriptors may be seen. Stops when it returns non-zero, and returns that.
 */
int host_socket_each(const struct host_root *root,
		     int (*visit)(void *ctx, pid_t pid, uint64_t inode), void *ctx);

#endif
