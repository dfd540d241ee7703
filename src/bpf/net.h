/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Names of the network that the programs need, and what a packet's header says. */
#ifndef HOSTLAT_BPF_NET_H
#define HOSTLAT_BPF_NET_H

#include "bpf/kernel/types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_MPTCP 262
#define AF_INET 2
#define AF_INET6 10

#define SOCK_STREAM 1
#define SOCK_DGRAM 2

/* A raw socket of that protocol has the same sk_protocol, and gets copies of the same packets. */
static __always_inline bool is_udp_socket(const struct sock *sk)
{
	return sk->sk_type == SOCK_DGRAM && (sk->__sk_common.skc_family == AF_INET ||
					     sk->__sk_common.skc_family == AF_INET6);
}

/* At a netfilter hook, where skb->data is the IP header; of IPv6 the next header. */
static __always_inline __u32 ip_protocol(const struct sk_buff *skb)
{
	__u8 b[10];

	if (bpf_probe_read_kernel(b, sizeof(b), skb->data))
		return IPPROTO_TCP; /* that is not looked at */
	return b[0] >> 4 == 6 ? b[6] : b[9];
}

#endif
