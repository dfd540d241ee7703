/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads namespaces, interfaces and cgroups of this machine that the test creates and removes. Needs
 * root; skips (77) without.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "host/iface.h"
#include "host/netns.h"
#include "host/task.h"

static int failures;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("FAIL  line %d: %s\n", __LINE__, #condition);                       \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

static int shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int shell(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

static uint64_t own_netns(void)
{
	uint64_t inode = 0;

	CHECK(!host_netns_of(NULL, 0, &inode));
	return inode;
}

static int inode_inside(void *ctx)
{
	struct stat st;

	if (stat("/proc/thread-self/ns/net", &st))
		return -errno;
	*(uint64_t *)ctx = st.st_ino;
	return 7;
}

static void test_named(const char *name, const char *iface)
{
	const struct host_netns *ns, *first = NULL;
	struct host_iface_vec ifaces;
	struct host_netns_vec list;
	char found[IFNAMSIZ];
	uint64_t before = own_netns(), inside = 0;
	size_t unknown;
	int index, fd;

	CHECK(!host_netns_list(NULL, &list));
	ns = host_netns_lookup(NULL, &list, name);
	CHECK(ns);
	if (!ns)
		goto out;
	CHECK(!ns->own && !ns->pid);
	CHECK(host_netns_run(ns, inode_inside, &inside) == 7);
	CHECK(inside == ns->inode);
	CHECK(own_netns() == before);

	index = host_iface_index(ns, iface);
	CHECK(index > 0);
	CHECK(host_iface_index(NULL, iface) == -ENODEV);
	CHECK(!host_iface_name(ns, index, found) && !strcmp(found, iface));
	CHECK(host_iface_name(ns, 999999, found) == -ENODEV);
	CHECK(host_iface_exists(&list, iface, &first, &unknown) == 1);
	CHECK(first == ns);
	CHECK(host_iface_exists(&list, "nosuch0", NULL, &unknown) == 0);
	CHECK(!host_iface_list(ns, &ifaces));
	CHECK(ifaces.len == 3 && ifaces.items[0].loopback);
	for (size_t i = 0; i < ifaces.len; i++)
		if ((int)ifaces.items[i].ifindex == index)
			CHECK(!strcmp(ifaces.items[i].kind, "veth") && ifaces.items[i].up);
	host_iface_vec_release(&ifaces);

	fd = host_netns_socket(ns, AF_INET, SOCK_DGRAM, 0);
	CHECK(fd >= 0);
	CHECK(!setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, iface, strlen(iface)));
	close(fd);
out:
	host_netns_vec_release(&list);
}

/* A process in a namespace without a name, then gone. */
static void test_anonymous(void)
{
	struct host_netns_vec list;
	const struct host_netns *ns;
	struct host_netns copy;
	int ready[2];
	char byte, pid[16];
	pid_t child;

	CHECK(!pipe(ready));
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "loner");
		if (!unshare(CLONE_NEWNET) && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	CHECK(child > 0 && read(ready[0], &byte, 1) == 1);
	CHECK(!host_netns_list(NULL, &list));
	snprintf(pid, sizeof(pid), "%d", child);
	ns = host_netns_lookup(NULL, &list, pid);
	CHECK(ns && ns->pid == child && !ns->own);
	if (ns) {
		snprintf(pid, sizeof(pid), "%d", child);
		CHECK(strstr(ns->name, "loner") && strstr(ns->name, pid));
		copy = *ns;
		CHECK(host_iface_index(&copy, "lo") == 1);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (ns)
		CHECK(host_netns_open(&copy) == -ESTALE);
	host_netns_vec_release(&list);
	close(ready[0]);
	close(ready[1]);
}

static void test_cgroup(void)
{
	char mount[HOST_PATH_MAX], folder[2 * HOST_PATH_MAX], name[64], path[HOST_PATH_MAX];
	char procs[3 * HOST_PATH_MAX];
	struct host_task task;
	uint64_t id = 0;
	pid_t child;
	int fd;

	if (host_cgroup2_mount(NULL, mount, sizeof(mount)))
		return;
	snprintf(name, sizeof(name), "/hostlat-test-%d.service", getpid());
	snprintf(folder, sizeof(folder), "%s%s", mount, name);
	if (mkdir(folder, 0755))
		return;
	CHECK(!host_cgroup2_id(NULL, name, &id));
	CHECK(!host_cgroup2_path(NULL, id, path, sizeof(path)) && !strcmp(path, name));
	CHECK(!host_cgroup2_id(NULL, "/", &id));
	CHECK(!host_cgroup2_path(NULL, id, path, sizeof(path)) && !strcmp(path, "/"));
	CHECK(host_cgroup2_path(NULL, 1ULL << 60, path, sizeof(path)) < 0);

	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(1);
	}
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", folder);
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0 && dprintf(fd, "%d", child) > 0);
	close(fd);
	CHECK(!host_task_get(NULL, child, &task));
	CHECK(!strcmp(task.cgroup.unified, name));
	CHECK(!strcmp(task.cgroup.unit, name + 1));
	CHECK(task.tgid == child && task.ppid == getpid() && task.start_ticks);
	CHECK(task.netns == own_netns());
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(host_task_get(NULL, child, &task) == -ESRCH);
	CHECK(!rmdir(folder));
}

int main(void)
{
	char name[64];

	if (geteuid()) {
		printf("SKIP: making network namespaces needs root\n");
		return 77;
	}
	snprintf(name, sizeof(name), "hostlat-live-%d", getpid());
	if (shell("ip netns add %s", name)) {
		printf("SKIP: this machine does not let root make a network namespace\n");
		return 77;
	}
	CHECK(!shell("ip -n %s link add hostlat-a type veth peer name hostlat-b && "
		     "ip -n %s link set hostlat-a up", name, name));
	test_named(name, "hostlat-a");
	CHECK(!shell("ip netns del %s", name));
	test_anonymous();
	test_cgroup();
	printf("%s\n", failures ? "failed" : "ok");
	return failures ? 1 : 0;
}
