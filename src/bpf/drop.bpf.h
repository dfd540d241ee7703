/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Dropped packets of the receive side, by the stage they did not reach and the kernel's reason.
 *
 * Drops are rare, so the program may read headers: a packet dropped before its socket was found
 * still has ports, and only TCP and UDP payload counts.
 */
#ifndef HOSTLAT_BPF_DROP_H
#define HOSTLAT_BPF_DROP_H

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/tcp.bpf.h"

struct drop_headers {
	__u8 protocol;
	__u16 port;    /* destination port, host order */
	__u32 payload; /* payload bytes */
};

static __always_inline bool drop_read_v4(const unsigned char *ip, struct drop_headers *h,
					 __u32 *offset)
{
	__u8 b[20];

	if (bpf_probe_read_kernel(b, sizeof(b), ip) || b[0] >> 4 != 4)
		return false;
	*offset = (b[0] & 15) * 4;
	h->protocol = b[9];
	h->payload = (b[2] << 8 | b[3]) - *offset;
	/* a later fragment has no ports; the first fragment counts for the datagram */
	return !((b[6] & 0x1f) | b[7]);
}

static __noinline int drop_read_v6(const unsigned char *ip, struct drop_headers *h)
{
	struct ip6_upper u = {};
	__u8 b[8];

	if (!h || bpf_probe_read_kernel(b, sizeof(b), ip) || b[0] >> 4 != 6 ||
	    !ip6_upper(ip, b[6], &u) || u.later)
		return 0;
	h->protocol = u.protocol;
	h->payload = (b[4] << 8 | b[5]) + IPV6_HEADER - u.offset;
	return u.offset;
}

static __always_inline bool drop_read_headers(const struct sk_buff *skb, struct drop_headers *h)
{
	const unsigned char *ip = skb->head + skb->network_header;
	__u8 b[14] = {};
	__u32 offset = 0;

	if (!drop_read_v4(ip, h, &offset)) {
		offset = drop_read_v6(ip, h);
		if (!offset)
			return false;
	}
	if (h->protocol != IPPROTO_TCP && h->protocol != IPPROTO_UDP)
		return false;
	if (bpf_probe_read_kernel(b, sizeof(b), ip + offset))
		return false;
	h->port = b[2] << 8 | b[3];
	h->payload -= h->protocol == IPPROTO_TCP ? (b[12] >> 4) * 4 : 8;
	return true;
}

/* Returns the first stage the packet did not reach; TCP's `transport` only if transport_tcp. */
static __always_inline __u32 drop_slot(const struct link_entry *e, __u32 protocol)
{
	if (!e)
		return SLOT_LINK;
	if (link_served(e))
		return SLOT_ENQUEUED;
	if (protocol == IPPROTO_TCP)
		return e->p.transport || !transport_tcp ? SLOT_SOCKET : SLOT_TRANSPORT;
	return e->p.transport ? SLOT_ENQUEUED : SLOT_TRANSPORT;
}

static __always_inline __u32 drop_netns(const struct sk_buff *skb, const struct sock *sk)
{
	if (sk)
		return sk->__sk_common.skc_net.net->ns.inum;
	return skb->dev ? skb->dev->nd_net.net->ns.inum : 0;
}

/*
 * Returns true if the drop counts with --pid (the process has read from the socket) and --cgroup.
 * With these filters, packets without a known socket do not count.
 */
static __always_inline bool drop_counts(struct sock *sk, __u32 protocol)
{
	struct udp_socket *u;
	struct tcp_socket *t;

	if (!filter_tgid && !filter_cgroup)
		return true;
	if (!sk || !cgroup_selected(sk))
		return false;
	if (!filter_tgid)
		return true;
	if (protocol == IPPROTO_TCP) {
		t = tcp_state(sk, 0);
		return t && t->ours;
	}
	u = bpf_sk_storage_get(&udp_sockets, sk, NULL, 0);
	return u && u->ours;
}

/* --sample: returns true for a received segment that is not forwarded. */
static __always_inline bool drop_is_received(const struct sk_buff *skb)
{
	return skb->skb_iif && (!skb->dev || skb->dev->ifindex == skb->skb_iif);
}

static __always_inline int drop_count(struct sk_buff *skb, __u32 reason, struct sock *sk)
{
	struct cpu_state *c = this_cpu();
	struct drop_headers h = {};
	struct link_entry *e;
	__u32 slot;

	if (!c || reason == drop_not_yet || reason == drop_consumed)
		return 0;
	e = link_find((__u64)skb);
	if (sampling && e && !link_same(e, skb)) /* the entry is of an earlier packet */
		e = NULL;
	/* skip transmitted packets: not in the link table, or without a receiving interface */
	if (!e && reason != drop_cpu_backlog && !(sampling && drop_is_received(skb)))
		return 0;
	if (e && !skb->skb_iif)
		return 0;
	if (!drop_read_headers(skb, &h) || (h.protocol == IPPROTO_TCP && !h.payload))
		return 0;
	if (filter_port && h.port != filter_port)
		return 0;
	if (filter_netns && drop_netns(skb, sk) != filter_netns)
		return 0;
	if (filter_ifname[0] && (!e || !(e->p.s.flags & PKT_IFACE)))
		return 0;
	if (!drop_counts(sk, h.protocol))
		return 0;
	if (reason >= DROP_REASONS)
		reason = DROP_REASONS - 1;
	if (sampling && !e && reason != drop_cpu_backlog)
		slot = !skb->dev ? SLOT_ENQUEUED : /* TCP took the segment: it clears skb->dev */
		       h.protocol == IPPROTO_TCP ? SLOT_SOCKET : SLOT_TRANSPORT;
	else
		slot = drop_slot(e, h.protocol);
	c->count.drop[slot][reason]++;
	if (e)
		e->p.s.flags |= PKT_USED;
	return 0;
}

#endif
