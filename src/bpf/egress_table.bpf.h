/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Packets in transmission: their headers and sockets, and a table of data that a packet itself
 * lacks, by the packet's address.
 */
#ifndef HOSTLAT_BPF_EGRESS_TABLE_H
#define HOSTLAT_BPF_EGRESS_TABLE_H

#include "bpf/abi.h"
#include "bpf/egress_socket.bpf.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/msg_send.bpf.h"

/* include/net/tcp_states.h: in these states skb->sk is not a full socket */
#define TCP_TIME_WAIT 6
#define TCP_NEW_SYN_RECV 12

/* A stamp more than PACED_FROM ns ahead is pacing; below, two clock readings disagree. */
#define PACED_FROM 1000

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the loader sets TX_SETS if the transmit side is measured */
	__type(key, __u32);
	__type(value, struct tx_set);
} tx_sets SEC(".maps");

/* ---- headers and sockets ---- */

/*
 * Returns the TCP or UDP socket of a packet, or NULL. A packet refers to its socket until the
 * driver, or the other end of a veth, ends the reference.
 */
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
 * Reads sequence number and payload bytes at hooks where skb->data is the link header. Returns
 * false if the header belongs to a tunnel around the packet.
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

/* Returns the time when TCP released the packet; 0, with the reason in *why, if unknown. */
static __always_inline __u64 tx_departure(struct sk_buff *skb, __u32 *why)
{
	struct sk_buff___mono *older = (void *)skb;
	bool clock_known = bpf_core_field_exists(skb->tstamp_type) ||
			   bpf_core_field_exists(older->mono_delivery_time);

	*why = skb->tstamp ? LOSS_STAMP_FOREIGN : LOSS_STAMP_ZERO;
	/* before 5.18 packets do not name the stamp's clock, but TCP's stamps are all monotonic */
	return clock_known && stamp_clock(skb) != STAMP_MONOTONIC ? 0 : skb->tstamp;
}

/* ---- filters ---- */

static __always_inline bool tx_selected(struct sock *sk, struct sk_buff *skb)
{
	if (!tx_port_selected(sk) || !iface_selected(skb->dev))
		return false;
	return !filter_tgid || sk->sk_protocol != IPPROTO_TCP || tx_is_selected_process(sk);
}

/* ---- the table ---- */

static __always_inline __u32 tx_set_of(__u64 skb)
{
	__u32 low = low_half((const void *)skb);

	return ((low >> 8) ^ (low >> 20)) & (TX_SETS - 1); /* hash as in link_set() */
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

/* --sample: returns true for a datagram that is not measured. */
static __always_inline bool tx_is_unsampled(const struct tx_entry *e)
{
	return sampling && e->where & TX_UDP && e->base == TX_UNSAMPLED;
}

/* Returns the group of a packet in the table, by the packet's address; 0: none. */
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

/* Recordings: returns the index of a packet's struct tx_times, parallel to its table entry. */
static __always_inline __u32 tx_place(const struct tx_entry *e, __u64 skb)
{
	struct tx_set *s = tx_set(skb);

	return tx_set_of(skb) * 2 + (s && e != &s->e[0]);
}

/*
 * Recordings: begins the times of a packet of `len` bytes that enters the qdisc, or of a split
 * packet's piece, which never was in the qdisc (`queued` 0).
 */
static __noinline int tx_path_begin(struct sk_buff *skb, struct sock *sk, __u32 len, __u64 queued,
				    __u64 given)
{
	struct tx_writer *w = sk ? bpf_sk_storage_get(&tx_writers, sk, NULL, 0) : NULL;
	struct tx_entry *e = tx_find((__u64)skb);
	struct tx_times *times;

	if (!w || !e || !skb)
		return 0;
	times = tx_times_at(tx_place(e, (__u64)skb));
	if (!times)
		return 0;
	times->sk = 0;
	if (!w->born)
		return 0;
	times->born = w->born;
	times->overdue = 0;
	if (queued) {
		times->overdue = tx_add_late(sk, w, e->base);
		tx_add_paced(sk, w, e->base);
		w->paced_to = e->base;
	}
	times->paced = w->paced;
	times->late = w->late;
	times->segment = e->base;
	times->queued = queued;
	times->given = given;
	times->seq = e->seq;
	times->bytes = len;
	times->queued_core = times->given_core = bpf_get_smp_processor_id();
	times->sk = (__u64)sk;
	return 0;
}

static __always_inline void tx_path_given(const struct tx_entry *e, __u64 skb, __u64 now)
{
	struct tx_times *times = tx_times_at(tx_place(e, skb));

	if (!times)
		return;
	times->given = now;
	times->given_core = bpf_get_smp_processor_id();
}

/* Recordings: reports a packet after its last event. */
static __always_inline void tx_path_end(const struct tx_entry *e, __u64 skb, __u64 sent)
{
	if (record_sends)
		msg_put_packet(tx_place(e, skb), sent);
}

/* Recordings: reports the packet whose table entry another packet takes, and clears its times. */
static __always_inline void tx_path_drop(const struct tx_entry *e, __u64 skb)
{
	struct tx_times *times;

	if (!record_sends)
		return;
	if (e->skb)
		msg_put_packet(tx_place(e, skb), 0);
	times = tx_times_at(tx_place(e, skb));
	if (times)
		times->sk = 0;
}

/*
 * Counts a displaced packet as lost at its next stage. A datagram that is not yet in the qdisc is
 * counted when it gets there.
 */
static __always_inline void tx_displaced(struct cpu_state *c, const struct tx_entry *e, __u64 skb)
{
	__u32 proto = e->where & TX_UDP ? ROW_UDP : ROW_TCP;

	if (!e->skb || e->skb == skb || e->where == TX_UDP || tx_is_unsampled(e))
		return;
	if (!(e->where & TX_GIVEN) && slot_selected(SLOT_DRIVER))
		count_loss(c, SLOT_DRIVER, LOSS_DISPLACED, proto, 1);
	else if (slot_selected(SLOT_SENT))
		count_loss(c, SLOT_SENT, LOSS_DISPLACED, proto, 1);
}

/* Returns the packet's old entry, a free entry, or the older entry of the set. */
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
	if (a->skb != skb)
		tx_path_drop(a, skb);
	return a;
}

/* Stores a packet in the table. `flags`: TX_GIVEN, TX_UDP, TX_STAMPED. */
static __always_inline void tx_note(struct cpu_state *c, struct sk_buff *skb, __u64 base,
				    __u64 now, __u32 seq, __u32 flags, __u32 group)
{
	struct tx_entry *e = tx_claim(c, (__u64)skb);

	if (!e)
		return;
	e->skb = 0; /* no CPU must find the entry while it changes */
	e->base = base;
	e->last = now;
	e->seq = seq;
	e->where = (skb->dev->ifindex & TX_INDEX) | flags;
	if (by)
		*tx_group_of(e, (__u64)skb) = group;
	e->skb = (__u64)skb;
}

/* Returns true if an upper device (VLAN, bond) has already measured the packet. */
static __always_inline bool tx_is_stacked(struct sk_buff *skb, __u64 base, __u32 seq)
{
	struct tx_entry *e = tx_find((__u64)skb);

	return e && e->base == base && e->seq == seq && !(e->where & TX_UDP) &&
	       (e->where & TX_INDEX) != (__u32)skb->dev->ifindex;
}

/* ---- stages of both protocols ---- */

static __always_inline void tx_paced(struct cpu_state *c, __u64 ahead, __u32 proto, __u32 group)
{
	record_latency(c, SLOT_PACING, proto, 0, group, ahead, 1);
	c->count.excluded[EXCL_PACED][proto]++;
}

#endif
