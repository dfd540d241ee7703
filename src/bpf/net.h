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

#define IPV6_HEADER 40
#define IPV6_HEADERS_MAX 8 /* that are looked behind */
#define NEXT_HOP 0
#define NEXT_ROUTING 43
#define NEXT_FRAGMENT 44
#define NEXT_AUTHENTICATION 51
#define NEXT_OPTIONS 60

static __always_inline bool is_extension(__u32 header)
{
	return header == NEXT_HOP || header == NEXT_ROUTING || header == NEXT_FRAGMENT ||
	       header == NEXT_AUTHENTICATION || header == NEXT_OPTIONS;
}

static __always_inline __u32 extension_size(__u32 header, __u32 length)
{
	if (header == NEXT_FRAGMENT)
		return 8;
	return header == NEXT_AUTHENTICATION ? (length + 2) * 4 : (length + 1) * 8;
}

/* What IPv6's extension headers end in; `offset` is counted from the IP header. */
struct ip6_upper {
	__u32 protocol, offset;
	bool later; /* the packet is a later fragment: that header is in another packet */
};

/*
 * Walks behind IPv6's extension headers, the first of which is `next`. False: there are too many,
 * or a header cannot be read.
 */
static __always_inline bool ip6_upper(const unsigned char *ip, __u32 next, struct ip6_upper *u)
{
	__u32 at = IPV6_HEADER;
	__u8 b[4];
	int i;

	u->later = false;
	for (i = 0; i < IPV6_HEADERS_MAX && is_extension(next); i++) {
		if (bpf_probe_read_kernel(b, sizeof(b), ip + at))
			return false;
		if (next == NEXT_FRAGMENT && (b[2] | (b[3] & 0xf8)))
			u->later = true;
		at += extension_size(next, b[1]);
		next = b[0];
	}
	u->protocol = next;
	u->offset = at;
	return !is_extension(next);
}

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
