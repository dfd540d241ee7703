/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/common/hook.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/cap.h"
#include "host/cgroup.h"
#include "probe/common/netfilter.h"

#define TRIED_MAX 128

static const struct {
	const char *name;
	enum bpf_prog_type type;
	uint32_t attach, flags;
} kinds[] = {
	[HOOK_TP_BTF] = { "tp_btf", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, 0 },
	[HOOK_FENTRY] = { "fentry", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, 0 },
	[HOOK_FEXIT] = { "fexit", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, 0 },
	[HOOK_ITERATOR] = { "iter", BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, 0 },
	[HOOK_RUN] = { "syscall", BPF_PROG_TYPE_SYSCALL, 0, BPF_F_SLEEPABLE },
	[HOOK_SOCKOPS] = { "sockops", BPF_PROG_TYPE_SOCK_OPS, BPF_CGROUP_SOCK_OPS, 0 },
	[HOOK_NETFILTER] = { "netfilter", NETFILTER_PROG_TYPE, NETFILTER_ATTACH_TYPE, 0 },
	[HOOK_CGROUP_INGRESS] = { "cgroup_skb", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS,
				  0 },
};

const char *hook_kind_name(enum hook_kind kind)
{
	return kinds[kind].name;
}

const struct btf *hook_kernel_btf(void)
{
	static const struct btf *kernel;

	if (!kernel) {
		/* silences libbpf: the callers report errors */
		libbpf_print_fn_t before = libbpf_set_print(NULL);

		kernel = btf__load_vmlinux_btf();
		libbpf_set_print(before);
	}
	return kernel;
}

bool hook_none(char *why, size_t size)
{
	int fd;

	if (!host_may(NULL, CAP_SYS_ADMIN) &&
	    !(host_may(NULL, CAP_BPF) && host_may(NULL, CAP_PERFMON))) {
		snprintf(why, size, "hostlat needs CAP_BPF and CAP_PERFMON");
		return true;
	}
	if (!hook_kernel_btf()) {
		snprintf(why, size, "this kernel has no type information (BTF, "
			 "/sys/kernel/btf/vmlinux), which BPF programs need: use a kernel with "
			 "CONFIG_DEBUG_INFO_BTF");
		return true;
	}
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hostlat_try", sizeof(uint32_t), sizeof(uint64_t),
			    1, NULL);
	if (fd < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS)) {
		snprintf(why, size, "this process may not call bpf(2) (%s): its container's or "
			 "service's system call filter (seccomp) or a security policy forbids "
			 "the call, or the process is root in a user namespace only",
			 strerror(errno));
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

/* Replaces libbpf_find_vmlinux_btf_id(), which reads the BTF anew each time. */
int hook_btf_id(enum hook_kind kind, const char *target)
{
	const struct btf *btf = hook_kernel_btf();
	char name[160];

	if (!btf)
		return -errno;
	if (kind == HOOK_ITERATOR) {
		snprintf(name, sizeof(name), "bpf_iter_%s", target);
		return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
	}
	if (kind != HOOK_TP_BTF)
		return btf__find_by_name_kind(btf, target, BTF_KIND_FUNC);
	snprintf(name, sizeof(name), "btf_trace_%s", target);
	return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
}

const struct btf_type *hook_prototype(int btf_id)
{
	const struct btf *btf = hook_kernel_btf();
	const struct btf_type *t = btf_id > 0 ? btf__type_by_id(btf, btf_id) : NULL;

	while (t && !btf_is_func_proto(t)) /* resolves typedef, pointer, function */
		t = t->type ? btf__type_by_id(btf, t->type) : NULL;
	return t;
}

/* Loads "return 0" as a program of that kind. Returns its descriptor or -errno. */
static int hook_load_empty(enum hook_kind kind, int btf_id)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		.expected_attach_type = kinds[kind].attach,
		.attach_btf_id = btf_id,
		.prog_flags = kinds[kind].flags);

	return bpf_prog_load(kinds[kind].type, "hostlat_try", "Dual BSD/GPL", code,
			     sizeof(code) / sizeof(code[0]), &opts);
}

/*
 * Result of a trial, i.e. of loading an empty program for a target. It is kept until the process
 * ends, as hooks share targets and some hooks are tried again.
 */
struct hook_trial {
	enum hook_kind kind;
	char target[HOOK_TARGET_MAX + 1];
	int id, err;
	uint32_t arguments; /* HOOK_TP_BTF: number of the tracepoint's arguments */
};

/*
 * Returns -errno if hooks of this kind need cgroup2 and it is not mounted: their programs can then
 * be loaded, but not attached.
 */
static int hook_lacks_cgroup2(enum hook_kind kind)
{
	int fd;

	if (kind != HOOK_SOCKOPS && kind != HOOK_CGROUP_INGRESS)
		return 0;
	fd = host_cgroup2_open();
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* Returns the number of a tracepoint's arguments, without its context, the first parameter. */
static uint32_t hook_count_arguments(int id)
{
	const struct btf_type *t = hook_prototype(id);

	return t && btf_vlen(t) ? btf_vlen(t) - 1 : 0;
}

static const struct hook_trial *hook_try_place(enum hook_kind kind, const char *target)
{
	static struct hook_trial tried[TRIED_MAX];
	static size_t n;
	struct hook_trial *t;
	int fd;

	for (size_t i = 0; i < n; i++)
		if (tried[i].kind == kind && !strcmp(tried[i].target, target))
			return &tried[i];
	t = &tried[n < TRIED_MAX ? n++ : TRIED_MAX - 1];
	*t = (struct hook_trial){ .kind = kind };
	snprintf(t->target, sizeof(t->target), "%s", target);
	if (kinds[kind].type == BPF_PROG_TYPE_TRACING)
		t->id = hook_btf_id(kind, target);
	if (t->id < 0)
		return t;
	if (kind == HOOK_TP_BTF)
		t->arguments = hook_count_arguments(t->id);
	t->err = hook_lacks_cgroup2(kind);
	if (t->err)
		return t;
	fd = hook_load_empty(kind, t->id);
	if (fd >= 0)
		close(fd);
	else
		t->err = fd;
	return t;
}

static int hook_try_one(enum hook_kind kind, const char *target, char *why, size_t size)
{
	const struct hook_trial *t = hook_try_place(kind, target);

	if (t->id < 0) {
		snprintf(why, size, t->id == -ENOENT || t->id == -ESRCH ?
			 "this kernel has no %s %s" : "no BTF to look up %s %s",
			 kind == HOOK_TP_BTF ? "tracepoint" :
			 kind == HOOK_ITERATOR ? "iterator" : "function", target);
		return t->id;
	}
	if (t->err == -ENOENT)
		snprintf(why, size, "%s %s: cgroup2 is not mounted", kinds[kind].name, target);
	else if (t->err)
		snprintf(why, size, "%s %s: refused by this kernel (%s)", kinds[kind].name, target,
			 strerror(-t->err));
	return t->err;
}

int hook_try(const struct hook *hook, char *why, size_t size)
{
	int err;

	why[0] = '\0';
	err = hook_try_one(hook->kind, hook->target, why, size);
	if (!err && hook->also)
		err = hook_try_one(hook->kind, hook->also, why, size);
	return err;
}

int hook_select_program(struct bpf_program *program, enum hook_kind kind, const char *target)
{
	bpf_program__set_autoload(program, true);
	if (kind == HOOK_NETFILTER) {
		bpf_program__set_type(program, kinds[kind].type);
		bpf_program__set_expected_attach_type(program, kinds[kind].attach);
	}
	if (!target || (kind != HOOK_TP_BTF && kind != HOOK_FENTRY && kind != HOOK_FEXIT))
		return 0;
	return bpf_program__set_attach_target(program, 0, target);
}

uint32_t hook_arguments(const struct hook *hook)
{
	return hook_try_place(hook->kind, hook->target)->arguments;
}
