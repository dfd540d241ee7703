/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Network constants for the programs, and parsing of packet headers. */
#ifndef HOSTLAT_BPF_NET_H
#define HOSTLAT_BPF_NET_H

#include <linux/bpf.h>
#include <stdbool.h>

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
#define IPV6_HEADERS_MAX 8 /* maximum of extension headers that are skipped */
#define NEXT_HOP 0
#define NEXT_ROUTING 43
#define NEXT_FRAGMENT 44
#define NEXT_AUTHENTICATION 51
#define NEXT_OPTIONS 60

/* Result of ip6_step(): an extension header's next type and size, or why parsing ends. */
#define STEP_NEXT(step) ((step) & 0xff)         /* type of the next header */
#define STEP_SIZE(step) ((step) >> 8 & 0xffff)  /* bytes of the extension header */
#define STEP_LATER 0x01000000                   /* the packet is a later fragment */
#define STEP_ENDED 0x02000000                   /* not an extension header: parsing ends */
#define STEP_BROKEN 0x04000000                  /* the header could not be read */

/*
 * Parses an IPv6 extension header of type `header` at a kernel address; returns STEP_*. Global, so
 * that the function is verified once: inlined into a loop, it takes the verifier half a second.
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

/* The header after IPv6's extension headers; `offset` counts from the IP header. */
struct ip6_upper {
	__u32 protocol, offset;
	bool later; /* the packet is a later fragment: the header is in the first fragment */
};

/*
 * Converts a pointer to a number, which a global function accepts: memory written by a helper is a
 * number to the verifier.
 */
static __always_inline __u64 address_of(const void *pointer)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &pointer);
	return address;
}

/*
 * Skips IPv6's extension headers, the first of which has type `next`. Returns false if there are
 * too many, or if a header cannot be read.
 */
static __always_inline bool ip6_upper(const unsigned char *ip, __u32 next, struct ip6_upper *u)
{
	__u32 at = IPV6_HEADER, seen = 0, step = 0;
	__u64 begin;
	int i;

	/* fast path: most packets have no extension headers */
	if (next == IPPROTO_TCP || next == IPPROTO_UDP) {
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

/* Returns false for a raw socket with UDP's protocol number, which gets copies of packets. */
static __always_inline bool is_udp_socket(const struct sock *sk)
{
	return sk->sk_type == SOCK_DGRAM && (sk->__sk_common.skc_family == AF_INET ||
					     sk->__sk_common.skc_family == AF_INET6);
}

/*
 * Returns the protocol at a netfilter hook, where skb->data is the IP header; for IPv6 the type of
 * the first next header.
 */
static __always_inline __u32 ip_protocol(const struct sk_buff *skb)
{
	__u8 b[10];

	if (bpf_probe_read_kernel(b, sizeof(b), skb->data))
		return IPPROTO_TCP; /* unreadable header: treat the packet as TCP's */
	return b[0] >> 4 == 6 ? b[6] : b[9];
}

#endif
