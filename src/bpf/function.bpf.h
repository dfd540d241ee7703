/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * --probe: a stage at any function or tracepoint that has a packet as argument.
 *
 * hostlat knows neither the function's position in the stack nor which headers the kernel has
 * parsed by then. So each TCP or UDP packet counts, with or without payload, and filters use its
 * header.
 */
#ifndef HOSTLAT_BPF_FUNCTION_H
#define HOSTLAT_BPF_FUNCTION_H

#include <bpf/bpf_endian.h>

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"

/* Returns enum row_proto of a packet whose network header is set; ROW_PROTOS: another protocol. */
static __always_inline __u32 function_protocol(const struct sk_buff *skb, __u16 *port)
{
	const unsigned char *ip = skb->head + skb->network_header;
	struct ip6_upper u = {};
	__u32 protocol, length;
	__u8 b[10] = {};
	__u16 ports[2] = {};

	if (bpf_probe_read_kernel(b, sizeof(b), ip))
		return ROW_PROTOS;
	protocol = b[9];
	length = (b[0] & 15) * 4;
	if (b[0] >> 4 == 6) {
		if (!ip6_upper(ip, b[6], &u))
			return ROW_PROTOS;
		protocol = u.protocol;
		length = u.offset;
	}
	if ((b[0] >> 4 != 4 && b[0] >> 4 != 6) ||
	    (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP))
		return ROW_PROTOS;
	if (filter_port && (b[0] >> 4 == 6 ? !u.later : !((b[6] & 0x1f) | b[7])))
		bpf_probe_read_kernel(ports, sizeof(ports), ip + length);
	*port = bpf_ntohs(ports[1]);
	return protocol == IPPROTO_TCP ? ROW_TCP : ROW_UDP;
}

/*
 * Returns true if the filters select the packet. A packet that a socket has lacks a device, so the
 * namespace is the one noted at `link`. Packets that did not pass `link` are all selected.
 */
static __always_inline bool function_selected(const struct link_entry *e,
					      const struct sk_buff *skb, __u16 port)
{
	if (filter_port && port != filter_port)
		return false;
	return !filter_netns || !e || *link_traits_at((__u64)skb) == filter_netns;
}

/* Returns the origin's time, also if link_serve() has cleared `base`. */
static __always_inline __u64 function_base(const struct packet *p)
{
	if (p->s.base)
		return p->s.base;
	return p->s.origin == ROW_LINK ? p->link : p->link - link_latency(p);
}

static __noinline int function_called(struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), before;
	struct cpu_state *c = this_cpu();
	struct link_entry *e;
	struct packet p;
	__u16 port = 0;
	__u32 proto;

	if (!c || !skb)
		return 0;
	if (!skb->skb_iif) { /* the packet is transmitted, or not received yet */
		if (!filter_sock && !filter_ifname[0])
			c->count.excluded[EXCL_NOT_RECEIVED][ROW_TCP]++;
		return 0;
	}
	proto = function_protocol(skb, &port);
	e = link_find((__u64)skb);
	if (e && !link_same(e, skb))
		e = NULL;
	if (!function_selected(e, skb, port))
		return 0;
	if (filter_ifname[0] && !(e && e->p.s.flags & PKT_IFACE))
		return 0;
	if (proto >= ROW_PROTOS) {
		c->count.excluded[EXCL_OTHER_PROTOCOL][ROW_TCP]++;
		return 0;
	}
	if (!e) {
		count_loss(c, SLOT_FUNCTION, LOSS_NO_LINK_STAMP, proto, 1);
		return 0;
	}
	p = e->p;
	/* another packet displaced the entry during the copy */
	if (READ_ONCE(e->skb) != (__u64)skb) {
		count_loss(c, SLOT_FUNCTION, LOSS_NO_LINK_STAMP, proto, 1);
		return 0;
	}
	/* skip the self-test's packets, some of which the kernel frees much later */
	if (p.link < measured_since)
		return 0;
	if (!record_has_origin(c, &p.s, SLOT_FUNCTION, proto))
		return 0;
	before = p.ip > p.link ? p.ip : p.s.flags & PKT_LINK ? p.link : function_base(&p);
	record_stage(c, SLOT_FUNCTION, proto, p.s.origin, 0, now - function_base(&p), now - before,
		     1);
	return 0;
}

/*
 * Returns argument `n` of a program's context. Assembler, as the compiler would compute the address
 * first, which the verifier forbids for a context.
 */
#define ARGUMENT(ctx, n)                                                                         \
	({                                                                                       \
		struct sk_buff *_skb;                                                            \
												 \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(_skb) : "r"(ctx), "i"((n) * 8));    \
		_skb;                                                                            \
	})

/* Calls function_called(). `function_arg` is fixed at load: the verifier removes other cases. */
static __always_inline int function_with(__u64 *ctx)
{
	switch (function_arg) {
	case 0:
		return function_called(ARGUMENT(ctx, 0));
	case 1:
		return function_called(ARGUMENT(ctx, 1));
	case 2:
		return function_called(ARGUMENT(ctx, 2));
	case 3:
		return function_called(ARGUMENT(ctx, 3));
	case 4:
		return function_called(ARGUMENT(ctx, 4));
	case 5:
		return function_called(ARGUMENT(ctx, 5));
	}
	return 0;
}

#endif
