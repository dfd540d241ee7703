/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Programs of `watch` and `record`; headers hold their bodies.
 *
 * Each program does one of three things: it stores a time (link, ip, transport); it records earlier
 * stages once the packet is known to be payload for a socket of the filter (socket, enqueued); or
 * it records stages of the reader (runnable, running, read). Several programs may serve one hook;
 * the loader takes the first that the kernel accepts.
 */
#include "bpf/arrival.bpf.h"
#include "bpf/drop.bpf.h"
#include "bpf/egress.bpf.h"
#include "bpf/egress_socket.bpf.h"
#include "bpf/egress_udp.bpf.h"
#include "bpf/function.bpf.h"
#include "bpf/kernel/types.h"
#include "bpf/net.bpf.h"
#include "bpf/request_conn.bpf.h"
#include "bpf/rx.bpf.h"
#include "bpf/sampled.bpf.h"
#include "bpf/tasks.bpf.h"
#include "bpf/tcp_rx.bpf.h"
#include "bpf/uncovered.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- before the stack ---- */

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_tp)
{
	return arrival_irq_begins();
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_end_tp)
{
	return arrival_irq_ends();
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(raise_tp, unsigned int vec)
{
	return arrival_raised(vec);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_tp, unsigned int vec)
{
	return arrival_run_begins(vec);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_end_tp, unsigned int vec)
{
	return arrival_run_ends(vec);
}

SEC("tp_btf/napi_poll")
int BPF_PROG(polled_tp, struct napi_struct *napi, int work, int budget)
{
	return arrival_polled(napi, work, budget);
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(gro_tp, struct sk_buff *skb)
{
	return arrival_gro_begins(skb);
}

SEC("tp_btf/napi_gro_receive_exit")
int BPF_PROG(gro_end_tp, int result)
{
	return arrival_gro_ends(result);
}

SEC("tp_btf/napi_gro_frags_entry")
int BPF_PROG(gro_frags_tp, struct sk_buff *skb)
{
	return arrival_gro_begins(skb);
}

SEC("tp_btf/napi_gro_frags_exit")
int BPF_PROG(gro_frags_end_tp, int result)
{
	return arrival_gro_ends(result);
}

SEC("tp_btf/netif_rx")
int BPF_PROG(backlog_tp, struct sk_buff *skb)
{
	return arrival_given(skb);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(gro_linked_tp, struct sk_buff *skb)
{
	return arrival_linked(skb);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(gro_dropped_tp, struct sk_buff *skb)
{
	return arrival_dropped(skb);
}

/* ---- the transmit side ---- */

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(send_tp, struct sock *sk)
{
	return tx_call(sk);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(send_end_tp, struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_TCP ? tx_call_ends(sk) : 0;
}

SEC("fentry/tcp_sendmsg_locked")
int BPF_PROG(send_fentry, struct sock *sk)
{
	return tx_call(sk);
}

SEC("fexit/tcp_sendmsg_locked")
int BPF_PROG(send_end_fexit, struct sock *sk)
{
	return tx_call_ends(sk);
}

SEC("fentry/udp_sendmsg")
int BPF_PROG(udp_send_fentry, struct sock *sk)
{
	return udp_is_outer(sk) ? udp_call_begins(sk) : 0;
}

SEC("fexit/udp_sendmsg")
int BPF_PROG(udp_send_end_fexit, struct sock *sk)
{
	return udp_is_outer(sk) ? udp_call_ends(sk) : 0;
}

SEC("fentry/udpv6_sendmsg")
int BPF_PROG(udp6_send_fentry, struct sock *sk)
{
	return udp_call_begins(sk);
}

SEC("fexit/udpv6_sendmsg")
int BPF_PROG(udp6_send_end_fexit, struct sock *sk)
{
	return udp_call_ends(sk);
}

SEC("fentry/ip_send_skb")
int BPF_PROG(udp_segment_fentry, struct net *net, struct sk_buff *skb)
{
	return udp_segment(skb);
}

SEC("fentry/ip6_send_skb")
int BPF_PROG(udp6_segment_fentry, struct sk_buff *skb)
{
	return udp_segment(skb);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(qdisc_tp, struct sk_buff *skb)
{
	return tx_queued(skb);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(driver_tp, struct sk_buff *skb)
{
	return tx_given(skb);
}

SEC("tp_btf/consume_skb")
int BPF_PROG(sent_tp, struct sk_buff *skb)
{
	return tx_freed(skb);
}

SEC("tp_btf/netif_rx")
int BPF_PROG(handed_tp, struct sk_buff *skb)
{
	return tx_received(skb);
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(handed_gro_tp, struct sk_buff *skb)
{
	return tx_received(skb);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(acked_tp, struct sock *sk, struct sk_buff *skb)
{
	return tx_acked(sk, skb);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(closing_tp, struct sock *sk, int from, int to)
{
	return sk->sk_protocol == IPPROTO_TCP ? tx_state_changes(sk, to) : 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(unacked_tp, struct sock *sk)
{
	return tx_destroyed(sk);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(unsent_tp, struct sk_buff *skb, void *where, unsigned int reason)
{
	return tx_dropped(skb, reason);
}

/* ---- the receive side ---- */

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(link_tp, struct sk_buff *skb)
{
	return rx_link(skb);
}

SEC("netfilter/prerouting")
int ip_nf(struct bpf_nf_ctx *ctx)
{
	rx_ip(ctx->skb);
	return NF_ACCEPT;
}

SEC("fentry/ip_rcv_core")
int BPF_PROG(ip_fentry, struct sk_buff *skb)
{
	rx_ip(skb);
	return 0;
}

SEC("fentry/ip6_rcv_core")
int BPF_PROG(ip6_fentry, struct sk_buff *skb)
{
	rx_ip(skb);
	return 0;
}

SEC("netfilter/local_in")
int transport_nf(struct bpf_nf_ctx *ctx)
{
	return rx_local_in(ctx);
}

SEC("netfilter/forward")
int forwarded_nf(struct bpf_nf_ctx *ctx)
{
	uncovered_forwarded(ctx);
	return NF_ACCEPT;
}

SEC("cgroup_skb/ingress")
int transport_cgroup(struct __sk_buff *skb)
{
	return rx_cgroup_ingress(skb);
}

SEC("fentry/udp_rcv")
int BPF_PROG(udp_transport_fentry, struct sk_buff *skb)
{
	return rx_udp_transport(skb);
}

SEC("fentry/udpv6_rcv")
int BPF_PROG(udp_transport6_fentry, struct sk_buff *skb)
{
	return rx_udp_transport(skb);
}

SEC("fentry/tcp_v4_rcv")
int BPF_PROG(tcp_transport_fentry, struct sk_buff *skb)
{
	return tcp_enters(skb);
}

SEC("fentry/tcp_v6_rcv")
int BPF_PROG(tcp_transport6_fentry, struct sk_buff *skb)
{
	return tcp_enters(skb);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_socket_tp, struct sock *sk, struct sk_buff *skb)
{
	return rx_tcp_socket(sk, skb);
}

SEC("fentry/tcp_rcv_established")
int BPF_PROG(tcp_socket_fentry, struct sock *sk, struct sk_buff *skb)
{
	return rx_tcp_socket(sk, skb);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(enqueued_tp, struct sock *sk)
{
	return rx_enqueued(sk);
}

SEC("fentry/sock_def_readable")
int BPF_PROG(enqueued_fentry, struct sock *sk)
{
	return rx_enqueued(sk);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking_tp, struct task_struct *task)
{
	return rx_wake(task);
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(timer_tp, int vector)
{
	return rx_timer();
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_tp, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return rx_switch(preempt, prev, next, prev_state);
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(tcp_copied_tp, struct sock *sk)
{
	return rx_tcp_copied(sk);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(returned_tp, struct sock *sk, int ret, int flags)
{
	return rx_returned(sk, ret, flags);
}

SEC("fexit/tcp_recvmsg")
int BPF_PROG(tcp_returned_fexit, struct sock *sk)
{
	if (requests)
		rx_requests_returned(ctx, sk);
	return tcp_returned(sk, -1);
}

SEC("fentry/skb_consume_udp")
int BPF_PROG(udp_returned_fentry, struct sock *sk, struct sk_buff *skb, int len)
{
	return len < 0 ? 0 : rx_udp_returned(sk, true); /* a peek has a negative `len` */
}

SEC("tp_btf/netif_receive_skb")
int function_tp(__u64 *ctx)
{
	return function_with(ctx);
}

SEC("fentry/ip_rcv_core")
int function_fentry(__u64 *ctx)
{
	return function_with(ctx);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(drop_tp, struct sk_buff *skb, void *where, unsigned int reason, struct sock *sk)
{
	return drop_count(skb, reason, sk);
}

/* Before 6.11 the tracepoint does not pass the socket. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(drop_old_tp, struct sk_buff *skb, void *where, unsigned int reason)
{
	return drop_count(skb, reason, NULL);
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(destroy_tp, struct sock *sk)
{
	return rx_destroyed(sk);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(connect_tp, struct sock *sk, int from, int to)
{
	return rx_state_changes(sk, from, to);
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(task_end_tp, struct task_struct *task)
{
	task_end(task);
	return 0;
}

/* ---- --sample: in place of the programs with the same name without "_sampled" ---- */

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_socket_tp_sampled, struct sock *sk, struct sk_buff *skb)
{
	return sampled_tcp_socket(sk, skb);
}

SEC("fentry/tcp_rcv_established")
int BPF_PROG(tcp_socket_fentry_sampled, struct sock *sk, struct sk_buff *skb)
{
	return sampled_tcp_socket(sk, skb);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(enqueued_tp_sampled, struct sock *sk)
{
	return sampled_enqueued(sk);
}

SEC("fentry/sock_def_readable")
int BPF_PROG(enqueued_fentry_sampled, struct sock *sk)
{
	return sampled_enqueued(sk);
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(tcp_copied_tp_sampled, struct sock *sk)
{
	return sampled_copied_none(sk) ? 0 : rx_tcp_copied(sk);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(qdisc_tp_sampled, struct sk_buff *skb)
{
	return sampled_qdisc(skb);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(driver_tp_sampled, struct sk_buff *skb)
{
	return sampled_driver(skb);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(link_tp_sampled, struct sk_buff *skb)
{
	return sampled_link(skb);
}
