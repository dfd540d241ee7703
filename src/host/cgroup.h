/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Systemd unit, container and pod, read from a cgroup path.
 *
 * Container managers put their containers into cgroups with names of their own; the names are in
 * the table of cgroup.c. Nothing is asked of the managers themselves.
 */
#ifndef HOSTLAT_HOST_CGROUP_H
#define HOSTLAT_HOST_CGROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/root.h"

#define HOST_LABEL_MAX 128

struct host_cgroup {
	char path[HOST_PATH_MAX];      /* in the hierarchy that says most; "" if unknown */
	char unified[HOST_PATH_MAX];   /* in cgroup2, for host_cgroup2_id(); "" if not there */
	char unit[HOST_LABEL_MAX];      /* innermost systemd .service or .scope, or "" */
	char container[HOST_LABEL_MAX]; /* the container's full id, or its name where the manager
					* uses names (lxc, nspawn); "" outside of containers */
	char label[HOST_LABEL_MAX];     /* text to show: "docker 0123456789ab", "lxc web", the
					 * unit without its suffix; "" without either */
	char pod[64];                  /* Kubernetes pod uid, or "" */
	const char *manager;           /* "docker", "containerd", "cri-o", "podman", "lxc", ...;
					* NULL outside of containers. Static */
};

/* Fills in everything above but `unified` from the path alone. */
void host_cgroup_parse(const char *path, struct host_cgroup *cgroup);

/*
 * The cgroup of a process. With both hierarchies mounted (v1 and v2), `path` is one that names a
 * container, or else a unit, or else the deepest; of equals, that of the unified, the systemd or
 * another hierarchy, in this order. -ESRCH: the process is gone.
 */
int host_cgroup_of(const struct host_root *root, pid_t pid, struct host_cgroup *cgroup);

/* Finds the mount point of cgroup2 in mountinfo. -ENOENT: not mounted. */
int host_cgroup2_mount(const struct host_root *root, char *buf, size_t size);

/*
 * Opens the root of this machine's cgroup2, as a descriptor that the caller owns. -ENOENT: it is
 * not mounted, or something else is mounted over it.
 */
int host_cgroup2_open(void);

/*
 * bpf_get_current_cgroup_id() of a cgroup2 path (which begins with '/', as in /proc/PID/cgroup):
 * the inode number of its folder.
 */
int host_cgroup2_id(const struct host_root *root, const char *path, uint64_t *id);

/*
 * Finds the path of an id. -ENOENT or -ESTALE: there is no such cgroup (any more); -EPERM: needs
 * CAP_DAC_READ_SEARCH.
 */
int host_cgroup2_path(const struct host_root *root, uint64_t id, char *buf, size_t size);

#endif
