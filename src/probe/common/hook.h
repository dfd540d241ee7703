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
struct btf_type;

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

/* Target of every HOOK_CGROUP_INGRESS; no target is looked up. */
#define HOOK_CGROUP_TARGET "ingress of the root cgroup, after the socket lookup"

#define HOOKS_MAX 80 /* of hooks[], at the most */

/* "tp_btf", "fentry", ... Static. */
const char *hook_kind_name(enum hook_kind kind);

/* Conditions in a hook's `needs`, above the bits of stages. */
#define NEED_MIN_QUEUE (1U << 27) /* --min-queue is given */
#define NEED_PID_SENDS (1U << 28) /* --pid is given, and a transmit stage is measured */
#define NEED_GRO (1U << 29)       /* both `poll` and `link` are measured */
#define NEED_OTHERS (1U << 30)    /* packets that no stage covers are counted */
#define NEED_UDP_SENDS (1U << 31) /* UDP's transmit side is measured; it takes all such hooks */

/* The role of a hook that measures no stage, where others ask whether it is bound. */
enum hook_role {
	ROLE_NONE,
	ROLE_SOCKET_END,     /* the programs learn that a socket goes */
	ROLE_CONNECT,        /* the programs learn that a socket begins a connection */
	ROLE_TASK_END,       /* the programs learn that a thread ends */
	ROLE_RECEIVED_DROPS, /* drops of received packets are counted */
	ROLE_SENT_DROPS,     /* drops of sent packets are counted */
};

/* Which traffic of the self-test makes a hook fire. */
enum hook_proof {
	PROOF_ANY,
	PROOF_IPV6,
	PROOF_NONE, /* no self-test traffic reaches it: it fires later, or only for a card's or
		     * other hosts' packets */
};

/* Which events of a host make a hook's programs run, and so cost: see cost.c. */
enum cost_class {
	COST_TASKS,   /* the scheduler's hooks and the timer's, by context switch */
	COST_ARRIVAL, /* the hooks that see each packet of the host, by packet */
	COST_DEPARTURE, /* the transmit side's, which see others' packets, too, by run of those */
	COST_PASSED,  /* hooks of no other class, by packet that the filter leaves out */
	COST_TCP,     /* hooks of no other class, by packet that is measured */
	COST_UDP,
	COST_ARRIVAL_PASSED,   /* ARRIVAL, by packet that sampling leaves out */
	COST_DEPARTURE_PASSED, /* DEPARTURE, by packet that sampling leaves out */
	COST_CLASSES,
};

/*
 * One way to measure a stage of a protocol. A stage may need two hooks at once (UDP over IPv4 and
 * IPv6): `also` names the second of the same kind. Members that a row leaves out are 0.
 */
struct hook {
	uint8_t stage;    /* enum stage; STAGE_NONE: helps others, those of `helps` */
	uint8_t protocol; /* enum transport; PROTO_ANY: both */
	enum hook_kind kind;
	const char *target; /* tracepoint, function, or netfilter hook */
	const char *also;
	uint8_t netfilter;   /* HOOK_NETFILTER: the kernel's number of the target */
	const char *program; /* in src/bpf/watch.bpf.c: for `target` */
	const char *with;    /* a second program: for `also`, or where its SEC() says */
	const char *older;   /* used if the tracepoint has fewer than `arguments` */
	uint8_t arguments;
	uint32_t helps; /* 1 << enum stage */
	uint32_t needs; /* stages and NEED_*: the hook is bound if one is asked for; 0: `helps` */
	const char *without; /* of one that helps: what it costs to do without; or NULL */
	bool slight;         /* a result without this hook is whole all the same */
	enum hook_role role;
	enum hook_proof proof;
	enum cost_class cost;
};

/* Per (stage, protocol) in order of preference; ends with a NULL target. */
extern const struct hook hooks[];

/*
 * Tries a hook on this kernel. Returns 0 if it can be used, or -errno with the reason in words in
 * `why`: -ENOENT (this kernel has no such tracepoint or function), -EPERM (refused), ...
 */
int hook_try(const struct hook *hook, char *why, size_t size);

/* Returns the name of the program that this kernel takes: `program`, or `older`. */
const char *hook_program(const struct hook *hook);

/* Number of a function or tracepoint type in the kernel's BTF, or -errno. */
int hook_btf_id(enum hook_kind kind, const char *target);

/* Returns the prototype of what has that number; NULL if there is none, or for -errno. */
const struct btf_type *hook_prototype(int btf_id);

/*
 * The running kernel's BTF, or NULL: it has none, or there is no memory. Kept for the life of the
 * process: to read it takes 10 ms, and a start asks it some twenty times. Never freed by a caller.
 */
const struct btf *hook_kernel_btf(void);

/* True: this process can have no hook at all; `why` says so in words, and what it takes. */
bool hook_none(char *why, size_t size);

#endif
