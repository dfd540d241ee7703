/* SPDX-License-Identifier: Apache-2.0 */
#include "host/pids.h"

#include <errno.h>
#include <stdint.h>

#include "base/parse.h"

int host_pid_comm(const struct host_root *root, pid_t pid, char *comm, size_t size)
{
	int n = host_read(comm, size, "%s/%d/comm", host_root_or_live(root)->proc, pid);

	return n == -ENOENT ? -ESRCH : n < 0 ? n : 0;
}

struct each_task {
	int (*visit)(void *ctx, pid_t pid);
	void *ctx;
	size_t left;
};

static int pids_visit_entry(void *ctx, const char *name)
{
	struct each_task *each = ctx;
	uint64_t pid;

	if (parse_u64(name, &pid) || !pid || pid > INT32_MAX)
		return 0;
	if (!each->left--)
		return -E2BIG;
	return each->visit(each->ctx, pid);
}

int host_pid_each(const struct host_root *root, int (*visit)(void *ctx, pid_t pid), void *ctx)
{
	struct each_task each = { .visit = visit, .ctx = ctx, .left = HOST_PIDS_MAX };

	/* /proc also has some dozens of entries that are no processes. */
	return host_each_entry(pids_visit_entry, &each, HOST_PIDS_MAX + 4096, "%s",
			       host_root_or_live(root)->proc);
}
