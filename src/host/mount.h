/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the kernel's special file systems, whether or not they are mounted. */
#ifndef HOSTLAT_HOST_MOUNT_H
#define HOSTLAT_HOST_MOUNT_H

#include <stddef.h>

#include "host/root.h"

/*
 * Where a file system of this type ("cgroup2", "tracefs") is mounted; rather a mount of all of
 * it than of a part. -ENOENT: nowhere.
 */
int host_mount_point(const struct host_root *root, const char *type, char *buf, size_t size);

/* As above, for one with an option of its own, such as "cpu" of "cgroup"; NULL: any. */
int host_mount_point_with(const struct host_root *root, const char *type, const char *option,
			  char *buf, size_t size);

/*
 * Its root folder, as a descriptor that the caller owns. Where it is not mounted, a mount that
 * nobody else sees is made and goes away with the descriptor; that needs CAP_SYS_ADMIN
 * (-EPERM). -ENODEV: this kernel has no such file system.
 */
int host_mount_open(const struct host_root *root, const char *type);

#endif
