/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Names of the network that the programs need, and what a packet's header says. */
#ifndef HOSTLAT_BPF_NET_H
#define HOSTLAT_BPF_NET_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel/types.h"

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

/* An extension header, or what else comes: of ip6_step(). */
#define STEP_NEXT(step) ((step) & 0xff)         /* the type of what is behind it */
#define STEP_SIZE(step) ((step) >> 8 & 0xffff)  /* bytes */
#define STEP_LATER 0x01000000                   /* the packet is a later fragment */
#define STEP_ENDED 0x02000000                   /* this is none */
#define STEP_BROKEN 0x04000000                  /* it cannot be read */

/*
 * One header of that type at that address of the kernel. A global function, which is verified once:
 * inlined into a loop, it takes the verifier half a second.
 */
__noinline __u32 ip6_step(__u64 at, __u32 header)
{
	__u32 size;
	__u8 b[4];

	if (header != NEXT_HOP && header != NEXT_ROUTING && header != NEXT_FRAGMENT &&
	    header != NEXT_AUTHENTICATION && header != NEXT_OPTIONS)
		return STEP_ENDED;
	if (bpf_probe_read_kernel(b, sizeof(b), (const void *)at))
		return STEP_BROKEN;
	if (header == NEXT_FRAGMENT)
		return b[0] | 8 << 8 | ((b[2] | (b[3] & 0xf8)) ? STEP_LATER : 0);
	size = header == NEXT_AUTHENTICATION ? (b[1] + 2) * 4 : (b[1] + 1) * 8;
	return b[0] | size << 8;
}

/* What IPv6's extension headers end in; `offset` is counted from the IP header. */
struct ip6_upper {
	__u32 protocol, offset;
	bool later; /* the packet is a later fragment: that header is in another packet */
};

/* As a number, which a global function takes: what a helper has written is one for the verifier. */
static __always_inline __u64 address_of(const void *pointer)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &pointer);
	return address;
}

/*
 * Walks behind IPv6's extension headers, the first of which is `next`. False: there are too many,
 * or a header cannot be read.
 */
static __always_inline bool ip6_upper(const unsigned char *ip, __u32 next, struct ip6_upper *u)
{
	__u32 at = IPV6_HEADER, seen = 0, step = 0;
	__u64 begin;
	int i;

	if (next == IPPROTO_TCP || next == IPPROTO_UDP) { /* as most have none */
		*u = (struct ip6_upper){ .protocol = next, .offset = at };
		return true;
	}
	begin = address_of(ip);
	for (i = 0; i <= IPV6_HEADERS_MAX; i++) {
		step = ip6_step(begin + at, next);
		if (step & (STEP_ENDED | STEP_BROKEN))
			break;
		seen |= step;
		at += STEP_SIZE(step);
		next = STEP_NEXT(step);
	}
	u->later = seen & STEP_LATER;
	u->protocol = next;
	u->offset = at;
	return step & STEP_ENDED;
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
