/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks, interfaces and set-up facts, on machines that are trees of files. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bug.h"
#include "host/cap.h"
#include "host/cgroup.h"
#include "host/facts_collect.h"
#include "host/iface.h"
#include "host/kconfig.h"
#include "host/mount.h"
#include "host/netns.h"
#include "host/task.h"
#include "host/tuning.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- a machine made of files ---- */

/* Content "@TARGET" makes a symbolic link. */
struct file {
	const char *path, *content;
};

static const struct file machine[] = {
	{ "proc/1/comm", "systemd\n" },
	{ "proc/1/status", "Name:\tsystemd\nTgid:\t1\nPid:\t1\nPPid:\t0\n" },
	{ "proc/1/cgroup", "0::/init.scope\n" },
	{ "proc/1/environ", "HOME=/" },
	{ "proc/1/ns/net", "@net:[4026531840]" },
	{ "proc/2/comm", "kthreadd\n" },
	{ "proc/2/ns/net", "@net:[4026531840]" },
	/* both hierarchies; the second namespace; a name that looks like the end of the field */
	{ "proc/4711/comm", "mem (x) S 1\n" },
	{ "proc/4711/status", "Name:\tmem\nTgid:\t4711\nPPid:\t1\n" },
	{ "proc/4711/cmdline", "@../cmdline4711" },
	{ "proc/4711/stat", "4711 (mem (x) S 1) S 1 4711 4711 0 -1 4194560 1 2 3 4 5 6 7 8 "
			    "20 0 4 0 98765 1000 200 18446744073709551615 1 1\n" },
	{ "proc/4711/cgroup", "9:name=systemd:/system.slice/docker-" HEX64 ".scope\n"
			      "4:memory:/x/y/z\n0::/some\n" },
	{ "proc/4711/ns/net", "@net:[4026532200]" },
	/* a thread of it, and a process in the namespace of a name */
	{ "proc/4712/comm", "worker\n" },
	{ "proc/4712/status", "Tgid:\t4711\nPPid:\t1\n" },
	{ "proc/4712/cgroup", "0::/\n" },
	{ "proc/4712/ns/net", "@net:[4026532200]" },
	{ "proc/5000/comm", "sh\n" },
	{ "proc/5000/ns/net", "@net:[4026532300]" },
	/* exiting: its folder is there, its files are not */
	{ "proc/6000/x", "" },
	{ "proc/self/ns/net", "@net:[4026531840]" },
	{ "proc/self/status", "CapEff:\t0000004000001000\n" },
	{ "proc/self/mountinfo",
	  "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
	  "40 31 0:9 /part /mnt/part rw shared:7 master:2 - cgroup2 cgroup2 rw\n"
	  "41 31 0:9 / /sys/fs/cgroup/my\\040unified rw shared:8 - cgroup2 cgroup2 rw\n" },
	{ "run/netns/blue", "@net:[4026532300]" },
	{ "run/netns/idle", "@net:[4026532400]" },
	{ "run/netns/green", "@net:[4026532400]" },

	{ "proc/cmdline", "quiet preempt=full preempt=lazy mitigations=auto\n" },
	{ "proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\nmodel\t\t: 5\n"
			  "flags\t\t: fpu hypervisorless tsc\n\nprocessor\t: 1\n" },
	{ "proc/stat", "cpu  100 0 100 790 0 0 0 10 0 0\ncpu0 1 1 1 1\n" },
	{ "proc/swaps", "Filename Type Size Used Priority\n/dev/a partition 1000 30 -2\n"
			"/swap file 500 12 -3\n" },
	{ "proc/net/softnet_stat",
	  "000000ff 00000002 00000003 0 0\n00000001 00000010 00000001 0\n" },
	{ "proc/sys/kernel/hostname", "box\n" },
	{ "proc/sys/kernel/osrelease", "6.1.0-test\n" },
	{ "proc/sys/kernel/numa_balancing", "1\n" },
	{ "proc/sys/net/core/busy_poll", "50\n" },
	{ "proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n" },
	{ "boot/config-6.1.0-test", "CONFIG_HZ_250=y\nCONFIG_HZ=250\n# CONFIG_KPROBES is not set\n"
				    "CONFIG_PREEMPT_NONE=y\n" },
	{ "sys/devices/system/cpu/online", "0-3,8,10-11\n" },
	{ "sys/devices/system/cpu/isolated", "\n" },
	{ "sys/devices/system/cpu/smt/control", "on\n" },
	{ "sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n" },
	{ "sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state0/disable", "0\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C6\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "133\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C8\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "500\n" },
	{ "sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n" },
	{ "sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n" },
	{ "sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n" },
	{ "sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n" },
	{ "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n" },
	{ "sys/kernel/mm/transparent_hugepage/defrag", "[always] defer madvise never\n" },
};

/* argv of 4711: three arguments, the last of them with a newline in it. */
static const char cmdline_4711[] = "memcached\0-p\0" "112\n11";

struct tree {
	char folder[64];
	char proc[80], sys[80], run[80], boot[80];
	struct host_root root;
};

static void make_folders(char *path)
{
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		assert_true(!mkdir(path, 0755) || errno == EEXIST);
		*slash = '/';
	}
}

static void put_file(const struct tree *tree, const char *name, const void *content, size_t n)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", tree->folder, name);
	make_folders(path);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(content, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

static void put_link(const struct tree *tree, const char *name, const char *target)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", tree->folder, name);
	make_folders(path);
	assert_int_equal(symlink(target, path), 0);
}

static int make_machine(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	assert_non_null(tree);
	snprintf(tree->folder, sizeof(tree->folder), "/tmp/hostlat-host-XXXXXX");
	assert_non_null(mkdtemp(tree->folder));
	for (size_t i = 0; i < ARRAY_LEN(machine); i++) {
		const char *content = machine[i].content;

		if (content[0] == '@')
			put_link(tree, machine[i].path, content + 1);
		else
			put_file(tree, machine[i].path, content, strlen(content));
	}
	put_file(tree, "proc/cmdline4711", cmdline_4711, sizeof(cmdline_4711));
	snprintf(tree->proc, sizeof(tree->proc), "%s/proc", tree->folder);
	snprintf(tree->sys, sizeof(tree->sys), "%s/sys", tree->folder);
	snprintf(tree->run, sizeof(tree->run), "%s/run", tree->folder);
	snprintf(tree->boot, sizeof(tree->boot), "%s/boot", tree->folder);
	tree->root = (struct host_root){ tree->proc, tree->sys, tree->run, tree->boot, false };
	*state = tree;
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_machine(void **state)
{
	struct tree *tree = *state;
	int err = nftw(tree->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);

	free(tree);
	return err;
}

/* ---- processes ---- */

static void test_task(void **state)
{
	const struct tree *tree = *state;
	struct host_task task;
	char text[256];

	assert_int_equal(host_task_get(&tree->root, 4711, &task), 0);
	assert_int_equal(task.pid, 4711);
	assert_int_equal(task.tgid, 4711);
	assert_int_equal(task.ppid, 1);
	assert_string_equal(task.comm, "mem (x) S 1");
	assert_string_equal(task.cmdline, "memcached -p 112 11");
	assert_int_equal(task.start_ticks, 98765);
	assert_int_equal(task.netns, 4026532200);
	/* /x/y/z is deeper, but says nothing */
	assert_string_equal(task.cgroup.path, "/system.slice/docker-" HEX64 ".scope");
	assert_string_equal(task.cgroup.unified, "/some");
	host_task_describe(&task, text, sizeof(text));
	assert_string_equal(text, "mem (x) S 1 (pid 4711, docker 0123456789ab)");

	assert_int_equal(host_task_get(&tree->root, 1, &task), 0);
	assert_string_equal(task.cmdline, "");
	host_task_describe(&task, text, sizeof(text));
	assert_string_equal(text, "systemd (pid 1, init)");

	assert_int_equal(host_task_get(&tree->root, 4712, &task), 0);
	assert_int_equal(task.tgid, 4711);
	assert_string_equal(task.cgroup.path, "/");
}

static void test_task_gone(void **state)
{
	const struct tree *tree = *state;
	struct host_task task;
	struct host_cgroup cgroup;
	char comm[HOST_COMM_MAX];
	uint64_t inode;

	assert_int_equal(host_task_get(&tree->root, 6000, &task), -ESRCH);
	assert_int_equal(host_task_get(&tree->root, 9999, &task), -ESRCH);
	assert_int_equal(host_pid_comm(&tree->root, 9999, comm, sizeof(comm)), -ESRCH);
	assert_int_equal(host_cgroup_of(&tree->root, 9999, &cgroup), -ESRCH);
	assert_int_equal(host_netns_of(&tree->root, 9999, &inode), -ESRCH);
}

static int count_tasks(void *ctx, pid_t pid)
{
	uint64_t *sum = ctx;

	*sum += pid;
	return 0;
}

static int stop_at_once(void *ctx, pid_t pid)
{
	(void)ctx;
	(void)pid;
	return 42;
}

static void test_task_each(void **state)
{
	const struct tree *tree = *state;
	uint64_t sum = 0;

	assert_int_equal(host_pid_each(&tree->root, count_tasks, &sum), 0);
	assert_int_equal(sum, 1 + 2 + 4711 + 4712 + 5000 + 6000);
	assert_int_equal(host_pid_each(&tree->root, stop_at_once, NULL), 42);
}

/* ---- namespaces ---- */

static void test_netns(void **state)
{
	static const struct {
		uint64_t inode;
		bool own;
		pid_t pid;
		const char *name, *path;
	} expected[] = {
		{ 4026531840, true, 1, "root", "proc/1/ns/net" },
		{ 4026532200, false, 4711, "pid 4711 (mem (x) S 1)", "proc/4711/ns/net" },
		{ 4026532300, false, 5000, "blue", "run/netns/blue" },
		{ 4026532400, false, 0, NULL, NULL },
	};
	const struct tree *tree = *state;
	struct host_netns_vec list;

	assert_int_equal(host_netns_list(&tree->root, &list), 0);
	assert_int_equal(list.len, ARRAY_LEN(expected));
	assert_int_equal(list.unreadable, 0);
	for (size_t i = 0; i < list.len; i++) {
		assert_int_equal(list.items[i].inode, expected[i].inode);
		assert_int_equal(list.items[i].own, expected[i].own);
		assert_int_equal(list.items[i].pid, expected[i].pid);
		if (!expected[i].name)
			continue;
		assert_string_equal(list.items[i].name, expected[i].name);
		assert_string_equal(list.items[i].path + strlen(tree->folder) + 1,
				    expected[i].path);
	}
	/* two names of one namespace: whichever is first */
	assert_true(!strcmp(list.items[3].name, "idle") || !strcmp(list.items[3].name, "green"));

	assert_ptr_equal(host_netns_lookup(&tree->root, &list, "blue"), &list.items[2]);
	assert_ptr_equal(host_netns_lookup(&tree->root, &list, "root"), &list.items[0]);
	assert_ptr_equal(host_netns_lookup(&tree->root, &list, "4026532200"), &list.items[1]);
	assert_ptr_equal(host_netns_lookup(&tree->root, &list, "5000"), &list.items[2]);
	assert_null(host_netns_lookup(&tree->root, &list, "9999"));
	assert_null(host_netns_lookup(&tree->root, &list, "red"));
	/* the fabricated file is no namespace of that number */
	assert_true(host_netns_open(&list.items[0]) < 0);
	host_netns_vec_release(&list);
}

static int one(void *ctx)
{
	(void)ctx;
	return 1;
}

/* The live machine, as far as any user may see it. */
static void test_netns_live(void **state)
{
	struct host_netns_vec list;
	const struct host_netns *own;
	uint64_t inode;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	assert_int_equal(host_netns_of(NULL, 0, &inode), 0);
	assert_int_equal(inode, st.st_ino);
	assert_int_equal(host_netns_list(NULL, &list), 0);
	own = host_netns_find(&list, inode);
	assert_non_null(own);
	assert_true(own->own);
	assert_int_equal(host_netns_run(own, one, NULL), 1);
	fd = host_netns_open(own);
	assert_true(fd >= 0 || fd == -EACCES || fd == -EPERM);
	if (fd >= 0)
		close(fd);
	host_netns_vec_release(&list);
}

/* ---- mounts, configuration, facts ---- */

static void test_mount(void **state)
{
	const struct tree *tree = *state;
	char path[HOST_PATH_MAX];

	assert_int_equal(host_cgroup2_mount(&tree->root, path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup/my unified");
	assert_int_equal(host_mount_point(&tree->root, "cgroup", path, sizeof(path)), -ENOENT);
	assert_int_equal(host_mount_point(&tree->root, "proc", path, sizeof(path)), 0);
	assert_string_equal(path, "/proc");
	assert_int_equal(host_cgroup2_mount(&tree->root, path, 5), -ENAMETOOLONG);
}

static void test_kconfig(void **state)
{
	const struct tree *tree = *state;
	char value[32];

	assert_int_equal(host_kconfig(&tree->root, "CONFIG_HZ", value, sizeof(value)), 0);
	assert_string_equal(value, "250");
	assert_int_equal(host_kconfig(&tree->root, "CONFIG_KPROBES", value, sizeof(value)), 0);
	assert_string_equal(value, "n");
	put_file(tree, "proc/sys/kernel/osrelease", "other\n", 6);
	assert_int_equal(host_kconfig(&tree->root, "CONFIG_HZ", value, sizeof(value)), -ENOENT);
}

static void assert_fact(const struct host_facts *facts, const char *key, const char *value)
{
	const char *found = host_facts_get(facts, key);

	print_message("%s = %s\n", key, found ? found : "(none)");
	if (!value)
		assert_null(found);
	else if (!found)
		fail_msg("there is no %s", key);
	else
		assert_string_equal(found, value);
}

static void test_facts(void **state)
{
	static const char *const expected[][2] = {
		{ "host.name", "box" },
		{ "host.virtualization", "none" },
		{ "host.container", "none" },
		{ "kernel.release", "6.1.0-test" },
		{ "kernel.preempt", "lazy" },
		{ "kernel.isolated_cpus", "none" },
		{ "cpu.model", "Some CPU" },
		{ "cpu.count", "7" },
		{ "cpu.online", "0-3,8,10-11" },
		{ "cpu.frequency.governor", "powersave" },
		{ "cpu.idle.state.1.name", "C6" },
		{ "cpu.idle.state.1.exit_us", "133" },
		{ "cpu.idle.state.3.name", NULL },
		{ "cpu.vulnerability.meltdown", "Mitigation: PTI" },
		{ "cpu.vulnerability.l1tf", NULL },
		{ "cpu.steal_percent", "1.0000" },
		{ "clock.source", "hpet" },
		{ "memory.thp", "madvise" },
		{ "memory.thp_defrag", "always" },
		{ "memory.swap_used_kib", "42" },
		{ "net.core.busy_poll", "50" },
		{ "net.ipv4.tcp_rmem", "4096 131072 6291456" },
		{ "net.softnet.dropped", "18" },
		{ "net.softnet.squeezed", "4" },
		{ "net.core.rmem_max", NULL },
	};
	const struct tree *tree = *state;
	struct host_facts facts;

	assert_int_equal(host_facts_collect(&tree->root, &facts), 0);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_fact(&facts, expected[i][0], expected[i][1]);
	host_facts_release(&facts);
}

/* Different governors are all named, each once. */
static void test_facts_each(void **state)
{
	const struct tree *tree = *state;
	struct host_facts facts;
	const char *governor;

	put_file(tree, "sys/devices/system/cpu/cpufreq/policy2/scaling_governor",
		 "performance", 11);
	assert_int_equal(host_facts_collect(&tree->root, &facts), 0);
	governor = host_facts_get(&facts, "cpu.frequency.governor");
	assert_true(!strcmp(governor, "powersave, performance") ||
		    !strcmp(governor, "performance, powersave"));
	host_facts_release(&facts);
}

static void test_facts_container(void **state)
{
	const struct tree *tree = *state;
	struct host_facts facts;

	put_file(tree, "proc/1/environ", "A=b\0container=podman", 20);
	assert_int_equal(host_facts_collect(&tree->root, &facts), 0);
	assert_fact(&facts, "host.container", "podman");
	host_facts_release(&facts);
}

static void test_facts_limits(void **state)
{
	char value[HOST_FACT_VALUE_MAX + 100], key[32];
	struct host_facts facts;

	(void)state;
	memset(value, 'x', sizeof(value));
	value[3] = '\n';
	value[sizeof(value) - 1] = '\0';
	host_facts_init(&facts);
	host_facts_add(&facts, "long", "%s", value);
	assert_int_equal(strlen(host_facts_get(&facts, "long")), HOST_FACT_VALUE_MAX);
	assert_int_equal(host_facts_get(&facts, "long")[3], ' ');
	host_facts_add_unknown(&facts, "hidden", "/sys/x", -EACCES);
	assert_null(host_facts_get(&facts, "hidden"));
	assert_string_equal(facts.items[1].value, "n/a: /sys/x: Permission denied");
	for (int i = 2; i < HOST_FACTS_MAX; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		host_facts_add(&facts, key, "1");
	}
	assert_int_equal(facts.error, 0);
	host_facts_add(&facts, "one more", "1");
	assert_int_equal(facts.error, -E2BIG);
	assert_int_equal(facts.len, HOST_FACTS_MAX);
	host_facts_release(&facts);
}

/* ---- advice ---- */

static bool advised(const struct host_advice_vec *list, const char *fact)
{
	for (size_t i = 0; i < list->len; i++)
		if (!strcmp(list->items[i].fact, fact))
			return true;
	return false;
}

static void test_tuning(void **state)
{
	static const struct {
		const char *fact, *value;
		bool costs;
	} rows[] = {
		{ "cpu.frequency.governor", "performance, powersave", true },
		{ "cpu.idle.state.1.exit_us", "133", true },
		{ "cpu.idle.state.1.disabled", "0", false },
		{ "cpu.idle.state.2.exit_us", "500", false }, /* it is switched off */
		{ "cpu.idle.state.2.disabled", "1", false },
		{ "cpu.idle.state.3.exit_us", "2", false },
		{ "cpu.idle.state.3.disabled", "0", false },
		/* setting of a driver that is not in use */
		{ "cpu.idle.halt_poll_ns", "0", false },
		{ "cpu.idle.driver", "intel_idle", false },
		{ "cpu.steal_percent", "0.0500", false },
		{ "kernel.hz", "1000", false },
		{ "kernel.preempt", "none", true },
		{ "memory.swap_used_kib", "none", false },
		{ "vm.zone_reclaim_mode", "0", false },
		{ "kernel.numa_balancing", "2", true },
		{ "net.core.busy_poll", "50", false },
		{ "net.ipv4.tcp_autocorking", "1", true },
		{ "net.softnet.dropped", "0", false },
		{ "net.softnet.squeezed", "7", true },
		{ "iface.eth0.coalesce.rx_usecs", "50", true },
		{ "iface.eth1.coalesce.rx_usecs", "0", false },
		{ "iface.eth0.irq_cpus", "1", true },
	};
	struct host_advice_vec list;
	struct host_facts facts;

	(void)state;
	host_facts_init(&facts);
	host_facts_add_unknown(&facts, "clock.source", "hpet", -EACCES);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		host_facts_add(&facts, rows[i].fact, "%s", rows[i].value);
	assert_int_equal(host_tuning(&facts, &list), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		print_message("%s\n", rows[i].fact);
		assert_int_equal(advised(&list, rows[i].fact), rows[i].costs);
	}
	assert_false(advised(&list, "clock.source"));
	for (size_t i = 0; i < list.len; i++) {
		assert_non_null(list.items[i].why);
		assert_non_null(list.items[i].source);
		assert_non_null(list.items[i].change);
	}
	host_advice_vec_release(&list);
	host_facts_release(&facts);
}

static void test_privilege(void **state)
{
	const struct tree *tree = *state;

	/* bits 12 and 38 of CapEff */
	assert_true(host_may(&tree->root, 12));
	assert_true(host_may(&tree->root, 38));
	assert_false(host_may(&tree->root, 39));
	assert_false(host_may(&tree->root, 21));
}

/* Devices whose packets arrive through others, and through which. */
static void test_devices_behind_others(void **state)
{
	struct host_iface ifaces[] = {
		{ .ifindex = 1, .name = "lo" },
		{ .ifindex = 2, .name = "eth0", .master = 4 },
		{ .ifindex = 3, .name = "eth1", .master = 4 },
		{ .ifindex = 4, .name = "bond0", .kind = "bond" },
		{ .ifindex = 5, .name = "bond0.7", .kind = "vlan", .lower = 4 },
		{ .ifindex = 6, .name = "mac0", .kind = "macvlan" },
		{ .ifindex = 7, .name = "veth0", .kind = "veth", .lower = 2, .master = 8 },
		{ .ifindex = 8, .name = "br0", .kind = "bridge" },
	};
	const struct host_iface_vec list = { .items = ifaces, .len = ARRAY_LEN(ifaces) };
	static const struct {
		const char *name, *below; /* NULL: its packets are its own */
	} cases[] = {
		{ "eth0", NULL }, { "bond0", "eth0, eth1" }, { "bond0.7", "bond0" }, { "mac0", "" },
		{ "veth0", NULL }, { "br0", NULL }, { "nosuch0", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct strbuf below = STRBUF_INIT(256);

		assert_int_equal(host_iface_comes_by(&list, cases[i].name, &below),
				 cases[i].below != NULL);
		assert_string_equal(strbuf_str(&below), cases[i].below ? cases[i].below : "");
		strbuf_release(&below);
	}
}

int main(void)
{
#define ON_MACHINE(test) cmocka_unit_test_setup_teardown(test, make_machine, remove_machine)
	const struct CMUnitTest tests[] = {
		ON_MACHINE(test_task),
		ON_MACHINE(test_task_gone),
		ON_MACHINE(test_task_each),
		ON_MACHINE(test_netns),
		cmocka_unit_test(test_netns_live),
		ON_MACHINE(test_mount),
		ON_MACHINE(test_kconfig),
		ON_MACHINE(test_facts),
		ON_MACHINE(test_facts_each),
		ON_MACHINE(test_facts_container),
		cmocka_unit_test(test_facts_limits),
		cmocka_unit_test(test_tuning),
		ON_MACHINE(test_privilege),
		cmocka_unit_test(test_devices_behind_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
