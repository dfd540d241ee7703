/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks that can measure each stage, best first, and whether this kernel takes them.
 *
 * A kernel is asked by trying: an empty program of the same kind is loaded for the hook. It is not
 * attached: taking an fentry program off again waits for a grace period of all tasks, which can
 * take a second. Neither versions nor configurations are consulted.
 */
#ifndef HOSTLAT_PROBE_HOOK_H
#define HOSTLAT_PROBE_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

enum hook_kind {
	HOOK_TP_BTF,
	HOOK_FENTRY,
	HOOK_FEXIT,
	HOOK_NETFILTER,      /* BPF_PROG_TYPE_NETFILTER, a link in each network namespace */
	HOOK_ITERATOR,       /* target: what it goes over */
	HOOK_RUN,            /* a program that user space runs; no target is looked up */
	HOOK_SOCKOPS,        /* of the root of cgroup2; no target is looked up */
	HOOK_CGROUP_INGRESS, /* cgroup_skb on the root of cgroup2 */
};

#define HOOKS_MAX 80 /* of hooks[], at the most */

/* "tp_btf", "fentry", ... Static. */
const char *hook_kind_name(enum hook_kind kind);

/*
 * One way to measure a stage of a protocol. A stage may need two hooks at once (UDP over IPv4 and
 * IPv6): `also` names the second of the same kind.
 */
struct hook {
	uint8_t stage;    /* enum stage; STAGE_NONE: helps others, those of `helps` */
	uint8_t protocol; /* enum transport; PROTO_ANY: both */
	enum hook_kind kind;
	const char *target; /* tracepoint, function, or netfilter hook */
	const char *also;
	const char *program; /* in src/bpf/watch.bpf.c; also_program for `also` */
	const char *also_program;
	uint32_t helps; /* 1 << enum stage */
	const char *without; /* of one that helps: what it costs to do without; or NULL */
	bool slight;         /* a result without this hook is whole all the same */
};

/* Per (stage, protocol) in order of preference; ends with a NULL target. */
extern const struct hook hooks[];

/*
 * Tries a hook on this kernel. Returns 0 if it can be used, or -errno with the reason in words in
 * `why`: -ENOENT (this kernel has no such tracepoint or function), -EPERM (refused), ...
 */
int hook_try(const struct hook *hook, char *why, size_t size);

/* Number of a function or tracepoint type in the kernel's BTF, or -errno. */
int hook_btf_id(enum hook_kind kind, const char *target);

/*
 * The running kernel's BTF, or NULL: it has none, or there is no memory. Kept for the life of the
 * process: to read it takes 10 ms, and a start asks it some twenty times. Never freed by a caller.
 */
const struct btf *hook_kernel_btf(void);

/* True: this process can have no hook at all; `why` says so in words, and what it takes. */
bool hook_none(char *why, size_t size);

#endif
