/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network namespaces that can be seen from here, how to enter them, and their interfaces.
 *
 * A namespace is visible when a visible process is in it or when it is bound to a name in
 * /run/netns. One that is kept alive only by an open file or a bind mount elsewhere is not
 * found.
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
	uint64_t inode;               /* as in net:[4026531840]; the kernel's ns.inum */
	bool own;                     /* the caller's own namespace */
	pid_t pid;                    /* a process in it, the lowest; 0: bound to a name only */
	char name[HOST_LABEL_MAX];     /* "root", "blue" (ip netns) or "pid 4711 (memcached)" */
	char path[HOST_PATH_MAX];     /* file to open */
};

struct host_netns_vec {
	struct host_netns *items;     /* by inode, ascending; a base/vec.h vector */
	size_t len, cap, max;
	size_t unreadable;            /* processes whose namespace could not be read */
	bool truncated;               /* there were more than HOST_NETNS_MAX */
};

/*
 * "root" is the namespace of process 1, or of the kernel's threads. Fills `list`, to be
 * released by the caller, also if this fails.
 */
int host_netns_list(const struct host_root *root, struct host_netns_vec *list);
void host_netns_vec_release(struct host_netns_vec *list);

const struct host_netns *host_netns_find(const struct host_netns_vec *list, uint64_t inode);
/* Finds a namespace by its name in the list, its inode number, or the pid of a process in it. */
const struct host_netns *host_netns_lookup(const struct host_root *root,
					   const struct host_netns_vec *list, const char *name);

/* Returns true if its path still leads to it. */
bool host_netns_is(const struct host_netns *ns);

/* Finds the namespace of a process (0: of the caller). */
int host_netns_of(const struct host_root *root, pid_t pid, uint64_t *inode);

/*
 * Opens a descriptor for setns(), owned by the caller. -ESTALE: the path leads to another namespace
 * by now, as the process has ended.
 */
int host_netns_open(const struct host_netns *ns);

/*
 * Opens a socket in the namespace (NULL: the caller's), owned by the caller. The calling thread's
 * own namespace does not change. Needs CAP_SYS_ADMIN, unless the namespace is the caller's.
 */
int host_netns_socket(const struct host_netns *ns, int domain, int type, int protocol);

/*
 * Runs fn(ctx) in the namespace, on a thread made for it, and returns its result. For what has
 * no socket, such as links of BPF programs that belong to a namespace.
 */
int host_netns_run(const struct host_netns *ns, int (*fn)(void *ctx), void *ctx);

#endif
