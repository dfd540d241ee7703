/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Counts packets that no stage covers, by IP protocol: packets for this host that are neither TCP
 * nor UDP, and forwarded packets. Netfilter hooks see both: LOCAL_IN, which local TCP and UDP
 * packets pass anyway, and FORWARD, which they never pass.
 */
#ifndef HOSTLAT_BPF_UNCOVERED_H
#define HOSTLAT_BPF_UNCOVERED_H

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"

/* Returns the protocol after IPv6's extension headers; skb->data must be the IP header. */
static __noinline int protocol_of(struct sk_buff *skb)
{
	struct ip6_upper u = {};
	const unsigned char *ip;
	__u8 b[10];

	if (!skb)
		return 0;
	ip = skb->data;
	if (bpf_probe_read_kernel(b, sizeof(b), ip))
		return 0;
	if (b[0] >> 4 != 6)
		return b[9];
	return ip6_upper(ip, b[6], &u) ? u.protocol : b[6];
}

/*
 * Returns true if the filters select the packet's interface and network namespace: for the
 * self-test, netfilter hooks are attached in hostlat's own namespace even if it is not selected.
 */
static __always_inline bool uncovered_selected(struct bpf_nf_ctx *ctx)
{
	return (!filter_netns || ctx->state->net->ns.inum == filter_netns) &&
	       iface_selected(ctx->skb->dev);
}

static __always_inline void uncovered_local(struct bpf_nf_ctx *ctx)
{
	__u32 protocol = protocol_of(ctx->skb);
	struct cpu_state *c = this_cpu();

	if (c && protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && uncovered_selected(ctx))
		c->uncovered.local[protocol & 0xff]++;
}

static __always_inline void uncovered_forwarded(struct bpf_nf_ctx *ctx)
{
	__u32 protocol = protocol_of(ctx->skb);
	struct cpu_state *c = this_cpu();

	if (c && uncovered_selected(ctx))
		c->uncovered.forwarded[protocol & 0xff]++;
}

#endif
