/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * TCP's receive path: when a packet enters TCP, at tcp_probe, at sk_data_ready(), copy and return.
 *
 * Functions *_fast() are fast paths for nearly all packets, with settings that enum fast_path
 * describes. A fast path changes nothing before it knows that it can finish; else it leaves the
 * packet to the slow path, the function without _fast.
 */
#ifndef HOSTLAT_BPF_TCP_RX_H
#define HOSTLAT_BPF_TCP_RX_H

#include "bpf/abi.h"
#include "bpf/group.bpf.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/request_conn.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/tasks.bpf.h"
#include "bpf/tcp.bpf.h"

/* ---- transport ---- */

/* Returns true if the entry is the packet's. Unlike link_same(), accepts the sender's stamp. */
static __always_inline bool tcp_enters_same(const struct link_entry *e, struct sk_buff *skb)
{
	if (!e->p.s.seq && stamp_clock(skb) == STAMP_MONOTONIC)
		return e->p.link - skb->tstamp == link_latency(&e->p);
	return link_same(e, skb);
}

/*
 * Stores the time at TCP's entry, before the socket is looked up or locked. Marks an earlier
 * packet's entry for this address as used, so that `socket` does not take it for this packet's.
 */
static __always_inline int tcp_enters(struct sk_buff *skb)
{
	struct link_entry *e;

	if (!transport_tcp)
		return 0;
	e = link_find((__u64)skb);
	if (!e || link_served(e))
		return 0;
	if (likely(!(e->p.s.flags & PKT_USED) && tcp_enters_same(e, skb)))
		e->p.transport = bpf_ktime_get_ns();
	else
		link_serve(e);
	return 0;
}

/* ---- socket ---- */

static __always_inline void tcp_lost(struct cpu_state *c, const struct tcp_socket *s, __u32 slot,
				     __u32 why)
{
	if (loss_is_counted(s ? s->ours : 0))
		count_loss(c, slot, why, ROW_TCP, 1);
}

static __noinline int tcp_out_of_order(struct cpu_state *c, struct tcp_socket *s, struct sock *sk)
{
	struct ooo_queue *q = bpf_sk_storage_get(&ooo_queues, sk, NULL,
						 BPF_SK_STORAGE_GET_F_CREATE);

	if (!c || !s)
		return 0;
	if (!q) {
		count_loss(c, SLOT_ENQUEUED, LOSS_NO_STORAGE, ROW_TCP, 1);
		return 0;
	}
	return ooo_add(c, s, q, &s->next);
}

/* Returns true if the packet came by an interface of the filter. `skb` NULL: no --ifname. */
static __always_inline bool rx_iface_is_selected(const struct sk_buff *skb)
{
	struct link_entry *e;

	if (!skb || !filter_ifname[0])
		return true;
	e = link_find((__u64)skb);
	return e && (e->p.s.flags & PKT_IFACE);
}

/* Counts an excluded packet, but not with --pid, as the packet's process is unknown. */
static __always_inline int tcp_excluded(struct cpu_state *c, const struct sk_buff *skb, __u32 why)
{
	if (!filter_tgid && rx_iface_is_selected(skb))
		c->count.excluded[why][ROW_TCP]++;
	return 0;
}

/* Copies the packet's times from the link table. Without any, stages after `link` count as lost. */
static __always_inline void tcp_copy_packet(struct packet *p, const struct sock *sk,
					    const struct sk_buff *skb)
{
	struct link_entry *e = link_find((__u64)skb);
	__u64 traits = link_traits_get((__u64)skb);

	if (e)
		*p = e->p;
	if (!e || link_served(e) || !(link_entered(e) || link_same(e, skb)) ||
	    e->skb != (__u64)skb) /* an earlier packet's entry, or overwritten during the copy */
		*p = (struct packet){
			.s = { .flags = PKT_IFACE | PKT_FORCED_MISS, .why = LOSS_NO_LINK_STAMP },
		};
	else
		link_serve(e);
	if (by)
		p->s.group = group_of(sk, traits);
}

/* Handles a packet for which TCP does not call sk_data_ready() when it is queued (SO_RCVLOWAT). */
static __always_inline void tcp_unannounced(struct cpu_state *c, struct tcp_socket *s)
{
	if (min_queue) { /* the packet will be unread and not in the FIFO: note that */
		s->missing = 1;
		s->missing_seq = s->next.s.seq;
	}
	if (!is_filtered(&s->next.s))
		tcp_lost(c, s, SLOT_ENQUEUED, LOSS_LOWAT);
}

/* Returns true for an MPTCP subflow: MPTCP queues the packets elsewhere, and no state is kept. */
static __always_inline bool tcp_is_mptcp(struct sock *sk)
{
	struct tcp_sock *tp = NULL;

	if (!bpf_core_field_exists(tp->is_mptcp))
		return false;
	tp = bpf_skc_to_tcp_sock(sk);
	return tp && tp->is_mptcp;
}

/* Records a packet's stages from its arrival up to its socket. */
static __always_inline void tcp_record(struct cpu_state *c, const struct packet *p)
{
	__u32 stages = slots;

	record_lower(c, p, ROW_TCP, stages, p->s.group);
	record_transport(c, p, ROW_TCP, stages, p->s.group);
	record_socket(c, p, stages, p->s.group);
}

/* Measures an MPTCP subflow's packet up to `socket`; not with --pid: its process is unknown. */
static __noinline int mptcp_arrives(struct cpu_state *c, struct sock *sk, struct sk_buff *skb,
				    __u64 now)
{
	struct packet p;

	if (!c || filter_tgid)
		return 0;
	tcp_copy_packet(&p, sk, skb);
	if (!(p.s.flags & PKT_IFACE))
		return 0;
	if (min_queue) { /* a loss: the number of unread packets in MPTCP's queue is unknown */
		count_loss(c, SLOT_ENQUEUED, LOSS_MPTCP, ROW_TCP, 1);
		return 0;
	}
	p.socket = now;
	origin_delivered(c, &p, skb, now);
	tcp_record(c, &p);
	count_loss(c, SLOT_ENQUEUED, LOSS_MPTCP, ROW_TCP, 1);
	return 0;
}

/* Slow path when a segment reaches its socket, for all packets and settings. */
static __noinline int tcp_arrives(struct sock *sk, struct sk_buff *skb)
{
	struct cpu_state *c = this_cpu();
	__u32 seq, len = tcp_payload(skb, &seq), rcv_nxt;
	struct tcp_socket *s;
	struct packet *p;
	__u64 now;

	if (!c)
		return 0;
	rcv_nxt = tcp_number(sk, rcv_nxt, FAST_PATH_NONE);
	if (!len || !seq_after(seq + len, rcv_nxt)) {
		link_serve(link_find((__u64)skb));
		return tcp_excluded(c, skb, len ? EXCL_DUPLICATE : EXCL_PURE_ACK);
	}
	now = bpf_ktime_get_ns();
	if (unlikely(tcp_is_mptcp(sk)))
		return mptcp_arrives(c, sk, skb, now);
	s = tcp_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s) {
		count_loss(c, SLOT_SOCKET, LOSS_NO_STORAGE, ROW_TCP, 1);
		return 0;
	}
	p = &s->next;
	s->next_is = NEXT_NONE;
	tcp_copy_packet(p, sk, skb);
	if (!(p->s.flags & PKT_IFACE) && !min_queue)
		return 0;
	p->socket = now;
	p->s.seq = seq_after(rcv_nxt, seq) ? rcv_nxt : seq; /* number of the first new byte */
	s->next_end = seq + len;
	origin_delivered(c, p, skb, now);
	if (min_queue)
		tcp_filter_queue(c, s, sk, rcv_nxt);
	if (!filter_tgid && !is_filtered(&p->s))
		tcp_record(c, p);
	if (seq_after(seq, rcv_nxt))
		tcp_out_of_order(c, s, sk);
	else if (sk->sk_rcvlowat > 1)
		tcp_unannounced(c, s);
	else
		s->next_is = p->s.flags & PKT_FORCED_MISS ? NEXT_MISS : NEXT_MEASURED;
	return 0;
}

/* Records the stage after `link`; its step begins there if PKT_LINK is set, else at the origin. */
static __always_inline void tcp_first_step(struct cpu_state *c, __u32 slot,
					   const struct link_entry *e, __u32 tag, __u64 base,
					   __u64 at)
{
	if (likely(!(tag & 0xff))) /* origin is `link`: step = latency, user space copies it */
		record_latency(c, slot, ROW_TCP, ROW_LINK, 0, at - base, 1);
	else
		record_stage(c, slot, ROW_TCP, tag, 0, at - base,
			     at - (tag & TAG(PKT_LINK) ? READ_ONCE(e->p.link) : base), 1);
}

/* Fast path when a segment reaches its socket. Returns false if tcp_arrives() must handle it. */
static __always_inline bool tcp_arrives_fast(struct sock *sk, struct sk_buff *skb,
					     __u32 fast_path_kind)
{
	const struct tcp_skb_cb *cb = (const struct tcp_skb_cb *)skb->cb;
	struct tcp_entry *t;
	struct link_entry *e;
	struct cpu_state *c;
	__u64 now, base, link_ns, entered;
	__u32 tag;

	if (unlikely(cb->tcp_flags & (TCP_FLAG_FIN | TCP_FLAG_SYN)))
		return false;
	if (cb->end_seq == cb->seq) {
		link_serve(link_find((__u64)skb));
		c = this_cpu();
		return !c || !tcp_excluded(c, NULL, EXCL_PURE_ACK);
	}
	if (unlikely(tcp_number(sk, rcv_nxt, fast_path_kind) != cb->seq))
		return false;
	now = bpf_ktime_get_ns();
	c = this_cpu();
	if (!c)
		return true;
	t = tcp_entry(sk);
	e = link_find((__u64)skb);
	if (unlikely(!e || t->sk != (__u64)sk || sk->sk_rcvlowat > 1))
		return false;
	base = READ_ONCE(e->p.s.base);
	if (unlikely(now - base > STAMP_AGE_USUAL)) /* an earlier packet's entry, or used: base 0 */
		return false;
	tag = READ_ONCE(e->p.s.tag);
	link_ns = READ_ONCE(e->p.link_ns);
	entered = transport_tcp ? READ_ONCE(e->p.transport) : 0;
	if (transport_tcp && unlikely(!entered)) /* time of entry into TCP unknown: slow path */
		return false;
	/* another packet displaced the entry during the reads */
	if (unlikely(READ_ONCE(e->skb) != (__u64)skb))
		return false;
	link_serve(e);
	t->s.next_is = NEXT_MEASURED;
	t->s.next_end = READ_ONCE(cb->end_seq);
	t->s.next.s.seq = READ_ONCE(cb->seq);
	t->s.next.s.base = base;
	t->s.next.s.tag = tag;
	t->s.next.socket = now;
	if (tag & TAG(PKT_LINK))
		record_latency(c, SLOT_LINK, ROW_TCP, tag >> 8, 0, link_ns, 1);
	if (transport_tcp) {
		tcp_first_step(c, SLOT_TRANSPORT, e, tag, base, entered);
		record_stage(c, SLOT_SOCKET, ROW_TCP, tag, 0, now - base, now - entered, 1);
	} else {
		tcp_first_step(c, SLOT_SOCKET, e, tag, base, now);
	}
	return true;
}

/* ---- enqueued ---- */

/*
 * Handles sk_data_ready() without tcp_probe, which fires in ESTABLISHED only: payload also comes
 * with the handshake's last segment, or after this end's FIN.
 */
static __noinline int tcp_unprobed(struct cpu_state *c, struct sock *sk)
{
	struct sk_buff *tail = sk->sk_receive_queue.prev;
	__u8 state = sk->__sk_common.skc_state;
	struct link_entry *e = link_find((__u64)tail);
	struct tcp_socket *s;
	struct packet p;

	if (!c || state == TCP_LISTEN || sk->sk_type != SOCK_STREAM || !sock_selected(sk))
		return 0;
	if (sampling && !tcp_drawn(tail))
		return 0;
	/* an earlier packet at this address, which TCP never took, has left the entry */
	if (sampling && e && !link_same(e, tail))
		e = NULL;
	if (!e || (e->p.s.flags & PKT_USED) || link_served(e)) {
		/* the tail was merged with another packet, so this packet cannot be identified */
		if (state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2)
			tcp_lost(c, tcp_state(sk, 0), SLOT_ENQUEUED, LOSS_NOT_ESTABLISHED);
		return 0;
	}
	e->p.s.flags |= PKT_USED;
	p = e->p;
	p.socket = 0;
	if (by)
		p.s.group = group_of(sk, link_traits_get((__u64)tail));
	if (!(p.s.flags & PKT_IFACE) || !tcp_payload(tail, &p.s.seq))
		return 0;
	s = tcp_is_mptcp(sk) ? NULL : tcp_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (min_queue && s) {
		s->next = p;
		tcp_filter_queue(c, s, sk, p.s.seq);
		p.s.flags = s->next.s.flags;
	}
	if (!filter_tgid && !is_filtered(&p.s) && (!min_queue || s))
		tcp_record(c, &p);
	if (!s) {
		tcp_lost(c, NULL, SLOT_ENQUEUED, tcp_is_mptcp(sk) ? LOSS_MPTCP : LOSS_NO_STORAGE);
		return 0;
	}
	tcp_enqueue(c, s, &p, bpf_ktime_get_ns());
	return 0;
}

/* Slow path of sk_data_ready(); also releases packets that waited behind the filled hole. */
static __noinline int tcp_enqueued(struct sock *sk)
{
	struct tcp_socket *s = sock_selected(sk) ? tcp_state(sk, 0) : NULL;
	__u8 state = sk->__sk_common.skc_state;
	struct cpu_state *c = this_cpu();
	struct ooo_queue *q;
	__u32 rcv_nxt;
	bool passed;
	__u64 now;

	if (!c)
		return 0;
	if (!s || !s->next_is || state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2)
		return tcp_unprobed(c, sk);
	rcv_nxt = tcp_number(sk, rcv_nxt, FAST_PATH_NONE);
	if (!seq_after(rcv_nxt, s->next.s.seq))
		/* memory is short: TCP calls sk_data_ready() before it queues or drops a packet */
		return 0;
	passed = sampling && s->next_is == NEXT_UNSAMPLED;
	s->next_is = NEXT_NONE;
	now = bpf_ktime_get_ns();
	c->announced = now;
	if (!passed)
		tcp_enqueue(c, s, &s->next, now);
	if (!s->n_ooo)
		return 0;
	q = bpf_sk_storage_get(&ooo_queues, sk, NULL, 0);
	if (q)
		ooo_release(c, s, q, (__u64)s->next_end << 32 | rcv_nxt, now);
	return 0;
}

/* Returns `tag` and `seq` as one word; the low half is `tag`. */
static __always_inline __u64 *stamp_tag_and_seq(struct stamp *s)
{
	return (__u64 *)&s->tag;
}

/* Fast path of sk_data_ready(). Returns false if the caller must call tcp_enqueued(). */
static __always_inline bool tcp_enqueued_fast(struct sock *sk, __u32 fast_path_kind)
{
	struct tcp_entry *t = tcp_entry(sk);
	struct tcp_socket *s = &t->s;
	struct cpu_state *c;
	__u64 now, base, before, tag;
	struct stamp *p;
	__u32 tail;

	/* no test for FIN_WAIT*: the program connect_tp resets next_is when FIN_WAIT1 begins */
	if (unlikely(t->sk != (__u64)sk || s->next_is != NEXT_MEASURED || s->needs_slow_path))
		return false;
	tail = s->tail;
	if (unlikely(tail - s->head >= TCP_RING))
		return false;
	if (unlikely(!seq_after(tcp_number(sk, rcv_nxt, fast_path_kind), s->next.s.seq)))
		return true; /* TCP is short of memory and has not queued the packet */
	now = bpf_ktime_get_ns();
	c = this_cpu();
	if (!c)
		return true;
	c->announced = now;
	s->next_is = NEXT_NONE;
	base = s->next.s.base;
	before = s->next.socket;
	tag = *stamp_tag_and_seq(&s->next.s);
	s->tail = tail + 1;
	p = &s->ring[tail & (TCP_RING - 1)].s;
	p->base = base;
	p->enqueued = now;
	*stamp_tag_and_seq(p) = tag;
	record_stage(c, SLOT_ENQUEUED, ROW_TCP, tag, 0, now - base, now - before, 1);
	return true;
}

/* ---- read ---- */

/*
 * Returns true after a splice, which has removed the bytes that it read from the queue; after a
 * receive call, the queue still holds these bytes.
 */
static __always_inline bool tcp_was_spliced(const struct sock *sk, __u32 copied)
{
	const struct sk_buff *head = sk->sk_receive_queue.next;
	const struct tcp_skb_cb *cb = (const struct tcp_skb_cb *)head->cb;

	return !sk->sk_receive_queue.qlen || !seq_after(copied, cb->seq);
}

/* Stores the read position for tcp_returned() after a copy without a packet's first byte. */
static __noinline int tcp_copied_more(struct sock *sk, __u32 copied)
{
	struct task_state *t = task_get(bpf_get_current_task_btf(), TASK_FIND);

	if (t && t->n && t->sk == (__u64)sk)
		t->copied = copied;
	return 0;
}

static __noinline int tcp_no_reader(__u32 why, __u32 n)
{
	struct cpu_state *c = this_cpu();

	if (c)
		count_loss(c, SLOT_READ, why, ROW_TCP, n);
	return 0;
}

/*
 * sk_user_data flag of a sockmap with programs (include/net/sock.h). There the kernel may move
 * packets to another socket in softirq, whatever task is current, so only a receive call counts as
 * a read.
 */
#define SK_USER_DATA_PSOCK 4

static __always_inline bool tcp_in_sockmap(const struct sock *sk)
{
	return (__u64)sk->sk_user_data & SK_USER_DATA_PSOCK;
}

GLOBAL_SUBPROG int tcp_finish_read(struct cpu_state *c, struct task_state *t)
{
	if (c && t)
		task_read_finish(c, t, ROW_TCP, bpf_ktime_get_ns());
	return 0;
}

static __noinline int tcp_finish(struct task_state *t, struct sock *sk)
{
	struct cpu_state *c = this_cpu();

	if (c && t && !tcp_in_sockmap(sk))
		tcp_finish_read(c, t);
	return 0;
}

/* Returns the current task's state, ready for this socket's packet; NULL: no entry is free. */
static __always_inline struct task_state *tcp_reader(struct tcp_socket *s, struct sock *sk,
						     __u32 copied)
{
	struct task_state *t = task_get(bpf_get_current_task_btf(), TASK_MAKE);

	if (unlikely(!t)) {
		tcp_no_reader(LOSS_NO_STORAGE, 1);
		return NULL;
	}
	if (unlikely(t->n && (t->sk != (__u64)sk || tcp_in_sockmap(sk)))) {
		tcp_no_reader(LOSS_UNSUPPORTED_SPLICE, t->n);
		t->n = 0;
	}
	t->sk = (__u64)sk;
	t->copied = copied;
	if (filter_tgid)
		s->ours = 1;
	return t;
}

/* Slow path of a copy to the reader. */
static __noinline int tcp_copied(struct sock *sk)
{
	__u32 copied = tcp_number(sk, copied_seq, FAST_PATH_NONE);
	struct tcp_socket *s = tcp_state(sk, 0);
	struct request_conn *r = NULL;
	struct task_state *t = NULL;
	struct queued *p;

	if (!s)
		return 0;
	p = tcp_head(s);
	if (!p || !seq_after(copied, p->s.seq))
		return tcp_copied_more(sk, copied);
	if (reader_selected()) {
		t = tcp_reader(s, sk, copied);
		if (!t)
			return 0;
	}
	if (requests && t)
		r = bpf_sk_storage_get(&request_conns, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	tcp_read_each(s, t, r, copied); /* inlined to save one of eight stack frames */
	if (t && tcp_was_spliced(sk, copied))
		tcp_finish(t, sk);
	return 0;
}

/* Fast path of a copy to the reader. Returns false if the caller must call tcp_copied(). */
static __always_inline bool tcp_copied_fast(struct sock *sk, __u32 fast_path_kind)
{
	struct tcp_entry *e = tcp_entry(sk);
	struct tcp_socket *s = &e->s;
	__u32 head, copied, stages = slots;
	struct task_struct *task;
	struct task_entry *reader;
	struct task_state *t;
	struct cpu_state *c;
	struct queued *p;

	if (unlikely(e->sk != (__u64)sk))
		return false;
	head = s->head;
	if (unlikely(head == s->tail))
		return false;
	copied = tcp_number(sk, copied_seq, fast_path_kind);
	p = &s->ring[head & (TCP_RING - 1)];
	if (unlikely(!seq_after(copied, p->s.seq)))
		return false;
	task = bpf_get_current_task_btf();
	reader = task_entry(task);
	t = &reader->s;
	if (unlikely(reader->task != (__u64)task || t->n))
		return false;
	if (stages & (1U << SLOT_RUNNABLE | 1U << SLOT_RUNNING)) {
		c = this_cpu();
		if (c)
			record_woken(c, t, &p->s, p->s.enqueued, ROW_TCP, 0);
	}
	t->sk = (__u64)sk;
	t->copied = copied;
	task_read_start(t, p);
	s->head = ++head;
	if (unlikely(head != s->tail || s->ext))
		tcp_read_all(s, t, copied);
	if (unlikely(tcp_was_spliced(sk, copied)))
		tcp_finish(t, sk);
	return true;
}

/*
 * Returns true if an earlier call took the packet: a splice that left a part of the packet.
 * Tolerates one byte, as no call returns an urgent byte. With a ULP (TLS), a call returns fewer
 * bytes than it takes from the queue.
 */
static __always_inline bool tcp_was_read_before(const struct task_state *t, __u32 returned)
{
	return seq_after(t->copied - returned - 1, t->oldest.seq);
}

static __noinline int tcp_has_ulp(struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	return tp && tp->inet_conn.icsk_ulp_ops;
}

/* Ends a read; `returned` is negative if unknown. */
static __always_inline int tcp_returned(struct sock *sk, int returned)
{
	struct task_state *t = task_get(bpf_get_current_task_btf(), TASK_FIND);
	struct cpu_state *c;
	__u64 now;

	if (!t || !t->n)
		return 0;
	if (unlikely(t->sk != (__u64)sk ||
		     (returned >= 0 && tcp_was_read_before(t, returned) && !tcp_has_ulp(sk)))) {
		tcp_no_reader(LOSS_UNSUPPORTED_SPLICE, t->n);
		t->n = 0;
		return 0;
	}
	now = bpf_ktime_get_ns();
	c = this_cpu();
	if (c)
		task_read_finish(c, t, ROW_TCP, now);
	return 0;
}

#endif
