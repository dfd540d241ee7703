/* SPDX-License-Identifier: Apache-2.0 */
#include "host/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/sort.h"
#include "base/vec.h"
#include "host/pids.h"

/*
 * Reads a namespace's inode number: from the link "net:[4026531840]" in /proc/PID/ns, or of the
 * file itself if it is bound to /run/netns.
 */
static int netns_inode_number(const char *path, uint64_t *inode)
{
	char link[64];
	struct stat st;
	ssize_t n;

	n = readlink(path, link, sizeof(link) - 1);
	if (n > 0) {
		link[n] = '\0';
		return sscanf(link, "net:[%" SCNu64 "]", inode) == 1 ? 0 : -EINVAL;
	}
	if (errno != EINVAL)
		return -errno;
	if (stat(path, &st))
		return -errno;
	*inode = st.st_ino;
	return 0;
}

int host_netns_of(const struct host_root *root, pid_t pid, uint64_t *inode)
{
	char path[HOST_PATH_MAX];
	int err;

	root = host_root_or_live(root);
	if (pid)
		snprintf(path, sizeof(path), "%s/%d/ns/net", root->proc, pid);
	else
		snprintf(path, sizeof(path), "%s/self/ns/net", root->proc);
	err = netns_inode_number(path, inode);
	return err == -ENOENT ? -ESRCH : err;
}

struct netns_search {
	const struct host_root *root;
	struct host_netns_vec *list;
	uint64_t own;
};

/*
 * Returns the namespace's entry in the list, which is added if it is missing. Returns NULL on
 * failure: *err is -errno, or 0 if the list already has HOST_NETNS_MAX entries.
 */
static struct host_netns *netns_entry(struct netns_search *search, uint64_t inode, int *err)
{
	struct host_netns_vec *list = search->list;

	vec_for_each(list, ns)
		if (ns->inode == inode)
			return ns;
	*err = vec_push(list, (struct host_netns){ .inode = inode, .own = inode == search->own });
	if (*err == -E2BIG) {
		list->truncated = true;
		*err = 0;
		return NULL;
	}
	return *err ? NULL : vec_last(list);
}

static int netns_visit_task(void *ctx, pid_t pid)
{
	struct netns_search *search = ctx;
	struct host_netns *ns;
	uint64_t inode;
	int err;

	err = host_netns_of(search->root, pid, &inode);
	if (err == -EACCES || err == -EPERM)
		search->list->unreadable++;
	if (err)
		return 0;
	ns = netns_entry(search, inode, &err);
	if (!ns || (ns->pid && ns->pid < pid))
		return err;
	ns->pid = pid;
	snprintf(ns->path, sizeof(ns->path), "%s/%d/ns/net", search->root->proc, pid);
	return 0;
}

static int netns_visit_name(void *ctx, const char *name)
{
	struct netns_search *search = ctx;
	char path[HOST_PATH_MAX];
	struct host_netns *ns;
	uint64_t inode;
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/netns/%s", search->root->run, name) >=
		    sizeof(path) || netns_inode_number(path, &inode))
		return 0;
	ns = netns_entry(search, inode, &err);
	if (!ns)
		return err;
	/* Prefer the bound name to a path in /proc: it remains when the processes end. */
	memcpy(ns->path, path, sizeof(path));
	if (!ns->name[0])
		snprintf(ns->name, sizeof(ns->name), "%s", name);
	return 0;
}

/* Sets a name. kthreadd (2) shows the initial namespace even if process 1 hides its own. */
static void netns_set_name(struct netns_search *search, struct host_netns *ns)
{
	char comm[HOST_COMM_MAX] = "?";

	if (ns->pid)
		host_pid_comm(search->root, ns->pid, comm, sizeof(comm));
	if (ns->pid == 1 || (ns->pid == 2 && !strcmp(comm, "kthreadd")))
		snprintf(ns->name, sizeof(ns->name), "root");
	if (ns->name[0])
		return;
	snprintf(ns->name, sizeof(ns->name), "pid %d (%s)", ns->pid, comm);
}

static int netns_compare_inodes(const void *a, const void *b)
{
	const struct host_netns *x = a, *y = b;

	return sort_order(x->inode, y->inode);
}

int host_netns_list(const struct host_root *root, struct host_netns_vec *list)
{
	struct netns_search search = { .root = host_root_or_live(root), .list = list };
	int err;

	memset(list, 0, sizeof(*list));
	vec_init(list, HOST_NETNS_MAX);
	if (host_netns_of(root, 0, &search.own))
		search.own = 0;
	err = host_pid_each(root, netns_visit_task, &search);
	if (err == -E2BIG) {
		list->truncated = true;
		err = 0;
	}
	if (err)
		return err;
	err = host_each_entry(netns_visit_name, &search, HOST_NETNS_MAX, "%s/netns",
			      search.root->run);
	if (err == -E2BIG)
		list->truncated = true;
	else if (err == -ENOMEM)
		return err;
	vec_for_each(list, ns)
		netns_set_name(&search, ns);
	qsort(list->items, list->len, sizeof(*list->items), netns_compare_inodes);
	return 0;
}

void host_netns_vec_release(struct host_netns_vec *list)
{
	if (list)
		vec_release(list);
}

const struct host_netns *host_netns_find(const struct host_netns_vec *list, uint64_t inode)
{
	for (size_t i = 0; i < list->len; i++)
		if (list->items[i].inode == inode)
			return &list->items[i];
	return NULL;
}

bool host_netns_is(const struct host_netns *ns)
{
	uint64_t inode;

	return !netns_inode_number(ns->path, &inode) && inode == ns->inode;
}

const struct host_netns *host_netns_lookup(const struct host_root *root,
					   const struct host_netns_vec *list, const char *name)
{
	const struct host_netns *ns;
	uint64_t number, inode;

	for (size_t i = 0; i < list->len; i++)
		if (!strcmp(list->items[i].name, name))
			return &list->items[i];
	if (parse_u64(name, &number))
		return NULL;
	ns = host_netns_find(list, number);
	if (ns || !number || number > INT32_MAX || host_netns_of(root, number, &inode))
		return ns;
	return host_netns_find(list, inode);
}

int host_netns_open(const struct host_netns *ns)
{
	struct stat st;
	int fd = open(ns->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (fstat(fd, &st) || st.st_ino != ns->inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

struct netns_call {
	int netns_fd;
	int (*fn)(void *ctx);
	void *ctx;
	int result;
};

/* Thread function: the thread ends inside the namespace, so no return to the old one can fail. */
static void *netns_call_inside(void *arg)
{
	struct netns_call *call = arg;

	call->result = setns(call->netns_fd, CLONE_NEWNET) ? -errno : call->fn(call->ctx);
	return NULL;
}

int host_netns_run(const struct host_netns *ns, int (*fn)(void *ctx), void *ctx)
{
	struct netns_call call = { .fn = fn, .ctx = ctx };
	pthread_t thread;
	int err;

	if (!ns || ns->own)
		return fn(ctx);
	call.netns_fd = host_netns_open(ns);
	if (call.netns_fd < 0)
		return call.netns_fd;
	err = -pthread_create(&thread, NULL, netns_call_inside, &call);
	if (!err)
		err = -pthread_join(thread, NULL);
	close(call.netns_fd);
	return err ? err : call.result;
}

struct socket_call {
	int domain, type, protocol;
};

static int netns_open_socket(void *ctx)
{
	const struct socket_call *call = ctx;
	int fd = socket(call->domain, call->type | SOCK_CLOEXEC, call->protocol);

	return fd < 0 ? -errno : fd;
}

int host_netns_socket(const struct host_netns *ns, int domain, int type, int protocol)
{
	struct socket_call call = { domain, type, protocol };

	return host_netns_run(ns, netns_open_socket, &call);
}
