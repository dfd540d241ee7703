/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Visible network namespaces, how to enter them, and sockets in them.
 *
 * A namespace is visible if a visible process is in it or if it is bound to a name in /run/netns. A
 * namespace that only an open file or a bind mount elsewhere keeps alive is not found.
 */
#ifndef HOSTLAT_HOST_NETNS_H
#define HOSTLAT_HOST_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/cgroup.h"
#include "host/root.h"

#define HOST_NETNS_MAX 4096

struct host_netns {
	uint64_t inode;               /* number N in "net:[N]", the kernel's ns.inum */
	bool own;                     /* the caller's own namespace */
	pid_t pid;                    /* lowest pid of its processes; 0: bound to a name only */
	char name[HOST_LABEL_MAX];     /* "root", "blue" (ip netns) or "pid 4711 (memcached)" */
	char path[HOST_PATH_MAX];     /* file to open for setns() */
};

struct host_netns_vec {
	struct host_netns *items;     /* sorted by inode; base/vec.h vector */
	size_t len, cap, max;
	size_t unreadable;            /* number of processes whose namespace is unknown */
	bool truncated;               /* there were more than HOST_NETNS_MAX */
};

/*
 * Lists the visible namespaces; "root" is that of process 1, or of kernel threads. Returns 0 or
 * -errno; the caller releases `list` even after an error.
 */
int host_netns_list(const struct host_root *root, struct host_netns_vec *list);
void host_netns_vec_release(struct host_netns_vec *list);

const struct host_netns *host_netns_find(const struct host_netns_vec *list, uint64_t inode);
/* Finds a namespace by its name in the list, its inode number, or the pid of a process in it. */
const struct host_netns *host_netns_lookup(const struct host_root *root,
					   const struct host_netns_vec *list, const char *name);

/* Returns true if the path still leads to this namespace. */
bool host_netns_is(const struct host_netns *ns);

/* Finds the namespace of a process (0: the caller's). Returns 0 or -errno. */
int host_netns_of(const struct host_root *root, pid_t pid, uint64_t *inode);

/*
 * Opens a descriptor for setns(), owned by the caller. -ESTALE: the path now leads to another
 * namespace, as the process has ended.
 */
int host_netns_open(const struct host_netns *ns);

/*
 * Opens a socket in the namespace (NULL: the caller's), owned by the caller. The calling thread
 * stays in its namespace. Needs CAP_SYS_ADMIN unless the namespace is the caller's.
 */
int host_netns_socket(const struct host_netns *ns, int domain, int type, int protocol);

/*
 * Runs fn(ctx) in the namespace, on a new thread, and returns its result. For objects without a
 * socket, e.g. links of BPF programs that belong to a namespace.
 */
int host_netns_run(const struct host_netns *ns, int (*fn)(void *ctx), void *ctx);

#endif
