/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The transmit side of TCP. Latencies count from the departure time that TCP leaves in each packet
 * (skb->tstamp, CLOCK_MONOTONIC; net/ipv4/tcp_output.c, __tcp_transmit_skb): after the waits for
 * the window, small queues and pacing. So a stage needs no memory for its latency. The table of
 * egress_table.bpf.h serves steps; FIFOs per socket serve send calls before and acknowledgements
 * after.
 *
 * A packet is the unit of the queueing discipline: up to 64 KiB with segmentation offload. The
 * hooks see UDP packets, too: egress_udp.bpf.h.
 */
#ifndef HOSTLAT_BPF_EGRESS_H
#define HOSTLAT_BPF_EGRESS_H

#include "bpf/abi.h"
#include "bpf/egress_socket.bpf.h"
#include "bpf/egress_table.bpf.h"
#include "bpf/egress_udp.bpf.h"
#include "bpf/group.bpf.h"
#include "bpf/kernel/types.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/msg_send.bpf.h"

/* ---- the stages ---- */

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
		if (sk->sk_protocol == IPPROTO_UDP && is_udp_socket(sk))
			tx_udp_queued(c, sk, skb, now);
		return 0;
	}
	if (!tx_payload(skb, sk, &seq, &len)) {
		c->count.excluded[EXCL_ENCAPSULATED][ROW_TCP]++;
		return 0;
	}
	if (!len) {
		/* --sample decides by sequence number, which pure ACKs share: count none */
		if (!sampling)
			c->count.excluded[EXCL_SENT_ACK][ROW_TCP]++;
		return 0;
	}
	base = tx_departure(skb, &why);
	if (!base) {
		count_loss(c, SLOT_QDISC, why, ROW_TCP, 1);
		return 0;
	}
	if (tx_is_stacked(skb, base, seq)) {
		c->count.excluded[EXCL_STACKED][ROW_TCP]++;
		return 0;
	}
	group = group_of(sk, by & BY_PACKET_TRAIT ? packet_traits_of(skb, false) : 0);
	tx_note(c, skb, base, now, seq, 0, group);
	if (record_sends)
		tx_path_begin(skb, sk, len, now, 0);
	if (slot_selected(SLOT_SEGMENT))
		tx_segment(c, sk, seq, len, base, group);
	if (slot_selected(SLOT_ACKED))
		tx_unacked(c, sk, seq + len, base, group);
	if (!slot_selected(SLOT_QDISC))
		return 0;
	if ((__s64)(base - now) > PACED_FROM)
		tx_paced(c, base - now, ROW_TCP, group);
	else /* no step is recorded: it equals the latency, so user space copies that (deltas.c) */
		record_latency(c, SLOT_QDISC, ROW_TCP, 0, group, now - base, 1);
	return 0;
}

/*
 * Returns the departure time of a piece that the kernel has split from a larger packet for a device
 * without segmentation offload; 0: the packet is no such piece.
 */
static __always_inline __u64 tx_piece(struct sk_buff *skb, __u32 *seq, __u32 *len)
{
	struct sock *sk = tx_owner(skb);
	__u32 why;

	if (!sk || sk->sk_protocol != IPPROTO_TCP || sk->sk_type != SOCK_STREAM ||
	    !tx_selected(sk, skb) || !tx_payload(skb, sk, seq, len) || !*len)
		return 0;
	return tx_departure(skb, &why); /* 0: the hook of `qdisc` counts the packet as lost */
}

/*
 * Records a piece of a split packet: its latency at `driver`, but no step, i.e. no time since the
 * stage before.
 */
static __noinline int tx_split(struct cpu_state *c, struct sk_buff *skb, __u64 now)
{
	__u32 seq = 0, len = 0, group = 0;
	__u64 base = tx_piece(skb, &seq, &len);
	struct sock *sk;

	if (!c || !base)
		return 0;
	sk = tx_owner(skb);
	if (by && sk)
		group = group_of(sk, by & BY_PACKET_TRAIT ? packet_traits_of(skb, false) : 0);
	c->count.excluded[EXCL_SPLIT][ROW_TCP]++;
	if (slot_selected(SLOT_DRIVER))
		record_latency(c, SLOT_DRIVER, ROW_TCP, 0, group, now - base, 1);
	if (!slot_selected(SLOT_SENT))
		return 0;
	tx_note(c, skb, base, now, seq, TX_GIVEN, group);
	if (record_sends && sk)
		tx_path_begin(skb, sk, len, 0, now);
	return 0;
}

/*
 * Slow path of stage `driver`: datagrams, whose origin in the table is not the packet's stamp, and
 * TCP packets that have no entry in the table.
 */
static __noinline int tx_given_slow(struct cpu_state *c, struct tx_entry *e, struct sk_buff *skb,
				    __u64 now)
{
	struct sock *sk = skb ? tx_owner(skb) : NULL;

	if (!c || !sk)
		return 0;
	return tx_is_udp(sk) ? tx_udp_given(c, e, skb, now) : tx_split(c, skb, now);
}

/* Records stage `driver`. A paced packet's step begins at its departure time. */
static __always_inline int tx_given(struct sk_buff *skb)
{
	struct tx_entry *e = tx_find((__u64)skb);
	struct cpu_state *c = this_cpu();
	__u64 now, from;

	if (!c || !skb->sk)
		return 0;
	now = bpf_ktime_get_ns();
	if (!e || e->base != (__u64)skb->tstamp)
		return tx_given_slow(c, e, skb, now);
	/* the packet reached a device below the measured one */
	if (e->where != (__u32)skb->dev->ifindex)
		return 0;
	from = (__s64)(e->base - e->last) > 0 ? e->base : e->last;
	e->where |= TX_GIVEN;
	if (record_sends)
		tx_path_given(e, (__u64)skb, now);
	if (slot_selected(SLOT_DRIVER)) {
		/* the qdisc did not hold the packet until its departure time */
		if ((__s64)(e->base - now) > PACED_FROM)
			c->count.excluded[EXCL_NOT_PACED][ROW_TCP]++;
		else
			record_stage(c, SLOT_DRIVER, ROW_TCP, 0, tx_group((__u64)skb),
				     now - e->base, now - from, 1);
	}
	e->last = now;
	return 0;
}

/* Records stage `sent` when the driver frees a packet after transmission. */
static __always_inline int tx_freed(struct sk_buff *skb)
{
	struct tx_entry *e = tx_find((__u64)skb);
	struct cpu_state *c = this_cpu();
	__u64 now;

	if (!c)
		return 0;
	c->departures++;
	if (e && e->where & TX_UDP)
		return tx_udp_freed(c, e, skb);
	if (!e || e->base != (__u64)skb->tstamp)
		return 0;
	if (!(e->where & TX_GIVEN)) {
		c->count.excluded[EXCL_PARENT][ROW_TCP]++;
		e->skb = 0;
		return 0;
	}
	now = bpf_ktime_get_ns();
	record_stage(c, SLOT_SENT, ROW_TCP, 0, tx_group((__u64)skb), now - e->base, now - e->last,
		     1);
	tx_path_end(e, (__u64)skb, now);
	e->skb = 0;
	return 0;
}

/* Ends the entry of a packet that loopback or veth passes to its receiver. */
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
	else if (e->where & TX_UDP && !tx_is_unsampled(e))
		c->count.excluded[EXCL_NO_COMPLETION][ROW_UDP]++;
	tx_path_end(e, (__u64)skb, 0);
	e->skb = 0;
	return 0;
}

/* Counts a packet dropped at or in the driver. Some drivers free sent packets as dropped ones. */
static __always_inline int tx_dropped(struct sk_buff *skb, __u32 reason)
{
	struct tx_entry *e = tx_find((__u64)skb);
	struct cpu_state *c = this_cpu();
	__u32 slot = SLOT_DRIVER, seq, len, proto = ROW_TCP;

	if (!c)
		return 0;
	if (e && e->where & TX_UDP) {
		proto = ROW_UDP;
		slot = tx_udp_dropped(e, skb);
		if (slot == SLOT_MAX)
			return 0;
	} else if (!slot_selected(SLOT_DRIVER) && !slot_selected(SLOT_SENT)) {
		return 0;
	} else if (e && e->base == (__u64)skb->tstamp) {
		slot = e->where & TX_GIVEN ? SLOT_SENT : SLOT_DRIVER;
		if (slot == SLOT_SENT && reason == drop_unspecified)
			tx_path_end(e, (__u64)skb, 0);
		e->skb = 0;
	} else if (!tx_piece(skb, &seq, &len)) {
		return 0;
	} else if (sampling && reason == drop_unspecified) {
		/* the packet is not sampled: whether the driver has it is unknown */
		slot = SLOT_SENT;
	}
	if (reason == drop_not_yet || reason == drop_consumed)
		return 0;
	if (slot == SLOT_SENT && reason == drop_unspecified) {
		c->count.excluded[EXCL_UNSPECIFIED][proto]++;
		return 0;
	}
	if (reason >= DROP_REASONS)
		reason = DROP_REASONS - 1;
	c->count.drop[slot][reason]++;
	return 0;
}

#endif
