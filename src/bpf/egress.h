/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The transmit side of TCP, from the departure time that TCP leaves in each packet (skb->tstamp,
 * CLOCK_MONOTONIC; net/ipv4/tcp_output.c, __tcp_transmit_skb): after the waits for the window, for
 * small queues and for pacing. So a stage needs no memory for its latency; the table below is for
 * the steps, and FIFOs per socket are for the send calls before and the acknowledgements after.
 *
 * A packet is what the queueing discipline is given: with segmentation offload up to 64 KiB.
 */
#ifndef HOSTLAT_BPF_EGRESS_H
#define HOSTLAT_BPF_EGRESS_H

#include "bpf/egress_socket.h"
#include "bpf/link.h"
#include "bpf/net.h"

/* include/net/tcp_states.h: in these, what skb->sk points to is no whole socket */
#define TCP_TIME_WAIT 6
#define TCP_NEW_SYN_RECV 12

/* A stamp later than this is pacing; below, the two readings of the clock disagree. */
#define PACED_FROM 1000

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* loader: TX_SETS, if the transmit side is measured */
	__type(key, __u32);
	__type(value, struct tx_set);
} tx_sets SEC(".maps");

/* ---- what a packet is ---- */

/* Of a TCP or UDP socket, which it has until the driver or the other end of a veth lets it go. */
static __always_inline struct sock *tx_owner(struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	__u8 state;

	if (!sk)
		return NULL;
	state = sk->__sk_common.skc_state;
	if (state == TCP_TIME_WAIT || state == TCP_NEW_SYN_RECV)
		return NULL;
	if (sk->__sk_common.skc_family != AF_INET && sk->__sk_common.skc_family != AF_INET6)
		return NULL;
	return sk;
}

/*
 * Bytes of TCP payload, at the hooks, where skb->data is the link header. False if the header there
 * is not this socket's: a tunnel's, around the packet.
 */
static __always_inline bool tx_payload(const struct sk_buff *skb, const struct sock *sk, __u32 *seq,
				       __u32 *len)
{
	__u32 before = skb->transport_header - (low_half(skb->data) - low_half(skb->head));
	__u32 to = sk->__sk_common.skc_dport, from_port, to_port;
	__u8 b[14] = {};

	if (bpf_probe_read_kernel(b, sizeof(b), skb->head + skb->transport_header))
		return false;
	from_port = b[0] << 8 | b[1];
	to_port = b[2] << 8 | b[3];
	if (from_port != sk->__sk_common.skc_num || to_port != (to >> 8 | (to & 0xff) << 8))
		return false;
	*seq = (__u32)b[4] << 24 | b[5] << 16 | b[6] << 8 | b[7];
	before += (b[12] >> 4) * 4;
	*len = skb->len > before ? skb->len - before : 0;
	return true;
}

/* When TCP let it go; 0 with *why if the packet doesn't say. */
static __always_inline __u64 tx_departure(struct sk_buff *skb, __u32 *why)
{
	struct sk_buff___mono *older = (void *)skb;
	bool told = bpf_core_field_exists(skb->tstamp_type) ||
		    bpf_core_field_exists(older->mono_delivery_time);

	*why = skb->tstamp ? LOSS_STAMP_FOREIGN : LOSS_STAMP_ZERO;
	/* Kernels before 5.18 don't tell the clock: TCP's packets have none but this. */
	return told && stamp_clock(skb) != STAMP_MONOTONIC ? 0 : skb->tstamp;
}

/* ---- whose it is ---- */

static __always_inline bool tx_selected(struct sock *sk, struct sk_buff *skb)
{
	if (!tx_port_selected(sk) || !iface_selected(skb))
		return false;
	return !filter_tgid || sk->sk_protocol != IPPROTO_TCP || tx_ours(sk);
}

/* ---- the table ---- */

static __always_inline __u32 tx_set_of(__u64 skb)
{
	__u32 low = low_half((const void *)skb);

	return ((low >> 8) ^ (low >> 20)) & (TX_SETS - 1); /* see link_set() */
}

static __always_inline struct tx_set *tx_set(__u64 skb)
{
	__u32 set = tx_set_of(skb);

	return bpf_map_lookup_elem(&tx_sets, &set);
}

static __always_inline struct tx_entry *tx_find(__u64 skb)
{
	struct tx_set *s = tx_set(skb);

	if (!s)
		return NULL;
	return s->e[0].skb == skb ? &s->e[0] : s->e[1].skb == skb ? &s->e[1] : NULL;
}

/* Of the packet's entry, if it has one; of an entry that is the packet's. */
static __always_inline __u32 tx_group(__u64 skb)
{
	struct tx_set *s = by ? tx_set(skb) : NULL;

	return s ? tx_groups[tx_set_of(skb) * 2 + (s->e[0].skb != skb)] : 0;
}

static __always_inline __u32 *tx_group_of(const struct tx_entry *e, __u64 skb)
{
	struct tx_set *s = tx_set(skb);

	return &tx_groups[tx_set_of(skb) * 2 + (s && e != &s->e[0])];
}

/* What a packet that has to make room was still to be measured at. */
static __always_inline void tx_displaced(struct cpu_state *c, const struct tx_entry *e, __u64 skb)
{
	if (!e->skb || e->skb == skb)
		return;
	if (!(e->where & TX_GIVEN) && selected(SLOT_DRIVER))
		count_loss(c, SLOT_DRIVER, LOSS_DISPLACED, ROW_TCP, 1);
	else if (selected(SLOT_SENT))
		count_loss(c, SLOT_SENT, LOSS_DISPLACED, ROW_TCP, 1);
}

/* The packet's old entry, a free one, or the older of the two. */
static __always_inline struct tx_entry *tx_claim(struct cpu_state *c, __u64 skb)
{
	struct tx_set *s = tx_set(skb);
	struct tx_entry *a, *b;

	if (!s)
		return NULL;
	a = &s->e[0];
	b = &s->e[1];
	if (a->skb != skb && (b->skb == skb || (a->skb && (!b->skb || b->last < a->last))))
		a = b;
	tx_displaced(c, a, skb);
	return a;
}

static __always_inline void tx_note(struct cpu_state *c, struct sk_buff *skb, __u64 base,
				    __u64 now, __u32 seq, __u32 given, __u32 group)
{
	struct tx_entry *e = tx_claim(c, (__u64)skb);

	if (!e)
		return;
	e->base = base;
	e->last = now;
	e->seq = seq;
	e->where = (skb->dev->ifindex & ~TX_GIVEN) | given;
	if (by)
		*tx_group_of(e, (__u64)skb) = group;
	e->skb = (__u64)skb;
}

/* Devices on top of others (VLAN, bond): the packet was measured at the first that took it. */
static __always_inline bool tx_again(struct sk_buff *skb, __u64 base, __u32 seq)
{
	struct tx_entry *e = tx_find((__u64)skb);

	return e && e->base == base && e->seq == seq &&
	       (e->where & ~TX_GIVEN) != (__u32)skb->dev->ifindex;
}

/* ---- the stages ---- */

static __always_inline void tx_paced(struct cpu_state *c, __u64 ahead, __u32 group)
{
	record_latency(c, SLOT_PACING, ROW_TCP, 0, group, ahead, 1);
	c->count.excluded[EXCL_PACED][ROW_TCP]++;
}

static __always_inline int tx_queued(struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), base;
	struct sock *sk = tx_owner(skb);
	struct cpu_state *c = this_cpu();
	__u32 seq, why, len, group;

	if (!c)
		return 0;
	c->departures++;
	if (!sk || !tx_selected(sk, skb))
		return 0;
	if (sk->sk_protocol != IPPROTO_TCP || sk->sk_type != SOCK_STREAM) {
		if (sk->sk_protocol == IPPROTO_UDP && is_udp_socket(sk) && !filter_tgid)
			c->count.excluded[EXCL_NO_DEPARTURE][ROW_UDP]++;
		return 0;
	}
	if (!tx_payload(skb, sk, &seq, &len)) {
		c->count.excluded[EXCL_ENCAPSULATED][ROW_TCP]++;
		return 0;
	}
	if (!len) {
		c->count.excluded[EXCL_SENT_ACK][ROW_TCP]++;
		return 0;
	}
	base = tx_departure(skb, &why);
	if (!base) {
		count_loss(c, SLOT_QDISC, why, ROW_TCP, 1);
		return 0;
	}
	if (tx_again(skb, base, seq)) {
		c->count.excluded[EXCL_STACKED][ROW_TCP]++;
		return 0;
	}
	group = group_of(sk, by & BY_WAY ? way_of(skb, false) : 0);
	tx_note(c, skb, base, now, seq, 0, group);
	if (selected(SLOT_SEGMENT))
		tx_segment(c, sk, seq, len, base, group);
	if (selected(SLOT_ACKED))
		tx_unacked(c, sk, seq + len, base, group);
	if (!selected(SLOT_QDISC))
		return 0;
	if ((__s64)(base - now) > PACED_FROM)
		tx_paced(c, base - now, group);
	else /* the step, too: snapshot.c knows */
		record_latency(c, SLOT_QDISC, ROW_TCP, 0, group, now - base, 1);
	return 0;
}

/*
 * A packet that didn't pass the queue as it is: the kernel has split a larger one for a device
 * without segmentation offload. Its departure time is that one's, 0: it is no such packet.
 */
static __always_inline __u64 tx_piece(struct sk_buff *skb, __u32 *seq)
{
	struct sock *sk = tx_owner(skb);
	__u32 why, len;

	if (!sk || sk->sk_protocol != IPPROTO_TCP || sk->sk_type != SOCK_STREAM ||
	    !tx_selected(sk, skb) || !tx_payload(skb, sk, seq, &len) || !len)
		return 0;
	return tx_departure(skb, &why); /* none: counted at `qdisc` */
}

/* Its step begins nowhere. */
static __noinline int tx_split(struct cpu_state *c, struct sk_buff *skb, __u64 now)
{
	__u32 seq = 0, group = 0;
	__u64 base = tx_piece(skb, &seq);
	struct sock *sk;

	if (!c || !base)
		return 0;
	sk = tx_owner(skb);
	if (by && sk)
		group = group_of(sk, by & BY_WAY ? way_of(skb, false) : 0);
	c->count.excluded[EXCL_SPLIT][ROW_TCP]++;
	if (selected(SLOT_DRIVER))
		record_latency(c, SLOT_DRIVER, ROW_TCP, 0, group, now - base, 1);
	if (selected(SLOT_SENT))
		tx_note(c, skb, base, now, seq, TX_GIVEN, group);
	return 0;
}

/* A paced packet's time in the queue begins when it was to leave. */
static __always_inline int tx_given(struct sk_buff *skb)
{
	struct tx_entry *e = tx_find((__u64)skb);
	struct cpu_state *c = this_cpu();
	__u64 now, from;

	if (!c || !skb->sk)
		return 0;
	now = bpf_ktime_get_ns();
	if (!e || e->base != (__u64)skb->tstamp)
		return tx_split(c, skb, now);
	if (e->where != (__u32)skb->dev->ifindex) /* below the device where it was measured */
		return 0;
	from = (__s64)(e->base - e->last) > 0 ? e->base : e->last;
	e->where |= TX_GIVEN;
	if (selected(SLOT_DRIVER)) {
		if ((__s64)(e->base - now) > PACED_FROM) /* nobody held it until then */
			c->count.excluded[EXCL_NOT_PACED][ROW_TCP]++;
		else
			record(c, SLOT_DRIVER, ROW_TCP, 0, tx_group((__u64)skb),
			       now - e->base, now - from, 1);
	}
	e->last = now;
	return 0;
}

/* The driver frees what is on the wire; another end of the packet is no completion. */
static __always_inline int tx_freed(struct sk_buff *skb)
{
	struct tx_entry *e = tx_find((__u64)skb);
	struct cpu_state *c = this_cpu();
	__u64 now;

	if (!c)
		return 0;
	c->departures++;
	if (!e || e->base != (__u64)skb->tstamp)
		return 0;
	if (!(e->where & TX_GIVEN)) {
		c->count.excluded[EXCL_PARENT][ROW_TCP]++;
		e->skb = 0;
		return 0;
	}
	now = bpf_ktime_get_ns();
	record(c, SLOT_SENT, ROW_TCP, 0, tx_group((__u64)skb), now - e->base, now - e->last, 1);
	e->skb = 0;
	return 0;
}

/* On loopback and veth the packet itself goes on to its receiver. */
static __always_inline int tx_received(struct sk_buff *skb)
{
	struct tx_entry *e = tx_find((__u64)skb);
	struct cpu_state *c = this_cpu();

	if (!c)
		return 0;
	c->departures++;
	if (!e || !(e->where & TX_GIVEN))
		return 0;
	if (e->base == (__u64)skb->tstamp)
		c->count.excluded[EXCL_NO_COMPLETION][ROW_TCP]++;
	e->skb = 0;
	return 0;
}

/* What waited for the driver, or in it. Drivers may free what was sent without saying that. */
static __always_inline int tx_dropped(struct sk_buff *skb, __u32 reason)
{
	struct tx_entry *e = tx_find((__u64)skb);
	struct cpu_state *c = this_cpu();
	__u32 slot = SLOT_DRIVER, seq;

	if (!c)
		return 0;
	if (e && e->base == (__u64)skb->tstamp) {
		slot = e->where & TX_GIVEN ? SLOT_SENT : SLOT_DRIVER;
		e->skb = 0;
	} else if (!tx_piece(skb, &seq)) {
		return 0;
	}
	if (reason <= 1)
		return 0;
	if (slot == SLOT_SENT && reason == drop_unspecified) {
		c->count.excluded[EXCL_UNSPECIFIED][ROW_TCP]++;
		return 0;
	}
	if (reason >= DROP_REASONS)
		reason = DROP_REASONS - 1;
	c->count.drop[slot][reason]++;
	return 0;
}

#endif
