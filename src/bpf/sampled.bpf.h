/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Bodies of the programs of --sample and --max-overhead. The program NAME_sampled replaces NAME: it
 * ends before the clock is read for packets that are not sampled.
 */
#ifndef HOSTLAT_BPF_SAMPLED_H
#define HOSTLAT_BPF_SAMPLED_H

#include "bpf/abi.h"
#include "bpf/egress.bpf.h"
#include "bpf/egress_table.bpf.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/rx.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/tasks.bpf.h"
#include "bpf/tcp.bpf.h"
#include "bpf/tcp_rx.bpf.h"

/* ---- TCP on the receive path ---- */

/*
 * Notes in the socket's state that this segment is unsampled; the program at sk_data_ready() then
 * skips the segment. Creating a state takes less time than finding that there is none.
 */
static __always_inline int sampled_tcp_unmeasured(struct sock *sk, const struct sk_buff *skb)
{
	const struct tcp_skb_cb *cb = (const struct tcp_skb_cb *)skb->cb;
	struct tcp_socket *s = tcp_state(sk, 0);

	if (unlikely(!s)) {
		if (tcp_is_mptcp(sk))
			return 0;
		s = tcp_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	}
	if (!s)
		return 0;
	s->next_is = NEXT_UNSAMPLED;
	s->next_end = cb->end_seq;
	s->next.s.seq = cb->seq;
	return 0;
}

/*
 * Handles a segment that reaches its TCP socket, with --sample. Counts all segments without
 * payload, but only sampled duplicates.
 */
static __always_inline int sampled_tcp_socket(struct sock *sk, struct sk_buff *skb)
{
	const struct tcp_skb_cb *cb = (const struct tcp_skb_cb *)skb->cb;
	struct link_entry *e;
	__u32 seq;

	if (cb->seq == cb->end_seq || !tcp_payload(skb, &seq))
		return rx_tcp_socket(sk, skb);
	if (!tcp_drawn(skb))
		return sock_selected(sk) ? sampled_tcp_unmeasured(sk, skb) : 0;
	e = link_find((__u64)skb);
	if (e && link_same(e, skb))
		return rx_tcp_socket(sk, skb);
	/* not the fast path, which would accept an earlier packet's entry for this address */
	return sock_selected(sk) ? tcp_arrives(sk, skb) : 0;
}

static __always_inline int sampled_enqueued(struct sock *sk)
{
	struct tcp_entry *t = tcp_entry(sk);

	if (likely(t->sk == (__u64)sk && t->s.next_is == NEXT_UNSAMPLED && !t->s.n_ooo)) {
		t->s.next_is = NEXT_NONE;
		wake_expect_untimed();
		return 0;
	}
	return rx_enqueued(sk);
}

/* Returns true if no copied byte can be the first byte of a sampled packet. */
static __always_inline bool sampled_copied_none(struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_entry *reader = task_entry(task);
	struct tcp_entry *e = tcp_entry(sk);
	__u32 head;

	if (e->sk != (__u64)sk || reader->task != (__u64)task || reader->s.n || e->s.ext)
		return false;
	head = e->s.head;
	if (head == e->s.tail)
		return true;
	return can_cast && !seq_after(tcp_number(sk, copied_seq, FAST_PATH),
				      e->s.ring[head & (TCP_RING - 1)].s.seq);
}

/* ---- the transmit side ---- */

static __always_inline int sampled_qdisc(struct sk_buff *skb)
{
	struct sock *sk = tx_owner(skb);
	struct cpu_state *c;

	if (!sk || sk->sk_protocol != IPPROTO_TCP || tx_drawn(skb))
		return tx_queued(skb);
	c = this_cpu();
	if (c)
		c->departures++;
	return 0;
}

/*
 * Handles a packet that is passed to the driver, with --sample. A packet without an entry in the
 * transmit table was not sampled, or is a segment of a larger packet: its own sequence number
 * decides. Identifies datagrams also by socket, as their stamps may have been replaced.
 */
static __always_inline int sampled_driver(struct sk_buff *skb)
{
	struct tx_entry *e = tx_find((__u64)skb);

	bool own = e && (e->base == (__u64)skb->tstamp ||
			 (e->where & TX_UDP && e->seq == low_half(skb->sk)));

	if (!own && !tx_drawn(skb))
		return 0;
	return tx_given(skb);
}

/* ---- `link` ---- */

static __always_inline int sampled_link(struct sk_buff *skb)
{
	struct cpu_state *c = this_cpu();

	if (!c)
		return 0;
	if (link_drawn(c, skb))
		return rx_link(skb);
	c->announced = 0;
	c->udp_last = 0;
	return 0;
}

#endif
