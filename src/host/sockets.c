/* SPDX-License-Identifier: Apache-2.0 */
#include "host/sockets.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "host/pids.h"

#define FILES_MAX 1048576 /* file descriptors of a process, at most */

struct sockets_search {
	const struct host_root *root;
	int (*visit)(void *ctx, pid_t pid, uint64_t inode);
	void *ctx;
	pid_t pid;
	int result;
};

static int sockets_visit_file(void *ctx, const char *name)
{
	struct sockets_search *s = ctx;
	char path[HOST_PATH_MAX], link[64];
	uint64_t inode;
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/%d/fd/%s", s->root->proc, s->pid, name) >=
	    sizeof(path))
		return 0;
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return 0;
	link[n] = '\0';
	if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
		return 0;
	s->result = s->visit(s->ctx, s->pid, inode);
	return s->result;
}

static int sockets_visit_task(void *ctx, pid_t pid)
{
	struct sockets_search *s = ctx;

	s->pid = pid;
	host_each_entry(sockets_visit_file, s, FILES_MAX, "%s/%d/fd", s->root->proc, pid);
	return s->result; /* a process that may not be read is no error */
}

int host_socket_each(const struct host_root *root,
		     int (*visit)(void *ctx, pid_t pid, uint64_t inode), void *ctx)
{
	struct sockets_search s = { .root = host_root_or_live(root), .visit = visit, .ctx = ctx };

	return host_pid_each(root, sockets_visit_task, &s);
}
