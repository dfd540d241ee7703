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

#include "event/layout.h"
#include "host/cap.h"
#include "host/cgroup.h"
#include "probe/common/netfilter.h"
#include "probe/packet/pkt_config.h"

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

/* What a timer wakes is not woken for a packet. */
#define WAKING_STAGES (1U << STAGE_RUNNABLE | 1U << STAGE_RUNNING)
/* Only by reads is a packet's reader known, and how many packets wait. */
#define NEED_READS (WAKING_STAGES | 1U << STAGE_READ | NEED_MIN_QUEUE)

#define STAGE(name) .stage = STAGE_##name
#define TCP .protocol = PROTO_TCP
#define UDP .protocol = PROTO_UDP
#define TRACEPOINT(name) .kind = HOOK_TP_BTF, .target = name
#define FENTRY(name) .kind = HOOK_FENTRY, .target = name
#define NETFILTER(name) \
	.kind = HOOK_NETFILTER, .target = #name, .netfilter = NETFILTER_##name
#define CGROUP .kind = HOOK_CGROUP_INGRESS, .target = HOOK_CGROUP_TARGET

/*
 * A stage needs those before it: `read` finds a packet's times in what `enqueued` left, and so on
 * down to `link`; what is sent is remembered at `qdisc`. Only ip, TCP's transport, the scheduler
 * and the last stage of each direction can be left out.
 */
const struct hook hooks[] = {
	/* Attached before what remembers sockets and tasks. */
	{ TRACEPOINT("tcp_destroy_sock"), .program = "destroy_tp", .role = ROLE_SOCKET_END,
	  .helps = INGRESS_STAGES | EGRESS_STAGES,
	  .without = "what is remembered of a socket stays until another one takes its place" },
	{ TRACEPOINT("inet_sock_set_state"), .program = "connect_tp", .role = ROLE_CONNECT,
	  .helps = INGRESS_STAGES,
	  .without = "the first packets of a connection on a socket that is used again may be "
		     "lost" },
	{ TRACEPOINT("sched_process_free"), .program = "task_end_tp", .role = ROLE_TASK_END,
	  .helps = INGRESS_STAGES, .needs = NEED_READS, .proof = PROOF_NONE,
	  .without = "what is remembered of a thread stays when it ends" },
	{ STAGE(LINK), TRACEPOINT("netif_receive_skb"), .program = "link_tp",
	  .needs = INGRESS_STAGES, .cost = COST_ARRIVAL },
	{ STAGE(IP), FENTRY("ip_rcv_core"), .program = "ip_fentry", .also = "ip6_rcv_core",
	  .with = "ip6_fentry", .needs = 1U << STAGE_IP, .cost = COST_ARRIVAL },
	{ STAGE(IP), NETFILTER(PRE_ROUTING), .program = "ip_nf", .needs = 1U << STAGE_IP,
	  .cost = COST_ARRIVAL },
	/* TCP's and UDP's may be one program. On a cgroup it comes after the socket's lookup. */
	{ STAGE(TRANSPORT), TCP, NETFILTER(LOCAL_IN), .program = "transport_nf",
	  .needs = 1U << STAGE_TRANSPORT, .cost = COST_ARRIVAL },
	{ STAGE(TRANSPORT), TCP, FENTRY("tcp_v4_rcv"), .program = "tcp_transport_fentry",
	  .also = "tcp_v6_rcv", .with = "tcp_transport6_fentry",
	  .needs = 1U << STAGE_TRANSPORT, .cost = COST_ARRIVAL },
	{ STAGE(TRANSPORT), TCP, CGROUP, .program = "transport_cgroup",
	  .needs = 1U << STAGE_TRANSPORT, .cost = COST_ARRIVAL },
	/* UDP's says which datagram is announced next. */
	{ STAGE(TRANSPORT), UDP, NETFILTER(LOCAL_IN), .program = "transport_nf",
	  .needs = INGRESS_STAGES, .cost = COST_ARRIVAL },
	{ STAGE(TRANSPORT), UDP, CGROUP, .program = "transport_cgroup", .needs = INGRESS_STAGES,
	  .cost = COST_ARRIVAL },
	{ STAGE(TRANSPORT), UDP, FENTRY("udp_rcv"), .program = "udp_transport_fentry",
	  .also = "udpv6_rcv", .with = "udp_transport6_fentry", .needs = INGRESS_STAGES,
	  .cost = COST_ARRIVAL },
	/* What passes through; what is for this host, UDP's hook sees. */
	{ NETFILTER(FORWARD), .program = "forwarded_nf", .helps = INGRESS_STAGES,
	  .needs = NEED_OTHERS, .proof = PROOF_NONE },
	{ STAGE(SOCKET), TCP, TRACEPOINT("tcp_probe"), .program = "tcp_socket_tp",
	  .needs = INGRESS_STAGES, .cost = COST_TCP },
	{ STAGE(SOCKET), TCP, FENTRY("tcp_rcv_established"), .program = "tcp_socket_fentry",
	  .needs = INGRESS_STAGES, .cost = COST_TCP },
	{ STAGE(ENQUEUED), TRACEPOINT("sk_data_ready"), .program = "enqueued_tp",
	  .needs = INGRESS_STAGES, .cost = COST_TCP },
	{ STAGE(ENQUEUED), FENTRY("sock_def_readable"), .program = "enqueued_fentry",
	  .needs = INGRESS_STAGES, .cost = COST_TCP },
	/* Not every kernel has this tracepoint. */
	{ TRACEPOINT("local_timer_entry"), .program = "timer_tp", .helps = WAKING_STAGES,
	  .slight = true,
	  .without = "a reader that a timer woke may count as woken by a packet" },
	{ STAGE(RUNNABLE), TRACEPOINT("sched_waking"), .program = "waking_tp",
	  .needs = WAKING_STAGES },
	{ STAGE(RUNNING), TRACEPOINT("sched_switch"), .program = "switch_tp",
	  .needs = WAKING_STAGES },
	{ STAGE(READ), TCP, TRACEPOINT("tcp_rcv_space_adjust"), .program = "tcp_copied_tp",
	  .also = "sock_recv_length", .with = "returned_tp", .needs = NEED_READS,
	  .cost = COST_TCP },
	{ STAGE(READ), TCP, .kind = HOOK_FEXIT, .target = "tcp_recvmsg",
	  .program = "tcp_returned_fexit", .with = "tcp_copied_tp", .needs = NEED_READS,
	  .cost = COST_TCP },
	{ STAGE(READ), UDP, TRACEPOINT("sock_recv_length"), .program = "returned_tp",
	  .needs = NEED_READS, .cost = COST_TCP },
	{ STAGE(READ), UDP, FENTRY("skb_consume_udp"), .program = "udp_returned_fentry",
	  .needs = NEED_READS, .cost = COST_TCP },
	/* Since Linux 6.11 this tracepoint names the socket. */
	{ TRACEPOINT("kfree_skb"), .program = "drop_tp", .older = "drop_old_tp", .arguments = 4,
	  .helps = INGRESS_STAGES, .role = ROLE_RECEIVED_DROPS,
	  .without = "received packets that are dropped are not counted" },
	/*
	 * The departure hook times TCP's packets. The send call before it has a hook of its own,
	 * which also tells the process of a socket.
	 */
	{ STAGE(SEGMENT), TCP, TRACEPOINT("tcp_sendmsg_locked"), .program = "send_tp",
	  .also = "sock_send_length", .with = "send_end_tp",
	  .needs = 1U << STAGE_SEGMENT | NEED_PID_SENDS, .cost = COST_DEPARTURE },
	{ STAGE(SEGMENT), TCP, FENTRY("tcp_sendmsg_locked"), .program = "send_fentry",
	  .also = "tcp_sendmsg_locked", .with = "send_end_fexit",
	  .needs = 1U << STAGE_SEGMENT | NEED_PID_SENDS, .cost = COST_DEPARTURE },
	/* UDP's calls are the origin of all its stages: without one of these there are none. */
	{ UDP, FENTRY("udp_sendmsg"), .program = "udp_send_fentry", .also = "udp_sendmsg",
	  .with = "udp_send_end_fexit", .helps = EGRESS_STAGES, .needs = NEED_UDP_SENDS,
	  .cost = COST_DEPARTURE },
	{ UDP, FENTRY("udpv6_sendmsg"), .program = "udp6_send_fentry", .also = "udpv6_sendmsg",
	  .with = "udp6_send_end_fexit", .helps = EGRESS_STAGES, .needs = NEED_UDP_SENDS,
	  .proof = PROOF_IPV6, .cost = COST_DEPARTURE },
	{ STAGE(SEGMENT), UDP, FENTRY("ip_send_skb"), .program = "udp_segment_fentry",
	  .also = "ip6_send_skb", .with = "udp6_segment_fentry", .needs = NEED_UDP_SENDS,
	  .cost = COST_DEPARTURE },
	{ STAGE(QDISC), TCP, TRACEPOINT("net_dev_queue"), .program = "qdisc_tp",
	  .needs = EGRESS_STAGES, .cost = COST_DEPARTURE },
	{ STAGE(DRIVER), TCP, TRACEPOINT("net_dev_start_xmit"), .program = "driver_tp",
	  .needs = 1U << STAGE_DRIVER | 1U << STAGE_SENT, .cost = COST_DEPARTURE },
	{ STAGE(SENT), TCP, TRACEPOINT("consume_skb"), .program = "sent_tp",
	  .needs = 1U << STAGE_SENT, .cost = COST_DEPARTURE },
	{ TRACEPOINT("netif_rx"), .program = "handed_tp", .helps = 1U << STAGE_SENT,
	  .cost = COST_DEPARTURE, .without = "what a virtual device hands on counts as sent" },
	{ TRACEPOINT("napi_gro_receive_entry"), .program = "handed_gro_tp",
	  .helps = 1U << STAGE_SENT, .proof = PROOF_NONE, .cost = COST_DEPARTURE,
	  .without = "what a virtual device hands on counts as sent" },
	{ STAGE(ACKED), TCP, TRACEPOINT("tcp_probe"), .program = "acked_tp",
	  .needs = 1U << STAGE_ACKED, .cost = COST_DEPARTURE },
	{ TRACEPOINT("inet_sock_set_state"), .program = "closing_tp",
	  .helps = 1U << STAGE_ACKED | 1U << STAGE_SEGMENT, .cost = COST_DEPARTURE,
	  .without = "packets of a socket that is used again may be matched to the calls before" },
	{ TRACEPOINT("tcp_destroy_sock"), .program = "unacked_tp",
	  .helps = 1U << STAGE_ACKED | 1U << STAGE_SEGMENT, .cost = COST_DEPARTURE,
	  .without = "what a closed connection left unacknowledged is not counted" },
	{ TRACEPOINT("kfree_skb"), .program = "unsent_tp", .role = ROLE_SENT_DROPS,
	  .helps = EGRESS_STAGES & ~(1U << STAGE_ACKED), .cost = COST_DEPARTURE,
	  .without = "sent packets that are dropped are not counted" },
	/* Before the stack. Where `irq` is, `poll` begins. */
	{ STAGE(IRQ), TRACEPOINT("irq_handler_entry"), .program = "irq_tp",
	  .also = "irq_handler_exit", .with = "irq_end_tp", .needs = ARRIVAL_STAGES,
	  .proof = PROOF_NONE },
	{ TRACEPOINT("softirq_raise"), .program = "raise_tp", .helps = ARRIVAL_STAGES },
	{ STAGE(POLL), TRACEPOINT("softirq_entry"), .program = "softirq_tp",
	  .also = "softirq_exit", .with = "softirq_end_tp", .needs = 1U << STAGE_POLL },
	{ TRACEPOINT("napi_poll"), .program = "polled_tp", .helps = 1U << STAGE_POLL },
	{ TRACEPOINT("napi_gro_receive_entry"), .program = "gro_tp",
	  .also = "napi_gro_receive_exit", .with = "gro_end_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO, .proof = PROOF_NONE },
	{ TRACEPOINT("napi_gro_frags_entry"), .program = "gro_frags_tp",
	  .also = "napi_gro_frags_exit", .with = "gro_frags_end_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO, .proof = PROOF_NONE },
	{ TRACEPOINT("netif_rx"), .program = "backlog_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO },
	{ TRACEPOINT("netif_receive_skb"), .program = "gro_linked_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO },
	{ TRACEPOINT("kfree_skb"), .program = "gro_dropped_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO },
	{ 0 },
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

const struct btf_type *hook_prototype(int btf_id)
{
	const struct btf *btf = hook_kernel_btf();
	const struct btf_type *t = btf_id > 0 ? btf__type_by_id(btf, btf_id) : NULL;

	while (t && !btf_is_func_proto(t)) /* typedef, pointer or function */
		t = t->type ? btf__type_by_id(btf, t->type) : NULL;
	return t;
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
	char target[PKT_PROBE_MAX + 1];
	int id, err;
	uint32_t arguments; /* of a tracepoint */
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

/* The first parameter of a tracepoint's prototype is its own. */
static uint32_t count_arguments(int id)
{
	const struct btf_type *t = hook_prototype(id);

	return t && btf_vlen(t) ? btf_vlen(t) - 1 : 0;
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
	if (kind == HOOK_TP_BTF)
		t->arguments = count_arguments(t->id);
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

const char *hook_program(const struct hook *hook)
{
	return hook->older && try_place(hook->kind, hook->target)->arguments < hook->arguments ?
	       hook->older : hook->program;
}
