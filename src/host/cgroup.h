/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Systemd unit, container and pod, read from a cgroup path.
 *
 * Container managers use cgroups with names of their own: cgroup.c has a table of the names. The
 * managers themselves are not contacted.
 */
#ifndef HOSTLAT_HOST_CGROUP_H
#define HOSTLAT_HOST_CGROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/root.h"

#define HOST_LABEL_MAX 128

struct host_cgroup {
	char path[HOST_PATH_MAX];      /* cgroup path, most informative hierarchy; "": unknown */
	char unified[HOST_PATH_MAX];   /* path in cgroup2, for host_cgroup2_id(); "": no cgroup2 */
	char unit[HOST_LABEL_MAX];      /* innermost systemd .service or .scope; "": none */
	char container[HOST_LABEL_MAX]; /* full id of the container, or its name if the manager uses
					 * names (lxc, nspawn); "": not in a container */
	char label[HOST_LABEL_MAX];     /* text to show: "docker 0123456789ab", "lxc web", the unit
					 * without its suffix; "": neither */
	char pod[64];                  /* Kubernetes pod uid; "": none */
	const char *manager;           /* "docker", "containerd", "cri-o", "podman", "lxc", ...;
					* NULL: not in a container. Static */
};

/* Fills in all members except `unified` from the path alone. */
void host_cgroup_parse(const char *path, struct host_cgroup *cgroup);

/*
 * Finds the cgroup of a process. If the process has several paths (v1 and v2 are mounted), `path`
 * is one with a container, else with a unit, else the deepest; among equal ones, the unified
 * hierarchy's, else a v1 controller's, else systemd's. Returns 0 or -errno; -ESRCH: the process has
 * ended.
 */
int host_cgroup_of(const struct host_root *root, pid_t pid, struct host_cgroup *cgroup);

/* Finds the mount point of cgroup2 in mountinfo. Returns 0 or -errno; -ENOENT: not mounted. */
int host_cgroup2_mount(const struct host_root *root, char *buf, size_t size);

/*
 * Opens the root of this machine's cgroup2. Returns a descriptor that the caller owns, or -errno;
 * -ENOENT: not mounted, or another file system is mounted over it.
 */
int host_cgroup2_open(void);

/*
 * Sets *id to the bpf_get_current_cgroup_id() of a cgroup2 path (from '/', as in /proc/PID/cgroup):
 * its folder's inode number.
 */
int host_cgroup2_id(const struct host_root *root, const char *path, uint64_t *id);

/*
 * Finds the path of an id. -ENOENT or -ESTALE: the cgroup does not exist (any more); -EPERM:
 * CAP_DAC_READ_SEARCH is missing.
 */
int host_cgroup2_path(const struct host_root *root, uint64_t id, char *buf, size_t size);

#endif
