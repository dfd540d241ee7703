/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks that can measure each stage of a packet, best first. */
#ifndef HOSTLAT_PROBE_HOOKS_H
#define HOSTLAT_PROBE_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "probe/common/hook.h"

#define WHY_MAX 192

enum hook_state { HOOK_UNTRIED, HOOK_BOUND, HOOK_FAILED, HOOK_NOT_NEEDED };

struct hook_status {
	enum hook_state state;
	char why[WHY_MAX]; /* HOOK_FAILED: the reason in words */
};

#define HOOKS_MAX 80 /* limit of rows in pkt_hooks[] */

/* Conditions in a hook's `needs`, above the bits of stages. */
#define NEED_MIN_QUEUE (1U << 27) /* --min-queue is given */
#define NEED_PID_SENDS (1U << 28) /* --pid is given, and a transmit stage is measured */
#define NEED_GRO (1U << 29)       /* both `poll` and `link` are measured */
#define NEED_OTHERS (1U << 30)    /* packets that no stage covers are counted */
#define NEED_UDP_SENDS (1U << 31) /* UDP's transmit side is measured: it needs all its hooks */

/* Role of a hook that measures no stage, for pkt_role_is_bound(). */
enum hook_role {
	ROLE_NONE,
	ROLE_SOCKET_END,     /* shows the programs that a socket is destroyed */
	ROLE_CONNECT,        /* shows the programs that a socket begins a connection */
	ROLE_TASK_END,       /* shows the programs that a thread ends */
	ROLE_RECEIVED_DROPS, /* counts drops of received packets */
	ROLE_SENT_DROPS,     /* counts drops of sent packets */
};

/* Traffic of the self-test that makes a hook fire. */
enum hook_proof {
	PROOF_ANY,
	PROOF_IPV6,
	PROOF_NONE, /* not tested: fires later, or for a network card's or other hosts' packets */
};

/* Events of the host from which cost.c estimates how often a hook's programs run. */
enum cost_class {
	COST_TASKS,   /* hooks of the scheduler and of timers, per context switch */
	COST_ARRIVAL, /* hooks that see each packet of the host, per packet */
	COST_DEPARTURE, /* transmit hooks, which see all sent packets, per run */
	COST_PASSED,  /* hooks from `socket` to `read`, per packet that the filter excludes */
	COST_TCP,     /* hooks of `socket`, `enqueued` and `read`, per measured packet of TCP */
	COST_UDP,     /* hooks of `socket`, `enqueued` and `read`, per measured packet of UDP */
	COST_ARRIVAL_PASSED,   /* hooks that see each packet of the host, per unsampled packet */
	COST_DEPARTURE_PASSED, /* transmit hooks, per run for an unsampled packet */
	COST_CLASSES,
};

/*
 * A hook that can measure a stage of a protocol. A stage may need two hooks at once (UDP over IPv4
 * and IPv6). Members that a row does not set are 0.
 */
struct pkt_hook {
	struct hook at;
	uint8_t stage;    /* enum stage; STAGE_NONE: the hook helps other stages (`helps`) */
	uint8_t protocol; /* enum transport; PROTO_ANY: both */
	uint8_t netfilter;   /* HOOK_NETFILTER: the kernel's number of the target */
	const char *program; /* program for `at.target`, in src/bpf/watch.bpf.c */
	/* second program: attached at `at.also`, or if that is NULL, where its SEC() says */
	const char *with;
	const char *older;   /* replaces `program` if the tracepoint has fewer than `arguments` */
	uint8_t arguments;
	uint32_t helps; /* stages that need this hook's help, as a mask of 1 << enum stage */
	uint32_t needs; /* mask of stages and NEED_*, any of which needs it; 0: stages in `helps` */
	const char *without; /* loss without a hook that helps stages, in words; or NULL */
	bool slight;         /* a result without this hook still counts as complete */
	enum hook_role role;
	enum hook_proof proof;
	enum cost_class cost;
};

/* Hooks by (stage, protocol), in order of preference; a NULL target ends the table. */
extern const struct pkt_hook pkt_hooks[];

/* Returns the name of the program that this kernel takes: `program`, or `older`. */
const char *pkt_hook_program(const struct pkt_hook *hook);

#endif
