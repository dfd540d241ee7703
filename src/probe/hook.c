/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/hook.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "event/layout.h"
#include "host/cap.h"
#include "host/cgroup.h"
#include "probe/netfilter.h"
#include "probe/watch_config.h"

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

#define BY_TP(stage, protocol, target, program) \
	{ stage, protocol, HOOK_TP_BTF, target, NULL, program, NULL, 0, NULL, false }
/* What a timer wakes is not woken for a packet. */
#define WAKING_STAGES (1U << STAGE_RUNNABLE | 1U << STAGE_RUNNING)
#define HELPER(target, program, helps, without) \
	{ STAGE_NONE, PROTO_ANY, HOOK_TP_BTF, target, NULL, program, NULL, helps, without, false }
/* Not every machine has it. */
#define SLIGHT(target, program, helps, without) \
	{ STAGE_NONE, PROTO_ANY, HOOK_TP_BTF, target, NULL, program, NULL, helps, without, true }

const struct hook hooks[] = {
	/* Attached before what remembers sockets and tasks. */
	HELPER("tcp_destroy_sock", "destroy_tp", INGRESS_STAGES | EGRESS_STAGES,
	       "what is remembered of a socket stays until another one takes its place"),
	HELPER("inet_sock_set_state", "connect_tp", INGRESS_STAGES,
	       "the first packets of a connection on a socket that is used again may be lost"),
	HELPER("sched_process_free", "task_end_tp", INGRESS_STAGES,
	       "what is remembered of a thread stays when it ends"),
	BY_TP(STAGE_LINK, PROTO_ANY, "netif_receive_skb", "link_tp"),
	{ STAGE_IP, PROTO_ANY, HOOK_FENTRY, "ip_rcv_core", "ip6_rcv_core", "ip_fentry",
	  "ip6_fentry", 0, NULL, false },
	{ STAGE_IP, PROTO_ANY, HOOK_NETFILTER, "PRE_ROUTING", NULL, "ip_nf", NULL, 0, NULL, false },
	/* TCP's and UDP's may be one program. On a cgroup it comes after the socket's lookup. */
	{ STAGE_TRANSPORT, PROTO_TCP, HOOK_NETFILTER, "LOCAL_IN", NULL,
	  "transport_nf", NULL, 0, NULL, false },
	{ STAGE_TRANSPORT, PROTO_TCP, HOOK_FENTRY, "tcp_v4_rcv", "tcp_v6_rcv",
	  "tcp_transport_fentry", "tcp_transport6_fentry", 0, NULL, false },
	{ STAGE_TRANSPORT, PROTO_TCP, HOOK_CGROUP_INGRESS, "ingress of the root cgroup", NULL,
	  "transport_cgroup", NULL, 0, NULL, false },
	{ STAGE_TRANSPORT, PROTO_UDP, HOOK_NETFILTER, "LOCAL_IN", NULL,
	  "transport_nf", NULL, 0, NULL, false },
	{ STAGE_TRANSPORT, PROTO_UDP, HOOK_CGROUP_INGRESS, "ingress of the root cgroup", NULL,
	  "transport_cgroup", NULL, 0, NULL, false },
	{ STAGE_TRANSPORT, PROTO_UDP, HOOK_FENTRY, "udp_rcv", "udpv6_rcv", "udp_transport_fentry",
	  "udp_transport6_fentry", 0, NULL, false },
	/* What passes through; what is for this host, UDP's hook sees. */
	{ STAGE_NONE, PROTO_ANY, HOOK_NETFILTER, "FORWARD", NULL, "forwarded_nf", NULL,
	  INGRESS_STAGES, NULL, false },
	BY_TP(STAGE_SOCKET, PROTO_TCP, "tcp_probe", "tcp_socket_tp"),
	{ STAGE_SOCKET, PROTO_TCP, HOOK_FENTRY, "tcp_rcv_established", NULL, "tcp_socket_fentry",
	  NULL, 0, NULL, false },
	BY_TP(STAGE_ENQUEUED, PROTO_ANY, "sk_data_ready", "enqueued_tp"),
	{ STAGE_ENQUEUED, PROTO_ANY, HOOK_FENTRY, "sock_def_readable", NULL, "enqueued_fentry",
	  NULL, 0, NULL, false },
	SLIGHT("local_timer_entry", "timer_tp", WAKING_STAGES,
	       "a reader that a timer woke may count as woken by a packet"),
	BY_TP(STAGE_RUNNABLE, PROTO_ANY, "sched_waking", "waking_tp"),
	BY_TP(STAGE_RUNNING, PROTO_ANY, "sched_switch", "switch_tp"),
	{ STAGE_READ, PROTO_TCP, HOOK_TP_BTF, "tcp_rcv_space_adjust", "sock_recv_length",
	  "tcp_copied_tp", "returned_tp", 0, NULL, false },
	{ STAGE_READ, PROTO_TCP, HOOK_FEXIT, "tcp_recvmsg", NULL,
	  "tcp_returned_fexit", NULL, 0, NULL, false },
	BY_TP(STAGE_READ, PROTO_UDP, "sock_recv_length", "returned_tp"),
	{ STAGE_READ, PROTO_UDP, HOOK_FENTRY, "skb_consume_udp", NULL, "udp_returned_fentry",
	  NULL, 0, NULL, false },
	HELPER("kfree_skb", "drop_tp", INGRESS_STAGES,
	       "received packets that are dropped are not counted"),
	/* What TCP sends is timed by its departure; the call before that needs a hook. */
	{ STAGE_SEGMENT, PROTO_TCP, HOOK_TP_BTF, "tcp_sendmsg_locked", "sock_send_length",
	  "send_tp", "send_end_tp", 0, NULL, false },
	{ STAGE_SEGMENT, PROTO_TCP, HOOK_FENTRY, "tcp_sendmsg_locked", "tcp_sendmsg_locked",
	  "send_fentry", "send_end_fexit", 0, NULL, false },
	/* UDP's calls are the origin of all its stages: without one of these there are none. */
	{ STAGE_NONE, PROTO_UDP, HOOK_FENTRY, "udp_sendmsg", "udp_sendmsg", "udp_send_fentry",
	  "udp_send_end_fexit", EGRESS_STAGES, NULL, false },
	{ STAGE_NONE, PROTO_UDP, HOOK_FENTRY, "udpv6_sendmsg", "udpv6_sendmsg", "udp6_send_fentry",
	  "udp6_send_end_fexit", EGRESS_STAGES, NULL, false },
	{ STAGE_SEGMENT, PROTO_UDP, HOOK_FENTRY, "ip_send_skb", "ip6_send_skb",
	  "udp_segment_fentry", "udp6_segment_fentry", 0, NULL, false },
	BY_TP(STAGE_QDISC, PROTO_TCP, "net_dev_queue", "qdisc_tp"),
	BY_TP(STAGE_DRIVER, PROTO_TCP, "net_dev_start_xmit", "driver_tp"),
	BY_TP(STAGE_SENT, PROTO_TCP, "consume_skb", "sent_tp"),
	HELPER("netif_rx", "handed_tp", 1U << STAGE_SENT,
	       "what a virtual device hands on counts as sent"),
	HELPER("napi_gro_receive_entry", "handed_gro_tp", 1U << STAGE_SENT,
	       "what a virtual device hands on counts as sent"),
	BY_TP(STAGE_ACKED, PROTO_TCP, "tcp_probe", "acked_tp"),
	HELPER("inet_sock_set_state", "closing_tp", 1U << STAGE_ACKED | 1U << STAGE_SEGMENT,
	       "packets of a socket that is used again may be matched to the calls before"),
	HELPER("tcp_destroy_sock", "unacked_tp", 1U << STAGE_ACKED | 1U << STAGE_SEGMENT,
	       "what a closed connection left unacknowledged is not counted"),
	HELPER("kfree_skb", "unsent_tp", EGRESS_STAGES & ~(1U << STAGE_ACKED),
	       "sent packets that are dropped are not counted"),
	/* Before the stack. */
	{ STAGE_IRQ, PROTO_ANY, HOOK_TP_BTF, "irq_handler_entry", "irq_handler_exit", "irq_tp",
	  "irq_end_tp", 0, NULL, false },
	HELPER("softirq_raise", "raise_tp", ARRIVAL_STAGES, NULL),
	{ STAGE_POLL, PROTO_ANY, HOOK_TP_BTF, "softirq_entry", "softirq_exit", "softirq_tp",
	  "softirq_end_tp", 0, NULL, false },
	HELPER("napi_poll", "polled_tp", 1U << STAGE_POLL, NULL),
	{ STAGE_NONE, PROTO_ANY, HOOK_TP_BTF, "napi_gro_receive_entry", "napi_gro_receive_exit",
	  "gro_tp", "gro_end_tp", GRO_STAGES, NULL, false },
	{ STAGE_NONE, PROTO_ANY, HOOK_TP_BTF, "napi_gro_frags_entry", "napi_gro_frags_exit",
	  "gro_frags_tp", "gro_frags_end_tp", GRO_STAGES, NULL, false },
	HELPER("netif_rx", "backlog_tp", GRO_STAGES, NULL),
	HELPER("netif_receive_skb", "gro_linked_tp", GRO_STAGES, NULL),
	HELPER("kfree_skb", "gro_dropped_tp", GRO_STAGES, NULL),
	{ 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL, false },
};

const char *hook_kind_name(enum hook_kind kind)
{
	return kinds[kind].name;
}

const struct btf *hook_kernel_btf(void)
{
	static const struct btf *kernel;

	if (!kernel) {
		libbpf_print_fn_t before = libbpf_set_print(NULL); /* it is said by who asks */

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
		snprintf(why, size, "it takes CAP_BPF and CAP_PERFMON");
		return true;
	}
	if (!hook_kernel_btf()) {
		snprintf(why, size, "this kernel tells nothing of its types (BTF, "
			 "/sys/kernel/btf/vmlinux), by which programs find what they read: it "
			 "takes one with CONFIG_DEBUG_INFO_BTF");
		return true;
	}
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hostlat_try", sizeof(uint32_t), sizeof(uint64_t),
			    1, NULL);
	if (fd < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS)) {
		snprintf(why, size, "bpf(2) is refused to this process (%s): by a filter of system "
			 "calls (seccomp) of its container or service, by a security policy, or "
			 "because it is root in a user namespace only", strerror(errno));
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

/* As libbpf_find_vmlinux_btf_id(), which reads the BTF anew each time. */
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

/* "return 0" of that kind, loaded; its descriptor or -errno. */
static int load_empty(enum hook_kind kind, int btf_id)
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

/* Hooks that were tried, in this process: several hooks share a place, and some are tried again. */
struct tried {
	enum hook_kind kind;
	char target[WATCH_PROBE_MAX + 1];
	int id, err;
};

/* These load without it, and then can be attached nowhere. */
static int lacks_cgroup2(enum hook_kind kind)
{
	int fd;

	if (kind != HOOK_SOCKOPS && kind != HOOK_CGROUP_INGRESS)
		return 0;
	fd = host_cgroup2_open();
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static const struct tried *try_place(enum hook_kind kind, const char *target)
{
	static struct tried tried[HOOKS_MAX];
	static size_t n;
	struct tried *t;
	int fd;

	for (size_t i = 0; i < n; i++)
		if (tried[i].kind == kind && !strcmp(tried[i].target, target))
			return &tried[i];
	t = &tried[n < HOOKS_MAX ? n++ : HOOKS_MAX - 1];
	*t = (struct tried){ .kind = kind };
	snprintf(t->target, sizeof(t->target), "%s", target);
	if (kinds[kind].type == BPF_PROG_TYPE_TRACING)
		t->id = hook_btf_id(kind, target);
	if (t->id < 0)
		return t;
	t->err = lacks_cgroup2(kind);
	if (t->err)
		return t;
	fd = load_empty(kind, t->id);
	if (fd >= 0)
		close(fd);
	else
		t->err = fd;
	return t;
}

static int try_one(enum hook_kind kind, const char *target, char *why, size_t size)
{
	const struct tried *t = try_place(kind, target);

	if (t->id < 0) {
		snprintf(why, size, t->id == -ENOENT || t->id == -ESRCH ?
			 "this kernel has no %s %s" : "no BTF to find %s %s in",
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
	err = try_one(hook->kind, hook->target, why, size);
	if (!err && hook->also)
		err = try_one(hook->kind, hook->also, why, size);
	return err;
}
