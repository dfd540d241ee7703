/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <linux/net_tstamp.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "host/cap.h"
#include "host/ethtool.h"
#include "host/iface.h"
#include "host/kconfig.h"
#include "host/lockdown.h"
#include "host/mount.h"

#define IFACES_SHOWN_MAX 64
#define SYSCALL_NS       100    /* a clock that is read in less ns needs no system call (vDSO) */

#define TAKES_ROOT "run as root (sudo)"

static void caps_privileges(const struct host_root *root, struct cap_vec *caps)
{
	static const struct {
		int number;
		const char *name, *use;
	} needed[] = {
		{ CAP_BPF, "CAP_BPF", "to load BPF programs" },
		{ CAP_PERFMON, "CAP_PERFMON", "to trace the kernel" },
		{ CAP_NET_ADMIN, "CAP_NET_ADMIN", "for netfilter and cgroup hooks, NIC stamps" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "to enter other network namespaces" },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "to see other users' processes' namespaces" },
		{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "to look up cgroups by id" },
	};

	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		bool may = host_may(root, needed[i].number);

		cap_add(caps, "privilege", needed[i].name, may ? CAP_YES : CAP_NO,
			TAKES_ROOT, "%s", needed[i].use);
	}
}

bool host_may(const struct host_root *root, int capability)
{
	char *text, *at;
	uint64_t set = 0;

	if (host_read_all(&text, 16 << 10, "%s/self/status", host_root_or_live(root)->proc) < 0)
		return false;
	at = strstr(text, "CapEff:");
	if (at)
		set = strtoull(at + 7, NULL, 16);
	free(text);
	return set >> capability & 1;
}

static void caps_lockdown(const struct host_root *root, struct cap_vec *caps)
{
	char value[64];
	int n = host_lockdown(root, value, sizeof(value));

	if (n == -ENOENT || n == -ENODEV)
		cap_add(caps, "system", "no lockdown", CAP_YES, NULL, "the kernel has none");
	else if (n < 0)
		cap_add(caps, "system", "no lockdown", CAP_UNKNOWN, TAKES_ROOT, "securityfs: %s",
			strerror(-n));
	else if (strstr(value, "[none]"))
		cap_add(caps, "system", "no lockdown", CAP_YES, NULL, "%s", value);
	else
		cap_add(caps, "system", "no lockdown", CAP_NO,
			LOCKDOWN_TAKES, "%s", value);
}

static void caps_cgroup2(const struct host_root *root, struct cap_vec *caps)
{
	char path[HOST_PATH_MAX];
	int err = host_mount_point(root, "cgroup2", path, sizeof(path));

	if (!err)
		cap_add(caps, "system", "cgroup2", CAP_YES, NULL, "%s", path);
	else
		cap_add(caps, "system", "cgroup2", CAP_NO, "mount -t cgroup2 none /sys/fs/cgroup",
			"not mounted");
}

static void caps_io_uring(struct cap_vec *caps)
{
	struct io_uring_params params = { 0 };
	int fd = syscall(__NR_io_uring_setup, 1, &params);

	if (fd >= 0) {
		cap_add(caps, "system", "io_uring", CAP_YES, NULL, "features 0x%x",
			params.features);
		close(fd);
	} else {
		cap_add(caps, "system", "io_uring", CAP_NO,
			errno == ENOSYS ? "a kernel with CONFIG_IO_URING" :
			"sysctl kernel.io_uring_disabled=0", "%s", strerror(errno));
	}
}

/* Returns the ns of reading a clock: the least of several batches, so interrupts do not count. */
static uint64_t caps_clock_read_ns(clockid_t clock)
{
	struct timespec from, to, t;
	uint64_t best = UINT64_MAX, ns;

	for (int batch = 0; batch < 20; batch++) {
		clock_gettime(CLOCK_MONOTONIC_RAW, &from);
		for (int i = 0; i < 500; i++)
			clock_gettime(clock, &t);
		clock_gettime(CLOCK_MONOTONIC_RAW, &to);
		ns = (to.tv_sec - from.tv_sec) * NS_PER_S + to.tv_nsec - from.tv_nsec;
		if (ns < best)
			best = ns;
	}
	return best / 500;
}

static void caps_clock_source(const struct host_root *root, struct cap_vec *caps)
{
	uint64_t ns = caps_clock_read_ns(CLOCK_MONOTONIC);
	char source[64] = "unknown";
	struct timespec res;

	host_read(source, sizeof(source),
		  "%s/devices/system/clocksource/clocksource0/current_clocksource", root->sys);
	cap_add(caps, "clock", "fast reads", ns < SYSCALL_NS ? CAP_YES : CAP_NO,
		"a clocksource that the vDSO can read (tsc)",
		"clocksource %s, %" PRIu64 " ns a read", source, ns);
	if (!clock_getres(CLOCK_MONOTONIC, &res))
		cap_add(caps, "clock", "fine resolution",
			!res.tv_sec && res.tv_nsec == 1 ? CAP_YES : CAP_NO,
			"a kernel with high-resolution timers", "%ld ns", res.tv_nsec);
}

static void caps_clock_tsc(const struct host_root *root, struct cap_vec *caps)
{
#ifdef __x86_64__
	char *text, *flags;
	bool constant, nonstop;

	if (host_read_all(&text, 64 << 10, "%s/cpuinfo", root->proc) < 0)
		return;
	flags = strstr(text, "\nflags");
	constant = flags && strstr(flags, " constant_tsc");
	nonstop = flags && strstr(flags, " nonstop_tsc");
	free(text);
	cap_add(caps, "clock", "TSC", constant && nonstop ? CAP_YES : CAP_NO,
		"a processor (or hypervisor) with an invariant TSC", "%s, %s",
		constant ? "constant rate" : "rate varies", nonstop ? "runs in idle states" :
		"stops in idle states");
#else
	(void)root;
	cap_add(caps, "clock", "TSC", CAP_NO, NULL, "x86 only");
#endif
}

static int caps_keep_clock(void *ctx, const char *name)
{
	snprintf(ctx, 32, "%s", name);
	return 0;
}

static void caps_clock_others(const struct host_root *root, struct cap_vec *caps)
{
	struct timex tx = { 0 };
	char ptp[32] = "";

	if (adjtimex(&tx) >= 0) {
		cap_add(caps, "clock", "synchronised", tx.status & STA_UNSYNC ? CAP_NO : CAP_YES,
			"chrony or another NTP or PTP client", "estimated error %ld us",
			tx.esterror);
		cap_add(caps, "clock", "TAI offset", tx.tai ? CAP_YES : CAP_NO,
			"an NTP client with a leap-second table; hostlat does not need it", "%d s",
			tx.tai);
	}
	host_each_entry(caps_keep_clock, ptp, 64, "%s/class/ptp", root->sys);
	cap_add(caps, "clock", "PTP hardware clock", ptp[0] ? CAP_YES : CAP_NO,
		"a NIC or hypervisor with a PTP clock",
		"%s", ptp[0] ? ptp : "none in /sys/class/ptp");
}

static bool caps_has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += n)
		if ((at == text || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

static void caps_tracer(const struct host_root *root, struct cap_vec *caps, int tracefs,
			const char *name, const char *option, const char *takes)
{
	char tracers[512], configured[8] = "?";
	int n = tracefs < 0 ? tracefs :
		host_read_at(tracefs, "available_tracers", tracers, sizeof(tracers));

	host_kconfig(root, option, configured, sizeof(configured));
	if (n == -ENOENT && host_is_confidential(root))
		cap_add(caps, "trace", name, CAP_NO, LOCKDOWN_TAKES,
			"kernel lockdown (confidentiality) leaves tracefs empty");
	else if (n < 0)
		cap_add(caps, "trace", name, n == -ENODEV ? CAP_NO : CAP_UNKNOWN,
			n == -ENODEV ? takes : TAKES_ROOT, "tracefs: %s", strerror(-n));
	else if (caps_has_word(tracers, name))
		cap_add(caps, "trace", name, CAP_YES, NULL, "tracers: %s", tracers);
	else
		cap_add(caps, "trace", name, CAP_NO, takes, "tracers: %s; %s=%s", tracers, option,
			configured);
}

static void caps_tracing(const struct host_root *root, struct cap_vec *caps)
{
	char path[HOST_PATH_MAX];
	int dir = host_mount_open(root, "tracefs");

	if (dir < 0)
		cap_add(caps, "trace", "tracefs", dir == -ENODEV ? CAP_NO : CAP_UNKNOWN,
			dir == -ENODEV ? "a kernel with CONFIG_FTRACE" : TAKES_ROOT, "%s",
			strerror(-dir));
	else
		cap_add(caps, "trace", "tracefs", CAP_YES, NULL, "%s",
			host_mount_point(root, "tracefs", path, sizeof(path)) ?
			"not mounted; can be" : path);
	caps_tracer(root, caps, dir, "function", "CONFIG_FUNCTION_TRACER",
		    "a kernel with CONFIG_FUNCTION_TRACER");
	caps_tracer(root, caps, dir, "function_graph", "CONFIG_FUNCTION_GRAPH_TRACER",
		    "a kernel with CONFIG_FUNCTION_GRAPH_TRACER");
	if (dir >= 0)
		close(dir);
}

/* Opens and closes a counting event on this thread. Returns 0 or -errno. */
static int caps_try_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = type, .config = config, .disabled = 1,
	};
	int fd = syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void caps_perf_event(struct cap_vec *caps, const char *name, int err, const char *takes)
{
	if (!err)
		cap_add(caps, "perf", name, CAP_YES, NULL, "opens");
	else if (err == -EACCES || err == -EPERM)
		cap_add(caps, "perf", name, CAP_UNKNOWN,
			"CAP_PERFMON, or sysctl kernel.perf_event_paranoid=1", "%s",
			strerror(-err));
	else
		cap_add(caps, "perf", name, CAP_NO, takes, "%s", strerror(-err));
}

static void caps_perf_unit(const struct host_root *root, struct cap_vec *caps, const char *name,
			   const char *unit, const char *takes)
{
	uint64_t type;
	int err = host_read_u64(&type, "%s/bus/event_source/devices/%s/type", root->sys, unit);

	if (err)
		cap_add(caps, "perf", name, CAP_NO, takes, "no %s among the event sources", unit);
	else
		cap_add(caps, "perf", name, CAP_YES, NULL, "event source %s, type %" PRIu64, unit,
			type);
}

static void caps_perf(const struct host_root *root, struct cap_vec *caps)
{
	caps_perf_event(caps, "software events",
			caps_try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK),
			"a kernel with CONFIG_PERF_EVENTS");
	caps_perf_event(caps, "hardware events",
			caps_try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
			"a physical machine, or a VM with a virtual PMU");
	caps_perf_unit(root, caps, "kprobe", "kprobe", "a kernel with CONFIG_KPROBES");
	caps_perf_unit(root, caps, "uprobe", "uprobe", "a kernel with CONFIG_UPROBES");
#ifdef __x86_64__
	caps_perf_unit(root, caps, "Intel PT", "intel_pt",
		       "an Intel processor with this feature, not hidden by a hypervisor");
#else
	cap_add(caps, "perf", "Intel PT", CAP_NO, NULL, "x86 only");
#endif
}

static void caps_nic(struct cap_vec *caps, int fd, const char *name)
{
	struct ethtool_ts_info info = { .cmd = ETHTOOL_GET_TS_INFO };
	int err = ethtool_ask(fd, name, &info);
	uint32_t bits = info.so_timestamping;
	bool hardware = bits & SOF_TIMESTAMPING_RX_HARDWARE && bits & SOF_TIMESTAMPING_RAW_HARDWARE;
	bool every = info.rx_filters & 1 << HWTSTAMP_FILTER_ALL;

	if (err) {
		cap_add(caps, "nic", name, CAP_NO, "another driver or NIC", "%s", strerror(-err));
		return;
	}
	cap_add(caps, "nic", name, hardware && every ? CAP_YES : CAP_NO,
		"a NIC with hardware timestamps for every packet",
		"receive: %s%s, send: %s%s",
		!hardware ? "" : every ? "hardware " : "hardware (PTP packets only) ",
		bits & SOF_TIMESTAMPING_RX_SOFTWARE ? "software" : "none",
		bits & SOF_TIMESTAMPING_TX_HARDWARE ? "hardware " : "",
		bits & SOF_TIMESTAMPING_TX_SOFTWARE ? "software" : "none");
}

static void caps_nics(struct cap_vec *caps)
{
	struct host_iface_vec list;
	int fd;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (!host_iface_list(NULL, &list)) {
		for (size_t i = 0; i < list.len && i < IFACES_SHOWN_MAX; i++)
			if (list.items[i].up)
				caps_nic(caps, fd, list.items[i].name);
		host_iface_vec_release(&list);
	}
	close(fd);
}

void host_caps_collect(const struct host_root *root, struct cap_vec *caps)
{
	root = host_root_or_live(root);
	caps_privileges(root, caps);
	caps_cgroup2(root, caps);
	caps_lockdown(root, caps);
	caps_io_uring(caps);
	caps_clock_source(root, caps);
	caps_clock_tsc(root, caps);
	caps_clock_others(root, caps);
	caps_tracing(root, caps);
	caps_perf(root, caps);
	caps_nics(caps);
}
