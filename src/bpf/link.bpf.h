/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The link table: when the stack received a packet, found by the packet's address.
 *
 * The kernel's receive stamp is not enough. On loopback and veth it is the sender's monotonic
 * departure time until local delivery replaces it; other CPUs may process a packet later (backlog);
 * and whole lists pass one layer before the next. So `link` notes its own time. It converts the
 * kernel's stamp to the monotonic clock at once, when the two clock readings are microseconds
 * apart, so that a later step of the realtime clock does no harm.
 */
#ifndef HOSTLAT_BPF_LINK_H
#define HOSTLAT_BPF_LINK_H

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/maps.bpf.h"
#include "bpf/record.bpf.h"

#define SEC_NS 1000000000ULL
/* Maximum ns from the receive stamp to `link`; an older stamp belongs to another clock. */
#define STAMP_AGE_MAX (10 * SEC_NS)
/* Usual age of a stamp, ns. An older or a negative age makes the clock offset suspect. */
#define STAMP_AGE_USUAL 1000000ULL
/* Maximum error in ns of the published clock offset before stamps are ignored. */
#define CLOCK_TOLERANCE 100000ULL
#define CLOCK_CHECK_EVERY 1000000ULL

enum stamp_clock { STAMP_REALTIME, STAMP_MONOTONIC, STAMP_OTHER };

static __always_inline enum stamp_clock stamp_clock(struct sk_buff *skb)
{
	struct sk_buff___mono *older = (void *)skb;

	/* the bits' position differs by kernel; only this macro relocates bit fields */
	if (bpf_core_field_exists(skb->tstamp_type))
		/* a value of 2 means TAI, which no receive path uses */
		return BPF_CORE_READ_BITFIELD(skb, tstamp_type);
	if (bpf_core_field_exists(older->mono_delivery_time))
		return BPF_CORE_READ_BITFIELD(older, mono_delivery_time);
	return STAMP_REALTIME;
}

static __always_inline __u32 link_set(__u64 skb)
{
	/* Packets are slab objects of 256 bytes, or halves of 512: neighbors get other sets. */
	return ((skb >> 8) ^ (skb >> 20)) & (LINK_SETS - 1);
}

static __always_inline struct link_entry *link_find(__u64 skb)
{
	struct link_entry *e = &link_table[link_set(skb) * 2];

	if (e[0].skb == skb)
		return e;
	return e[1].skb == skb ? e + 1 : NULL;
}

/* Returns the element of link_traits[] of the packet with address `skb` in the link table. */
static __always_inline __u64 *link_traits_at(__u64 skb)
{
	__u32 set = link_set(skb);

	return &link_traits[set * 2 + (link_table[set * 2].skb != skb)];
}

static __always_inline __u64 *link_traits_of(const struct link_entry *e, __u64 skb)
{
	__u32 set = link_set(skb);

	return &link_traits[set * 2 + (e != &link_table[set * 2])];
}

static __always_inline __u64 link_traits_get(__u64 skb)
{
	return by & BY_PACKET_TRAIT ? *link_traits_at(skb) : 0;
}

/*
 * Returns true if this packet was the last to pass `link` on this CPU. A packet that the kernel
 * makes on the way comes from a packet that passed `link`, and has another address. The limit of
 * 1 s excludes packets that moved here from another CPU much later.
 */
static __noinline int link_was_last(__u64 skb, __u64 link)
{
	struct cpu_state *c = this_cpu();

	return c && c->linked == skb && bpf_ktime_get_ns() - link <= SEC_NS;
}

/*
 * Returns true if the entry belongs to this packet, not to an earlier one at its address. Packets
 * made by the kernel (segments, copies) never passed `link`. Receive stamps distinguish packets at
 * one address. A sender's stamp is replaced at local delivery, directly after `link`, unless, for
 * example, a hypervisor took the CPU away: that delay must be measured.
 */
static __always_inline bool link_same(const struct link_entry *e, const struct sk_buff *skb)
{
	__u64 stamp = skb->tstamp;

	if (e->p.s.seq)
		return e->p.s.seq == (__u32)stamp;
	return !stamp || stamp - realtime_offset - e->p.link <= STAMP_AGE_USUAL ||
	       link_was_last((__u64)skb, e->p.link);
}

/*
 * At stage `socket`, returns true if the packet was identified when it entered TCP. The packet's
 * stamp may by now be that of a later packet, which the socket's backlog merged with it.
 */
static __always_inline bool link_entered(const struct link_entry *e)
{
	return transport_tcp && e->p.transport && !(e->p.s.flags & PKT_USED);
}

/*
 * Marks the entry as used by TCP, so that no later packet at this address takes the entry. With a
 * packet socket for one protocol, the stack continues with a copy that did not pass `link`.
 */
static __always_inline void link_serve(struct link_entry *e)
{
	if (e)
		e->p.s.base = 0;
}

static __always_inline bool link_served(const struct link_entry *e)
{
	return !e->p.s.base;
}

/*
 * Returns the packet's old entry, a free or used entry, or the older entry of the set. An address
 * never has two entries: the second would be found after the first is displaced.
 */
static __always_inline struct link_entry *link_claim(__u64 skb)
{
	struct link_entry *a = &link_table[link_set(skb) * 2], *b = a + 1;

	if (a->skb == skb)
		return a;
	if (b->skb == skb)
		return b;
	if (a->p.s.flags & PKT_USED)
		return a;
	return (b->p.s.flags & PKT_USED) || b->p.link < a->p.link ? b : a;
}

/* Returns 1 if the published realtime offset still holds, checked against the clock TAI. */
static __noinline int clock_settled(struct cpu_state *c, __u64 age)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 diff = bpf_ktime_get_tai_ns() - tai_offset - (now + realtime_offset);

	if (!c)
		return 0;
	/*
	 * If the clocks differ by whole seconds, and a stamp's age is normal, the TAI offset was
	 * set, which the kernel does not report; the realtime clock was not.
	 */
	if (age <= STAMP_AGE_USUAL) {
		if ((__s64)diff < 0)
			diff = -diff;
		diff = (diff + CLOCK_TOLERANCE) % SEC_NS - CLOCK_TOLERANCE;
	}
	if (diff + CLOCK_TOLERANCE > 2 * CLOCK_TOLERANCE) {
		c->clock_check = 0;
		return 0;
	}
	c->clock_check = now;
	return 1;
}

/* Returns the checked age of a realtime stamp; ~0 with *why if it cannot be used. */
static __always_inline __u64 stamp_age(struct cpu_state *c, __u64 now, __u64 stamp, __u8 *why)
{
	__u64 age = now + realtime_offset - stamp;

	if (age <= STAMP_AGE_USUAL && now - c->clock_check <= CLOCK_CHECK_EVERY)
		return age;
	if (!stamp)
		*why = LOSS_STAMP_ZERO;
	else if (!clock_settled(c, age))
		*why = LOSS_CLOCK_UNSETTLED;
	else if ((__s64)age < 0)
		*why = LOSS_STAMP_FUTURE;
	else if (age > STAMP_AGE_MAX)
		*why = LOSS_STAMP_FOREIGN;
	else
		return age;
	return ~0ULL;
}

/* Sets the origin without --origin: the kernel's receive stamp if there is one, else `link`. */
static __always_inline void origin_by_packet(struct cpu_state *c, struct packet *p,
					     struct sk_buff *skb)
{
	__u64 stamp = skb->tstamp, age;
	enum stamp_clock clock = stamp_clock(skb);
	__u8 why = LOSS_STAMP_FOREIGN;

	p->s.base = p->link;
	p->s.origin = ROW_LINK;
	p->s.why = why;
	/* low half of the receive stamp: link_same() distinguishes packets at one address by it */
	p->s.seq = clock == STAMP_REALTIME ? stamp : 0;
	if (clock == STAMP_MONOTONIC) {
		p->link_ns = p->link - stamp;
		p->s.link_origin = ROW_SENDER;
		p->s.flags |= PKT_LINK;
		return;
	}
	if (clock != STAMP_REALTIME)
		return;
	age = stamp_age(c, p->link, stamp, &why);
	p->s.why = why;
	if (age == ~0ULL)
		return;
	p->link_ns = age;
	p->s.base -= age;
	p->s.origin = p->s.link_origin = ROW_STACK;
	p->s.flags |= PKT_LINK;
}

/* Sets the origin that --origin asks for, or the reason why the packet lacks it. */
static __always_inline void origin_forced(struct packet *p)
{
	__u8 found = p->s.flags & PKT_LINK ? p->s.link_origin : ROW_LINK;

	if (origin_option == ROW_LINK) {
		p->s.base = p->link;
		p->s.origin = ROW_LINK;
		p->s.flags &= ~PKT_LINK; /* `link` is the origin: nothing to measure there */
		return;
	}
	/* origin_delivered() sets `deliver` later, on packets with a sender's stamp here */
	if (origin_option == ROW_DELIVER) {
		if (found != ROW_SENDER)
			p->s.flags |= PKT_FORCED_MISS;
		p->s.flags &= ~PKT_LINK;
		return;
	}
	if (found != origin_option) {
		p->s.flags |= PKT_FORCED_MISS;
		p->s.flags &= ~PKT_LINK;
		return;
	}
	p->s.base = p->link - link_latency(p);
	p->s.origin = found;
}

/* --origin deliver: sets the origin, when local delivery replaced the sender's stamp. */
static __always_inline void origin_delivered(struct cpu_state *c, struct packet *p,
					     const struct sk_buff *skb, __u64 now)
{
	__u8 why = LOSS_STAMP_FOREIGN;
	__u64 age;

	if (origin_option != ROW_DELIVER || (p->s.flags & PKT_FORCED_MISS))
		return;
	age = stamp_age(c, now, skb->tstamp, &why);
	if (age == ~0ULL) {
		p->s.flags |= PKT_FORCED_MISS;
		p->s.why = why;
		return;
	}
	p->s.base = now - age;
	p->s.origin = ROW_DELIVER;
	/* the netfilter hook ran just before the delivery, the origin: avoid a negative latency */
	if (p->transport && p->transport < p->s.base)
		p->transport = p->s.base;
}

/*
 * Returns true if the filter selects the interface. After a rename, bytes of its old name may
 * follow the NUL; the mask removes these bytes.
 */
static __always_inline bool iface_selected(const struct net_device *dev)
{
	const __u64 *name;

	if (!filter_ifname[0])
		return true;
	name = (const __u64 *)dev->name;
	return (name[0] & ifname_mask[0]) == filter_ifname[0] &&
	       (name[1] & ifname_mask[1]) == filter_ifname[1];
}

/*
 * Returns PKT_IFACE if the packet came by a selected interface. A packet of a bridge's port passes
 * `link` again as the bridge's packet, and then carries the number of its first interface.
 */
static __always_inline __u8 rx_iface_flag(const struct link_entry *e, struct sk_buff *skb)
{
	if (iface_selected(skb->dev))
		return PKT_IFACE;
	return skb->skb_iif && e->skb == (__u64)skb ? e->p.s.flags & PKT_IFACE : 0;
}

static __noinline int cgroup_below(const struct cgroup *cgroup)
{
	const struct cgroup___ids *older = (const void *)cgroup;
	__u64 id = 0;
	struct cgroup *at = NULL;

	if (!cgroup || BPF_CORE_READ(cgroup, level) < (int)filter_level)
		return 0;
	if (bpf_core_field_exists(cgroup->ancestors)) {
		bpf_probe_read_kernel(&at, sizeof(at), (const char *)cgroup +
				      bpf_core_field_offset(cgroup->ancestors) +
				      filter_level * sizeof(at));
		id = BPF_CORE_READ(at, kn, id);
	} else {
		bpf_probe_read_kernel(&id, sizeof(id), (const char *)cgroup +
				      bpf_core_field_offset(older->ancestor_ids) +
				      filter_level * sizeof(id));
	}
	return id == filter_cgroup;
}

/* Returns true if the socket's cgroup is the filter's, or below it. */
static __always_inline bool cgroup_selected(const struct sock *sk)
{
	if (!filter_cgroup)
		return true;
	if (!bpf_core_field_exists(sk->sk_cgrp_data))
		return false;
	return sk->sk_cgrp_data.cgroup->kn->id == filter_cgroup ||
	       cgroup_below(BPF_CORE_READ(sk, sk_cgrp_data.cgroup));
}

static __always_inline bool sock_selected(const struct sock *sk)
{
	if (!filter_sock)
		return true;
	if ((filter_port && sk->__sk_common.skc_num != filter_port) || !cgroup_selected(sk) ||
	    (filter_netns && sk->__sk_common.skc_net.net->ns.inum != filter_netns))
		return sk->__sk_common.skc_num == test_port;
	return true;
}

#endif
