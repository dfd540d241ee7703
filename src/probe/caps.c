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
#include "probe/packet/hooks.h"
#include "probe/cpu/timekeeping.h"

#define BTF_FILE "/sys/kernel/btf/vmlinux"

#define TAKES_LOOPS "Linux 5.17"
#define TAKES_TRACING "a kernel that permits it; stages that list another hook work without it"
#define TAKES_PRIVILEGE "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: run as root (sudo)"

/*
 * Adds the result of trying a kernel feature to the list of capabilities. If the trial failed for
 * lack of privileges, the capability is reported as unknown.
 */
static void caps_add_result(struct cap_vec *caps, const char *area, const char *name, int err,
			    const char *takes, const char *found)
{
	if (!err)
		cap_add(caps, area, name, CAP_YES, NULL, "%s", found);
	else if ((err == -EPERM || err == -EACCES) && !conns_hooks_permitted())
		cap_add(caps, area, name, CAP_UNKNOWN, TAKES_PRIVILEGE, "not permitted to try");
	else
		cap_add(caps, area, name, CAP_NO, takes, "%s", *found ? found : strerror(-err));
}

static void caps_add_btf(struct cap_vec *caps)
{
	struct stat st;

	if (!stat(BTF_FILE, &st))
		cap_add(caps, "bpf", "BTF", CAP_YES, NULL, "%s, %lld bytes", BTF_FILE,
			(long long)st.st_size);
	else
		cap_add(caps, "bpf", "BTF", CAP_NO, "a kernel with CONFIG_DEBUG_INFO_BTF", "%s: %s",
			BTF_FILE, strerror(errno));
}

static int caps_try_map(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries)
{
	int fd = bpf_map_create(type, "hostlat_try", key, value, entries, NULL);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void caps_add_maps(struct cap_vec *caps)
{
	caps_add_result(caps, "bpf", "maps", caps_try_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1),
			"a kernel with CONFIG_BPF_SYSCALL", "");
	caps_add_result(caps, "bpf", "ring buffer",
			caps_try_map(BPF_MAP_TYPE_RINGBUF, 0, 0, sysconf(_SC_PAGESIZE)),
			"Linux 5.8", "");
}

static int caps_try_stats(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/*
 * Adds the capability to read kernel memory, by the kernel's lockdown state. Trials do not show
 * this limit: a kernel in confidentiality lockdown loads empty programs all the same.
 */
static void caps_add_kernel_memory(struct cap_vec *caps)
{
	if (!host_is_confidential(NULL)) {
		cap_add(caps, "bpf", "kernel memory", CAP_YES, NULL, "programs may read it");
		return;
	}
	cap_add(caps, "bpf", "kernel memory", CAP_NO, LOCKDOWN_TAKES, LOCKDOWN_READS);
	cap_without(caps, "even with all hooks, packets are measured only up to the stage "
		    "`socket`, and connections only by inet_diag");
}

/*
 * Adds each type of BPF program as a capability, tried by loading an empty program for one target.
 * The functions and the tracepoint chosen exist for tests or fire rarely.
 */
static void caps_add_kinds(struct cap_vec *caps)
{
	static const struct {
		const char *name, *takes;
		struct hook hook;
	} rows[] = {
		{ "tp_btf", "Linux 5.5 with BTF",
		  { .kind = HOOK_TP_BTF, .target = "task_rename" } },
		{ "fentry", TAKES_TRACING,
		  { .kind = HOOK_FENTRY, .target = "bpf_fentry_test1" } },
		{ "fexit", TAKES_TRACING,
		  { .kind = HOOK_FEXIT, .target = "bpf_fentry_test1" } },
		{ "netfilter", "Linux 6.4 with CONFIG_NETFILTER_BPF_LINK",
		  { .kind = HOOK_NETFILTER, .target = "LOCAL_IN" } },
		{ "cgroup_skb", "a kernel with CONFIG_CGROUP_BPF",
		  { .kind = HOOK_CGROUP_INGRESS, .target = HOOK_CGROUP_TARGET } },
	};
	char why[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int err = hook_try(&rows[i].hook, why, sizeof(why));

		caps_add_result(caps, "bpf", rows[i].name, err, rows[i].takes,
				err ? why : rows[i].hook.target);
	}
}

/*
 * Adds the BPF helper bpf_loop(), which all packet programs need, as a capability. Returns 1 if the
 * kernel has it, 0 if not, a negative value if that is unknown.
 */
static int caps_add_loops(struct cap_vec *caps)
{
	int has = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_loop, NULL);

	/* without privileges, libbpf reports every helper as present */
	if (!conns_hooks_permitted())
		has = -EPERM;
	caps_add_result(caps, "bpf", "bpf_loop()", has > 0 ? 0 : has < 0 ? has : -ENOTSUP,
			TAKES_LOOPS, "");
	return has;
}

struct caps_trial {
	int err;
	char why[160];
};

/* Returns true if another hook can measure the same stage. */
static bool caps_has_alternative(const struct pkt_hook *h, const struct caps_trial *trials)
{
	for (size_t i = 0; pkt_hooks[i].at.target; i++)
		if (h->stage != STAGE_NONE && pkt_hooks[i].stage == h->stage &&
		    pkt_hooks[i].protocol == h->protocol && !trials[i].err)
			return true;
	return false;
}

static void caps_add_hook(struct cap_vec *caps, const struct pkt_hook *h,
			  const struct caps_trial *trials, bool usable)
{
	const struct caps_trial *trial = &trials[h - pkt_hooks];
	char name[64], found[160];

	if (h->stage == STAGE_NONE)
		snprintf(name, sizeof(name), "%s", h->at.target);
	else if (h->protocol == PROTO_ANY)
		snprintf(name, sizeof(name), "%s", stage_name(h->stage));
	else
		snprintf(name, sizeof(name), "%s %s", stage_name(h->stage),
			 protocol_name(h->protocol));
	snprintf(found, sizeof(found), "%s %s%s%s", hook_kind_name(h->at.kind), h->at.target,
		 h->at.also ? " and " : "", h->at.also ? h->at.also : "");
	if (!trial->err && !usable) {
		cap_add(caps, "hook", name, CAP_NO, TAKES_LOOPS, "%s, without bpf_loop()", found);
		return;
	}
	caps_add_result(caps, "hook", name, trial->err,
			caps_has_alternative(h, trials) || h->without ? NULL :
			"a kernel with one of this stage's hooks",
			trial->err ? trial->why : found);
	if (trial->err && h->without)
		cap_without(caps, h->without);
}

static void caps_add_hooks(struct cap_vec *caps, bool usable)
{
	struct caps_trial trials[HOOKS_MAX];
	size_t n;

	for (n = 0; pkt_hooks[n].at.target; n++) {
		BUG_ON(n >= HOOKS_MAX);
		trials[n].err = hook_try(&pkt_hooks[n].at, trials[n].why, sizeof(trials[n].why));
	}
	for (size_t i = 0; i < n; i++)
		caps_add_hook(caps, &pkt_hooks[i], trials, usable);
}

static int caps_print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

void probe_caps_collect(struct cap_vec *caps)
{
	libbpf_print_fn_t before = libbpf_set_print(caps_print_nothing);
	int err, has_loops;

	caps_add_btf(caps);
	caps_add_maps(caps);
	err = caps_try_stats();
	caps_add_result(caps, "bpf", "run-time statistics", err,
			err == -EPERM ? "CAP_SYS_ADMIN" : "Linux 5.8", "");
	has_loops = caps_add_loops(caps);
	caps_add_kernel_memory(caps);
	caps_add_kinds(caps);
	caps_add_hooks(caps, has_loops);
	conns_caps(caps);
	timekeeping_caps(caps);
	libbpf_set_print(before);
}
