/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/caps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "event/layout.h"
#include "event/names.h"
#include "host/lockdown.h"
#include "probe/connection/conns_hooks.h"
#include "probe/common/hook.h"
#include "probe/cpu/timekeeping.h"

#define BTF_FILE "/sys/kernel/btf/vmlinux"


#define TAKES_LOOPS "Linux 5.17"
#define TAKES_PRIVILEGE "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: run as root (sudo)"

static bool may_trace(void)
{
	return host_may(NULL, CAP_SYS_ADMIN) ||
	       (host_may(NULL, CAP_BPF) && host_may(NULL, CAP_PERFMON) &&
		host_may(NULL, CAP_NET_ADMIN));
}

/* What a failed trial means: refusing an unprivileged process says nothing about the kernel. */
static void add_result(struct cap_vec *caps, const char *area, const char *name, int err,
		       const char *takes, const char *found)
{
	if (!err)
		cap_add(caps, area, name, CAP_YES, NULL, "%s", found);
	else if ((err == -EPERM || err == -EACCES) && !may_trace())
		cap_add(caps, area, name, CAP_UNKNOWN, TAKES_PRIVILEGE, "not permitted to try");
	else
		cap_add(caps, area, name, CAP_NO, takes, "%s", *found ? found : strerror(-err));
}

static void btf(struct cap_vec *caps)
{
	struct stat st;

	if (!stat(BTF_FILE, &st))
		cap_add(caps, "bpf", "BTF", CAP_YES, NULL, "%s, %lld bytes", BTF_FILE,
			(long long)st.st_size);
	else
		cap_add(caps, "bpf", "BTF", CAP_NO, "a kernel with CONFIG_DEBUG_INFO_BTF", "%s: %s",
			BTF_FILE, strerror(errno));
}

static int try_map(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries)
{
	int fd = bpf_map_create(type, "hostlat_try", key, value, entries, NULL);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void maps(struct cap_vec *caps)
{
	add_result(caps, "bpf", "maps", try_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1),
		   "a kernel with CONFIG_BPF_SYSCALL", "");
	add_result(caps, "bpf", "ring buffer",
		   try_map(BPF_MAP_TYPE_RINGBUF, 0, 0, sysconf(_SC_PAGESIZE)), "Linux 5.8", "");
}

static int try_stats(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* Empty programs are taken all the same. */
static void kernel_memory(struct cap_vec *caps)
{
	if (!host_is_confidential(NULL)) {
		cap_add(caps, "bpf", "kernel memory", CAP_YES, NULL, "programs may read it");
		return;
	}
	cap_add(caps, "bpf", "kernel memory", CAP_NO, LOCKDOWN_TAKES, LOCKDOWN_READS);
	cap_without(caps, "packets are followed up to TCP's socket only, and connections by "
		    "inet_diag, whatever hooks are there");
}

/* Kinds of programs; the targets are there for tests, or fire rarely. */
static void kinds(struct cap_vec *caps)
{
	static const struct {
		const char *name, *takes;
		struct hook hook;
	} rows[] = {
		{ "tp_btf", "Linux 5.5 with BTF",
		  { .kind = HOOK_TP_BTF, .target = "task_rename" } },
		{ "fentry", "a kernel that permits it; stages with another hook below do without",
		  { .kind = HOOK_FENTRY, .target = "bpf_fentry_test1" } },
		{ "fexit", "a kernel that permits it; stages with another hook below do without",
		  { .kind = HOOK_FEXIT, .target = "bpf_fentry_test1" } },
		{ "netfilter", "Linux 6.4 with CONFIG_NETFILTER_BPF_LINK",
		  { .kind = HOOK_NETFILTER, .target = "LOCAL_IN" } },
		{ "cgroup_skb", "a kernel with CONFIG_CGROUP_BPF",
		  { .kind = HOOK_CGROUP_INGRESS, .target = HOOK_CGROUP_TARGET } },
	};
	char why[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int err = hook_try(&rows[i].hook, why, sizeof(why));

		add_result(caps, "bpf", rows[i].name, err, rows[i].takes,
			   err ? why : rows[i].hook.target);
	}
}

/* What the programs can't do without, whatever they are attached to; below zero: not known. */
static int loops(struct cap_vec *caps)
{
	int has = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_loop, NULL);

	if (!may_trace()) /* then every helper seems to be there */
		has = -EPERM;
	add_result(caps, "bpf", "bpf_loop()", has > 0 ? 0 : has < 0 ? has : -ENOTSUP,
		   TAKES_LOOPS, "");
	return has;
}

struct trial {
	int err;
	char why[160];
};

/* Whether another hook than this one measures the same. */
static bool spare(const struct hook *h, const struct trial *trials)
{
	for (size_t i = 0; hooks[i].target; i++)
		if (h->stage != STAGE_NONE && hooks[i].stage == h->stage &&
		    hooks[i].protocol == h->protocol && !trials[i].err)
			return true;
	return false;
}

static void add_hook(struct cap_vec *caps, const struct hook *h, const struct trial *trials,
		     bool usable)
{
	const struct trial *trial = &trials[h - hooks];
	char name[64], found[160];

	if (h->stage == STAGE_NONE)
		snprintf(name, sizeof(name), "%s", h->target);
	else if (h->protocol == PROTO_ANY)
		snprintf(name, sizeof(name), "%s", stage_name(h->stage));
	else
		snprintf(name, sizeof(name), "%s %s", stage_name(h->stage),
			 protocol_name(h->protocol));
	snprintf(found, sizeof(found), "%s %s%s%s", hook_kind_name(h->kind), h->target,
		 h->also ? " and " : "", h->also ? h->also : "");
	if (!trial->err && !usable) {
		cap_add(caps, "hook", name, CAP_NO, TAKES_LOOPS, "%s, without bpf_loop()", found);
		return;
	}
	add_result(caps, "hook", name, trial->err,
		   spare(h, trials) || h->without ? NULL :
		   "a kernel with one of this stage's hooks",
		   trial->err ? trial->why : found);
	if (trial->err && h->without)
		cap_without(caps, h->without);
}

static void stages(struct cap_vec *caps, bool usable)
{
	struct trial trials[HOOKS_MAX];
	size_t n;

	for (n = 0; hooks[n].target; n++) {
		BUG_ON(n >= HOOKS_MAX);
		trials[n].err = hook_try(&hooks[n], trials[n].why, sizeof(trials[n].why));
	}
	for (size_t i = 0; i < n; i++)
		add_hook(caps, &hooks[i], trials, usable);
}

static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

void probe_caps_collect(struct cap_vec *caps)
{
	libbpf_print_fn_t before = libbpf_set_print(say_nothing);
	int err, has_loops;

	btf(caps);
	maps(caps);
	err = try_stats();
	add_result(caps, "bpf", "run-time statistics", err,
		   err == -EPERM ? "CAP_SYS_ADMIN" : "Linux 5.8", "");
	has_loops = loops(caps);
	kernel_memory(caps);
	kinds(caps);
	stages(caps, has_loops);
	conns_caps(caps);
	timekeeping_caps(caps);
	libbpf_set_print(before);
}
