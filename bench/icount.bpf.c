/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The control at its own hooks, which need fentry, and an empty program: the method's floor. */
#include "bench/control.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(empty_tp)
{
	return 0;
}

SEC("fentry/ip_rcv_core")
int BPF_PROG(control_ip, struct sk_buff *skb)
{
	control_packet(CONTROL_IP, skb);
	return 0;
}

SEC("fentry/tcp_v4_rcv")
int BPF_PROG(control_tcp, struct sk_buff *skb)
{
	control_packet(CONTROL_TRANSPORT, skb);
	return 0;
}

SEC("fexit/tcp_queue_rcv")
int BPF_PROG(control_queue, struct sock *sk, struct sk_buff *skb)
{
	control_socket(CONTROL_ENQUEUED, sk, skb);
	return 0;
}

SEC("fentry/tcp_recv_timestamp")
int BPF_PROG(control_copied, void *msg, struct sock *sk, struct scm_timestamping_internal *tss)
{
	control_read(sk, tss->ts[0].tv_sec * 1000000000ULL + tss->ts[0].tv_nsec);
	return 0;
}
