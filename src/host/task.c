/* SPDX-License-Identifier: Apache-2.0 */
#include "host/task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "host/netns.h"

/* Returns -ESRCH for a file that is missing below /proc/PID: the process has ended. */
static int task_gone_error(int err)
{
	return err == -ENOENT ? -ESRCH : err;
}

/* Reads the command line as printable text: arguments end in NUL, and may contain any bytes. */
static void task_read_cmdline(const struct host_root *root, struct host_task *task)
{
	char *s = task->cmdline;
	int n;

	n = host_read(s, sizeof(task->cmdline), "%s/%d/cmdline", root->proc, task->pid);
	while (n > 0 && !s[n - 1])
		n--;
	for (int i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			s[i] = ' ';
	if (n >= 0)
		s[n] = '\0';
}

static int task_read_status(const struct host_root *root, struct host_task *task)
{
	char *text, *rest, *line;
	uint64_t number;
	int err;

	err = host_read_all(&text, 16 << 10, "%s/%d/status", root->proc, task->pid);
	if (err < 0)
		return task_gone_error(err);
	for (rest = text; (line = host_next_line(&rest));) {
		if (!strncmp(line, "Tgid:\t", 6) && !parse_u64(line + 6, &number))
			task->tgid = number;
		else if (!strncmp(line, "PPid:\t", 6) && !parse_u64(line + 6, &number))
			task->ppid = number;
	}
	free(text);
	return 0;
}

/* Reads field 22 of /proc/PID/stat, counted from the last ')', as comm may contain anything. */
static void task_read_start_ticks(const struct host_root *root, struct host_task *task)
{
	char stat[1024], *field, *rest;

	if (host_read(stat, sizeof(stat), "%s/%d/stat", root->proc, task->pid) < 0)
		return;
	rest = strrchr(stat, ')');
	for (int i = 2; rest && i < 22; i++) {
		field = strchr(rest, ' ');
		rest = field ? field + 1 : NULL;
	}
	if (rest) {
		rest[strcspn(rest, " ")] = '\0';
		parse_u64(rest, &task->start_ticks);
	}
}

int host_task_get(const struct host_root *root, pid_t pid, struct host_task *task)
{
	int err;

	root = host_root_or_live(root);
	memset(task, 0, sizeof(*task));
	task->pid = pid;
	err = host_pid_comm(root, pid, task->comm, sizeof(task->comm));
	if (!err)
		err = task_read_status(root, task);
	if (!err)
		err = host_cgroup_of(root, pid, &task->cgroup);
	if (err)
		return err;
	task_read_cmdline(root, task);
	task_read_start_ticks(root, task);
	if (host_netns_of(root, pid, &task->netns))
		task->netns = 0;
	return 0;
}

void host_task_describe(const struct host_task *task, char *buf, size_t size)
{
	if (task->cgroup.label[0])
		snprintf(buf, size, "%s (pid %d, %s)", task->comm, task->tgid, task->cgroup.label);
	else
		snprintf(buf, size, "%s (pid %d)", task->comm, task->tgid);
}
