/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the files of /proc that are read of a task and of the host: names, command lines and
 * control groups are chosen by whoever runs there. The input is cut at bytes 0xff: one part a file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "host/mount.h"
#include "host/pressure.h"
#include "host/task.h"

#define PID 77

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = {
	"77/status", "77/stat", "77/cmdline", "77/cgroup", "77/comm", "self/mountinfo", "stat",
	"pressure/cpu", "self/net/softnet_stat",
};

static char folder[] = "/tmp/hostlat-fuzz-XXXXXX";

static void remove_all(void)
{
	static const char *const folders[] = { "self/net", "self", "pressure", "77", "." };
	char path[128];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
		rmdir(path);
	}
	rmdir(folder);
}

static void make_folder(void)
{
	static const char *const folders[] = { "77", "pressure", "self", "self/net" };
	static bool made;
	char path[128];

	if (made)
		return;
	made = true;
	BUG_ON(!mkdtemp(folder));
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
		BUG_ON(mkdir(path, 0700));
	}
	atexit(remove_all);
}

static void put_file(const char *name, const uint8_t *data, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
	close(fd);
}

static void check_cgroup(const struct host_cgroup *c)
{
	BUG_ON(strlen(c->path) >= sizeof(c->path) || strlen(c->unit) >= sizeof(c->unit));
	BUG_ON(strlen(c->container) >= sizeof(c->container));
	BUG_ON(strlen(c->label) >= sizeof(c->label) || strlen(c->pod) >= sizeof(c->pod));
}

static void read_all(void)
{
	const struct host_root root = { .proc = folder, .sys = folder, .run = folder,
					.boot = folder };
	struct host_pressure pressure;
	struct host_task task;
	char text[HOST_PATH_MAX];

	if (!host_task_get(&root, PID, &task)) {
		BUG_ON(strlen(task.comm) >= sizeof(task.comm));
		BUG_ON(strlen(task.cmdline) >= sizeof(task.cmdline));
		check_cgroup(&task.cgroup);
		host_task_describe(&task, text, sizeof(text));
		BUG_ON(strlen(text) >= sizeof(text));
	}
	if (!host_mount_point(&root, "cgroup2", text, sizeof(text)))
		BUG_ON(strlen(text) >= sizeof(text));
	host_mount_point_with(&root, "cgroup", "cpu", text, sizeof(text));
	host_pressure_read(&root, &pressure);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host_cgroup cgroup;
	char path[4096];

	if (size > 65536)
		return 0;
	make_folder();
	snprintf(path, sizeof(path), "%.*s", (int)size, (const char *)data);
	host_cgroup_parse(path, &cgroup);
	check_cgroup(&cgroup);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		const uint8_t *end = size ? memchr(data, 0xff, size) : NULL;
		const size_t n = end ? (size_t)(end - data) : size;

		put_file(files[i], data, n);
		data += n + !!end;
		size -= n + !!end;
	}
	read_all();
	return 0;
}
