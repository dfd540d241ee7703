/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The link table: when the stack received a packet, found again by the packet's address.
 *
 * The kernel's own receive stamp can't serve alone: on loopback and veth it is the sender's
 * monotonic departure time until local delivery replaces it, other CPUs may process a packet
 * later (backlog), and whole lists pass one layer before the next. So `link` notes its own time,
 * and converts the kernel's stamp to the monotonic clock at once, where the two readings of the
 * clock are microseconds apart: a later step of the realtime clock can't reach it any more.
 */
#ifndef HOSTLAT_BPF_LINK_H
#define HOSTLAT_BPF_LINK_H

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/maps.bpf.h"
#include "bpf/record.bpf.h"

#define SEC_NS 1000000000ULL
/* No packet takes longer from the receive stamp to `link`: older ones are of another clock. */
#define STAMP_AGE_MAX (10 * SEC_NS)
/* Above this age (or below zero) a stamp makes the offset of the clocks suspect. */
#define STAMP_AGE_USUAL 1000000ULL
/* How far the published offset may be from the kernel's before stamps are not used. */
#define CLOCK_TOLERANCE 100000ULL
#define CLOCK_CHECK_EVERY 1000000ULL

enum stamp_clock { STAMP_REALTIME, STAMP_MONOTONIC, STAMP_OTHER };

static __always_inline enum stamp_clock stamp_clock(struct sk_buff *skb)
{
	struct sk_buff___mono *older = (void *)skb;

	/* Which bits of a byte these are differs by kernel; only the macro relocates that. */
	if (bpf_core_field_exists(skb->tstamp_type))
		return BPF_CORE_READ_BITFIELD(skb, tstamp_type); /* 2: TAI, of no receive path */
	if (bpf_core_field_exists(older->mono_delivery_time))
		return BPF_CORE_READ_BITFIELD(older, mono_delivery_time);
	return STAMP_REALTIME;
}

static __always_inline __u32 link_set(__u64 skb)
{
	/* Packets are slab objects of 256 bytes, or halves of 512: neighbours get other sets. */
	return ((skb >> 8) ^ (skb >> 20)) & (LINK_SETS - 1);
}

static __always_inline struct link_entry *link_find(__u64 skb)
{
	struct link_entry *e = &link_table[link_set(skb) * 2];

	if (e[0].skb == skb)
		return e;
	return e[1].skb == skb ? e + 1 : NULL;
}

/* Of the packet's entry, if it has one; of an entry that is the packet's. */
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
 * Has no other packet passed `link` on this CPU since this one, at `link`? What the kernel makes on
 * the way is made of a packet that did, and is at another address: unless it was moved here from
 * another CPU, long after the packet whose address it has.
 */
static __noinline int link_was_last(__u64 skb, __u64 link)
{
	struct cpu_state *c = this_cpu();

	return c && c->linked == skb && bpf_ktime_get_ns() - link <= SEC_NS;
}

/*
 * Does the entry belong to this packet, or to one before at the same address? Packets that the
 * kernel makes on the way (segments, copies) never passed `link`. Receive stamps tell them apart;
 * a sender's stamp is replaced at local delivery, which follows `link` at once, unless the CPU was
 * taken away (by a hypervisor, for one): such a delay is to be measured, not lost.
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
 * At `socket`. Of a packet that entered TCP that was known then: its stamp may be a later packet's
 * meanwhile, with which the kernel merged it in the socket's backlog.
 */
static __always_inline bool link_entered(const struct link_entry *e)
{
	return transport_tcp && e->p.transport && !(e->p.s.flags & PKT_USED);
}

/*
 * TCP has taken what it needs: the entry is of no later packet at this address. Such there are
 * beside a packet socket for one protocol: the stack goes on with a copy that didn't pass `link`.
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
 * The packet's old entry, or a free or used one, or else the older of the set. Never a second one
 * of the same address: it would be found when the first is displaced.
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

/* Does the offset that user space published still hold? TAI reads the realtime clock for us. */
static __noinline int clock_settled(struct cpu_state *c, __u64 age)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 diff = bpf_ktime_get_tai_ns() - tai_offset - (now + realtime_offset);

	if (!c)
		return 0;
	/*
	 * Off by whole seconds, and yet the stamp has a usual age: it is the TAI offset that was
	 * set, of which the kernel tells nobody, and not the realtime clock.
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

/* The age of a realtime stamp, checked; ~0 with *why when it can't be used. */
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

/* Without --origin: the kernel's receive stamp where it is one, else our own. */
static __always_inline void origin_by_packet(struct cpu_state *c, struct packet *p,
					     struct sk_buff *skb)
{
	__u64 stamp = skb->tstamp, age;
	enum stamp_clock clock = stamp_clock(skb);
	__u8 why = LOSS_STAMP_FOREIGN;

	p->s.base = p->link;
	p->s.origin = ROW_LINK;
	p->s.why = why;
	p->s.seq = clock == STAMP_REALTIME ? stamp : 0; /* for link_same() */
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

/* With --origin: the one asked for, or the reason why this packet has none. */
static __always_inline void origin_forced(struct packet *p)
{
	__u8 found = p->s.flags & PKT_LINK ? p->s.link_origin : ROW_LINK;

	if (origin_asked == ROW_LINK) {
		p->s.base = p->link;
		p->s.origin = ROW_LINK;
		p->s.flags &= ~PKT_LINK; /* `link` is the origin: nothing to measure there */
		return;
	}
	/* `deliver` is set later, on the packets that carry a sender's stamp here */
	if (origin_asked == ROW_DELIVER) {
		if (found != ROW_SENDER)
			p->s.flags |= PKT_FORCED_MISS;
		p->s.flags &= ~PKT_LINK;
		return;
	}
	if (found != origin_asked) {
		p->s.flags |= PKT_FORCED_MISS;
		p->s.flags &= ~PKT_LINK;
		return;
	}
	p->s.base = p->link - link_latency(p);
	p->s.origin = found;
}

/* --origin deliver: where the kernel replaced the sender's stamp at local delivery. */
static __always_inline void origin_delivered(struct cpu_state *c, struct packet *p,
					     const struct sk_buff *skb, __u64 now)
{
	__u8 why = LOSS_STAMP_FOREIGN;
	__u64 age;

	if (origin_asked != ROW_DELIVER || (p->s.flags & PKT_FORCED_MISS))
		return;
	age = stamp_age(c, now, skb->tstamp, &why);
	if (age == ~0ULL) {
		p->s.flags |= PKT_FORCED_MISS;
		p->s.why = why;
		return;
	}
	p->s.base = now - age;
	p->s.origin = ROW_DELIVER;
	if (p->transport && p->transport < p->s.base) /* the netfilter hook comes just before */
		p->transport = p->s.base;
}

/* After a rename, bytes of the interface's old name may follow the NUL: they do not count. */
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
 * A bridge's port, for one: its packet passes `link` again, as the bridge's, and then has a number
 * of the interface that it came by.
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

/* Its control group is that of the filter, or one below. */
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
