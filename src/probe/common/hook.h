/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which hooks for BPF programs the running kernel accepts.
 *
 * A trial loads an empty program of the same kind for the hook. It does not attach the program:
 * detaching an fentry program waits for a grace period of all tasks, which can take a second.
 * Kernel versions and configurations are not consulted.
 */
#ifndef HOSTLAT_PROBE_HOOK_H
#define HOSTLAT_PROBE_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program;
struct btf;
struct btf_type;

enum hook_kind {
	HOOK_TP_BTF,
	HOOK_FENTRY,
	HOOK_FEXIT,
	HOOK_NETFILTER,      /* BPF_PROG_TYPE_NETFILTER, a link in each network namespace */
	HOOK_ITERATOR,       /* BPF iterator; target: the kind of objects */
	HOOK_RUN,            /* run by user space (BPF_PROG_RUN), at no function or tracepoint */
	HOOK_SOCKOPS,        /* sockops of the root of cgroup2, at no function or tracepoint */
	HOOK_CGROUP_INGRESS, /* cgroup_skb on the root of cgroup2 */
};

/* Text shown as the target of each HOOK_CGROUP_INGRESS, which has no function or tracepoint. */
#define HOOK_CGROUP_TARGET "ingress of the root cgroup, after the socket lookup"

#define HOOK_TARGET_MAX 128 /* largest length of a target */

/* Returns the kind's name: "tp_btf", "fentry", ... Static. */
const char *hook_kind_name(enum hook_kind kind);

/* A hook for a BPF program. It may need two targets at once: `also` is the second, or NULL. */
struct hook {
	enum hook_kind kind;
	const char *target; /* tracepoint, function or netfilter hook */
	const char *also;   /* second target, of the same kind; NULL: none */
};

/*
 * Tries a hook on this kernel. Returns 0 if the hook can be used, or -errno with the reason in
 * words in `why`: -ENOENT (no such tracepoint or function), -EPERM (refused) or others.
 */
int hook_try(const struct hook *hook, char *why, size_t size);

/*
 * Selects a program of an object for loading. `target` replaces the tracepoint or function of its
 * SEC(), unless it is NULL; other kinds of hooks stay where SEC() says. Returns 0 or -errno.
 */
int hook_select_program(struct bpf_program *program, enum hook_kind kind, const char *target);

/* Returns how many arguments a tracepoint passes to its program; 0 if this kernel lacks it. */
uint32_t hook_arguments(const struct hook *hook);

/* Returns the BTF id of a function or of a tracepoint's type in the kernel, or -errno. */
int hook_btf_id(enum hook_kind kind, const char *target);

/* Returns the prototype of a BTF id; NULL if it has none, or if `btf_id` is a -errno. */
const struct btf_type *hook_prototype(int btf_id);

/*
 * Returns the running kernel's BTF, or NULL if the kernel has none or memory is short. Reading it
 * takes 10 ms, and a start needs it some twenty times: it is cached until the process ends. Not to
 * be freed.
 */
const struct btf *hook_kernel_btf(void);

/* Returns true if this process can use no hook, with the reason and the remedy in `why`. */
bool hook_none(char *why, size_t size);

#endif
