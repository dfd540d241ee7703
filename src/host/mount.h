/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the kernel's special file systems, even if they are not mounted. */
#ifndef HOSTLAT_HOST_MOUNT_H
#define HOSTLAT_HOST_MOUNT_H

#include <stddef.h>

#include "host/root.h"

/*
 * Finds a mount point of this type ("cgroup2", "tracefs"), preferably of the whole file system.
 * Returns 0 or -errno; -ENOENT: not mounted.
 */
int host_mount_point(const struct host_root *root, const char *type, char *buf, size_t size);

/* As host_mount_point(), with an option of the file system, e.g. "cpu" of "cgroup"; NULL: any. */
int host_mount_point_with(const struct host_root *root, const char *type, const char *option,
			  char *buf, size_t size);

/*
 * Opens a file system's root folder. Returns a descriptor that the caller owns, or -errno. If it is
 * not mounted, it is mounted invisibly until the descriptor is closed, which needs CAP_SYS_ADMIN
 * (-EPERM). -ENODEV: this kernel has no such file system.
 */
int host_mount_open(const struct host_root *root, const char *type);

#endif
