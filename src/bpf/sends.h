/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The programs of the transmit side. */
#ifndef HOSTLAT_BPF_SENDS_H
#define HOSTLAT_BPF_SENDS_H

#include "bpf/egress.h"

/* ---- the send call, and segment ---- */

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

/* ---- behind it ---- */

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
	return sk->sk_protocol == IPPROTO_TCP ? tx_changes(sk, to) : 0;
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

#endif
