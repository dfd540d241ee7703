/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/hooks.h"

#include "event/layout.h"
#include "probe/common/netfilter.h"

/*
 * Stages of a reader's wakeup. The hook of timers serves them, too: it tells wakeups by packets
 * from wakeups by timers.
 */
#define WAKING_STAGES (1U << STAGE_RUNNABLE | 1U << STAGE_RUNNING)
/* Conditions that need read hooks: reads show a packet's reader and a socket's queue length. */
#define NEED_READS (WAKING_STAGES | 1U << STAGE_READ | NEED_MIN_QUEUE)

#define STAGE(name) .stage = STAGE_##name
#define TCP .protocol = PROTO_TCP
#define UDP .protocol = PROTO_UDP
#define TRACEPOINT(name) .at.kind = HOOK_TP_BTF, .at.target = name
#define FENTRY(name) .at.kind = HOOK_FENTRY, .at.target = name
#define NETFILTER(name) \
	.at.kind = HOOK_NETFILTER, .at.target = #name, .netfilter = NETFILTER_##name
#define CGROUP .at.kind = HOOK_CGROUP_INGRESS, .at.target = HOOK_CGROUP_TARGET

/*
 * A stage needs the stages before it: `read` finds a packet's times in the record that `enqueued`
 * wrote, and so on down to `link`. Sent packets are recorded at `qdisc`. Optional are only `ip`,
 * TCP's `transport`, the scheduler's stages and the last stage of each direction.
 */
const struct pkt_hook pkt_hooks[] = {
	/* Hooks that end the records of sockets, connections and threads. */
	{ TRACEPOINT("tcp_destroy_sock"), .program = "destroy_tp", .role = ROLE_SOCKET_END,
	  .helps = INGRESS_STAGES | EGRESS_STAGES,
	  .without = "hostlat's records of closed sockets stay in memory until others "
		     "replace them" },
	{ TRACEPOINT("inet_sock_set_state"), .program = "connect_tp", .role = ROLE_CONNECT,
	  .helps = INGRESS_STAGES,
	  .without = "if a socket is reused for another connection, the first packets of that "
		     "connection may not be measured" },
	{ TRACEPOINT("sched_process_free"), .program = "task_end_tp", .role = ROLE_TASK_END,
	  .helps = INGRESS_STAGES, .needs = NEED_READS, .proof = PROOF_NONE,
	  .without = "hostlat's records of ended threads stay in memory" },
	{ STAGE(LINK), TRACEPOINT("netif_receive_skb"), .program = "link_tp",
	  .needs = INGRESS_STAGES, .cost = COST_ARRIVAL },
	{ STAGE(IP), FENTRY("ip_rcv_core"), .program = "ip_fentry", .at.also = "ip6_rcv_core",
	  .with = "ip6_fentry", .needs = 1U << STAGE_IP, .cost = COST_ARRIVAL },
	{ STAGE(IP), NETFILTER(PRE_ROUTING), .program = "ip_nf", .needs = 1U << STAGE_IP,
	  .cost = COST_ARRIVAL },
	/*
	 * TCP and UDP share the programs of netfilter hooks and of the cgroup hook. The latter runs
	 * after the socket lookup, the other hooks of this stage before it.
	 */
	{ STAGE(TRANSPORT), TCP, NETFILTER(LOCAL_IN), .program = "transport_nf",
	  .needs = 1U << STAGE_TRANSPORT, .cost = COST_ARRIVAL },
	{ STAGE(TRANSPORT), TCP, FENTRY("tcp_v4_rcv"), .program = "tcp_transport_fentry",
	  .at.also = "tcp_v6_rcv", .with = "tcp_transport6_fentry",
	  .needs = 1U << STAGE_TRANSPORT, .cost = COST_ARRIVAL },
	{ STAGE(TRANSPORT), TCP, CGROUP, .program = "transport_cgroup",
	  .needs = 1U << STAGE_TRANSPORT, .cost = COST_ARRIVAL },
	/*
	 * All stages of received packets need UDP's `transport` hook: it shows for which datagram
	 * the kernel calls sk_data_ready() next.
	 */
	{ STAGE(TRANSPORT), UDP, NETFILTER(LOCAL_IN), .program = "transport_nf",
	  .needs = INGRESS_STAGES, .cost = COST_ARRIVAL },
	{ STAGE(TRANSPORT), UDP, CGROUP, .program = "transport_cgroup", .needs = INGRESS_STAGES,
	  .cost = COST_ARRIVAL },
	{ STAGE(TRANSPORT), UDP, FENTRY("udp_rcv"), .program = "udp_transport_fentry",
	  .at.also = "udpv6_rcv", .with = "udp_transport6_fentry", .needs = INGRESS_STAGES,
	  .cost = COST_ARRIVAL },
	/*
	 * Counts forwarded packets of any protocol. UDP's netfilter hook (LOCAL_IN) counts packets
	 * for this host that are neither TCP nor UDP.
	 */
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
	/* Some kernels lack local_timer_entry: a result without it still counts as complete. */
	{ TRACEPOINT("local_timer_entry"), .program = "timer_tp", .helps = WAKING_STAGES,
	  .slight = true,
	  .without = "a reader woken by a timer may count as woken by a packet" },
	{ STAGE(RUNNABLE), TRACEPOINT("sched_waking"), .program = "waking_tp",
	  .needs = WAKING_STAGES },
	{ STAGE(RUNNING), TRACEPOINT("sched_switch"), .program = "switch_tp",
	  .needs = WAKING_STAGES },
	{ STAGE(READ), TCP, TRACEPOINT("tcp_rcv_space_adjust"), .program = "tcp_copied_tp",
	  .at.also = "sock_recv_length", .with = "returned_tp", .needs = NEED_READS,
	  .cost = COST_TCP },
	{ STAGE(READ), TCP, .at.kind = HOOK_FEXIT, .at.target = "tcp_recvmsg",
	  .program = "tcp_returned_fexit", .with = "tcp_copied_tp", .needs = NEED_READS,
	  .cost = COST_TCP },
	{ STAGE(READ), UDP, TRACEPOINT("sock_recv_length"), .program = "returned_tp",
	  .needs = NEED_READS, .cost = COST_TCP },
	{ STAGE(READ), UDP, FENTRY("skb_consume_udp"), .program = "udp_returned_fentry",
	  .needs = NEED_READS, .cost = COST_TCP },
	/* Since Linux 6.11, kfree_skb also passes the socket: `older` is for earlier kernels. */
	{ TRACEPOINT("kfree_skb"), .program = "drop_tp", .older = "drop_old_tp", .arguments = 4,
	  .helps = INGRESS_STAGES, .role = ROLE_RECEIVED_DROPS,
	  .without = "received packets that are dropped are not counted" },
	/*
	 * TCP's `segment`: its time is the departure time in each packet, read at the hook of
	 * `qdisc`. These hooks show the send calls, and identify the socket's process.
	 */
	{ STAGE(SEGMENT), TCP, TRACEPOINT("tcp_sendmsg_locked"), .program = "send_tp",
	  .at.also = "sock_send_length", .with = "send_end_tp",
	  .needs = 1U << STAGE_SEGMENT | NEED_PID_SENDS, .cost = COST_DEPARTURE },
	{ STAGE(SEGMENT), TCP, FENTRY("tcp_sendmsg_locked"), .program = "send_fentry",
	  .at.also = "tcp_sendmsg_locked", .with = "send_end_fexit",
	  .needs = 1U << STAGE_SEGMENT | NEED_PID_SENDS, .cost = COST_DEPARTURE },
	/* UDP's transmit stages begin at the send call and need each hook with NEED_UDP_SENDS. */
	{ UDP, FENTRY("udp_sendmsg"), .program = "udp_send_fentry", .at.also = "udp_sendmsg",
	  .with = "udp_send_end_fexit", .helps = EGRESS_STAGES, .needs = NEED_UDP_SENDS,
	  .cost = COST_DEPARTURE },
	{ UDP, FENTRY("udpv6_sendmsg"), .program = "udp6_send_fentry", .at.also = "udpv6_sendmsg",
	  .with = "udp6_send_end_fexit", .helps = EGRESS_STAGES, .needs = NEED_UDP_SENDS,
	  .proof = PROOF_IPV6, .cost = COST_DEPARTURE },
	{ STAGE(SEGMENT), UDP, FENTRY("ip_send_skb"), .program = "udp_segment_fentry",
	  .at.also = "ip6_send_skb", .with = "udp6_segment_fentry", .needs = NEED_UDP_SENDS,
	  .cost = COST_DEPARTURE },
	{ STAGE(QDISC), TCP, TRACEPOINT("net_dev_queue"), .program = "qdisc_tp",
	  .needs = EGRESS_STAGES, .cost = COST_DEPARTURE },
	{ STAGE(DRIVER), TCP, TRACEPOINT("net_dev_start_xmit"), .program = "driver_tp",
	  .needs = 1U << STAGE_DRIVER | 1U << STAGE_SENT, .cost = COST_DEPARTURE },
	{ STAGE(SENT), TCP, TRACEPOINT("consume_skb"), .program = "sent_tp",
	  .needs = 1U << STAGE_SENT, .cost = COST_DEPARTURE },
	{ TRACEPOINT("netif_rx"), .program = "handed_tp", .helps = 1U << STAGE_SENT,
	  .cost = COST_DEPARTURE,
	  .without = "packets that a virtual device passes on count as sent" },
	{ TRACEPOINT("napi_gro_receive_entry"), .program = "handed_gro_tp",
	  .helps = 1U << STAGE_SENT, .proof = PROOF_NONE, .cost = COST_DEPARTURE,
	  .without = "packets that a virtual device passes on count as sent" },
	{ STAGE(ACKED), TCP, TRACEPOINT("tcp_probe"), .program = "acked_tp",
	  .needs = 1U << STAGE_ACKED, .cost = COST_DEPARTURE },
	{ TRACEPOINT("inet_sock_set_state"), .program = "closing_tp",
	  .helps = 1U << STAGE_ACKED | 1U << STAGE_SEGMENT, .cost = COST_DEPARTURE,
	  .without = "packets of a reused socket may be matched with earlier send calls" },
	{ TRACEPOINT("tcp_destroy_sock"), .program = "unacked_tp",
	  .helps = 1U << STAGE_ACKED | 1U << STAGE_SEGMENT, .cost = COST_DEPARTURE,
	  .without = "unacknowledged data of closed connections is not counted" },
	{ TRACEPOINT("kfree_skb"), .program = "unsent_tp", .role = ROLE_SENT_DROPS,
	  .helps = SENDING_STAGES, .cost = COST_DEPARTURE,
	  .without = "sent packets that are dropped are not counted" },
	/* Stages before the network stack. `poll` starts where `irq` ends. */
	{ STAGE(IRQ), TRACEPOINT("irq_handler_entry"), .program = "irq_tp",
	  .at.also = "irq_handler_exit", .with = "irq_end_tp", .needs = ARRIVAL_STAGES,
	  .proof = PROOF_NONE },
	{ TRACEPOINT("softirq_raise"), .program = "raise_tp", .helps = ARRIVAL_STAGES },
	{ STAGE(POLL), TRACEPOINT("softirq_entry"), .program = "softirq_tp",
	  .at.also = "softirq_exit", .with = "softirq_end_tp", .needs = 1U << STAGE_POLL },
	{ TRACEPOINT("napi_poll"), .program = "polled_tp", .helps = 1U << STAGE_POLL },
	{ TRACEPOINT("napi_gro_receive_entry"), .program = "gro_tp",
	  .at.also = "napi_gro_receive_exit", .with = "gro_end_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO, .proof = PROOF_NONE },
	{ TRACEPOINT("napi_gro_frags_entry"), .program = "gro_frags_tp",
	  .at.also = "napi_gro_frags_exit", .with = "gro_frags_end_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO, .proof = PROOF_NONE },
	{ TRACEPOINT("netif_rx"), .program = "backlog_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO },
	{ TRACEPOINT("netif_receive_skb"), .program = "gro_linked_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO },
	{ TRACEPOINT("kfree_skb"), .program = "gro_dropped_tp", .helps = GRO_STAGES,
	  .needs = NEED_GRO },
	{ .at.target = NULL },
};

const char *pkt_hook_program(const struct pkt_hook *hook)
{
	return hook->older && hook_arguments(&hook->at) < hook->arguments ? hook->older
									  : hook->program;
}
