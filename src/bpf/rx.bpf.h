/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Bodies of the BPF programs on the receive path; bpf/watch.bpf.c defines the programs. */
#ifndef HOSTLAT_BPF_RX_H
#define HOSTLAT_BPF_RX_H

#include "bpf/abi.h"
#include "bpf/group.bpf.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/request_conn.bpf.h"
#include "bpf/requests.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/tasks.bpf.h"
#include "bpf/tcp.bpf.h"
#include "bpf/tcp_rx.bpf.h"
#include "bpf/udp.bpf.h"
#include "bpf/udp_slots.bpf.h"
#include "bpf/uncovered.bpf.h"

#define NF_ACCEPT 1
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000
#define EFAULT 14
/* include/linux/sched.h */
#define TASK_RUNNING 0
#define TASK_STOPPED 4
#define TASK_TRACED 8

/* ---- link ---- */

static __always_inline int rx_link(struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	struct link_entry *e = link_claim((__u64)skb);
	struct cpu_state *c = this_cpu();
	__u8 flags;

	if (!c)
		return 0;
	c->announced = 0;
	c->udp_last = 0;
	c->linked = (__u64)skb;
	flags = rx_iface_flag(e, skb);
	e->skb = 0; /* until it is complete, no other CPU may find the entry by the old packet */
	e->p.link = now;
	e->p.ip = e->p.transport = 0;
	e->p.s.flags = flags;
	origin_by_packet(c, &e->p, skb);
	if (origin_option != ROW_ORIGINS)
		origin_forced(&e->p);
	if (!slot_selected(SLOT_LINK))
		e->p.s.flags &= ~PKT_LINK;
	if (recording)
		link_note_core(&e->p);
	if (uses_link_traits)
		*link_traits_of(e, (__u64)skb) = by ? packet_traits_of(skb, true) :
						   skb->dev->nd_net.net->ns.inum;
	e->skb = (__u64)skb;
	return 0;
}

/* ---- ip and transport ---- */

static __always_inline struct link_entry *rx_link_entry(struct sk_buff *skb)
{
	struct link_entry *e = link_find((__u64)skb);

	return e && !(e->p.s.flags & PKT_USED) ? e : NULL;
}

/* --sample: returns true for a datagram that is not measured. */
static __always_inline bool rx_is_unsampled(const struct link_entry *e)
{
	return sampling && (e->p.s.flags & PKT_SKIP);
}

static __always_inline void rx_ip(struct sk_buff *skb)
{
	struct link_entry *e = rx_link_entry(skb);

	if (e && !rx_is_unsampled(e))
		e->p.ip = bpf_ktime_get_ns();
}

static __always_inline int rx_udp_transport(struct sk_buff *skb)
{
	struct link_entry *e = rx_link_entry(skb);
	struct cpu_state *c = this_cpu();

	if (!c)
		return 0;
	c->udp_skb = c->udp_last = 0;
	if (!e || !link_same(e, skb))
		return 0;
	/* any nonzero time will do if unsampled: it tells drop_slot() that UDP was reached */
	e->p.transport = rx_is_unsampled(e) ? e->p.link : bpf_ktime_get_ns();
	c->udp_skb = (__u64)skb;
	if (udp_batches())
		c->udp_many = udp_makes_copies(skb);
	return 0;
}

static __always_inline int rx_local_in(struct bpf_nf_ctx *ctx)
{
	__u32 protocol = ip_protocol(ctx->skb);

	if (protocol == IPPROTO_UDP)
		rx_udp_transport(ctx->skb);
	else if (likely(protocol == IPPROTO_TCP))
		tcp_enters(ctx->skb);
	/* a TCP header after IPv6 extension headers */
	else if (transport_tcp && protocol_of(ctx->skb) == IPPROTO_TCP)
		tcp_enters(ctx->skb);
	else if (uncovered)
		uncovered_local(ctx);
	return NF_ACCEPT;
}

void *bpf_cast_to_kern_ctx(void *) __ksym __weak;

static __always_inline int rx_cgroup_ingress(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : NULL;

	if (sk && sk->protocol == IPPROTO_UDP)
		rx_udp_transport(bpf_cast_to_kern_ctx(skb));
	else if (transport_tcp && sk && sk->protocol == IPPROTO_TCP)
		tcp_enters(bpf_cast_to_kern_ctx(skb));
	return 1;
}

/* ---- socket: TCP only ---- */

static __always_inline int rx_tcp_socket(struct sock *sk, struct sk_buff *skb)
{
	__u32 fast_path_kind = fast_path;

	if (!sock_selected(sk))
		return 0;
	if (fast_path_kind == FAST_PATH_NONE) {
		separate_path(sk);
		return tcp_arrives(sk, skb);
	}
	if (!tcp_arrives_fast(sk, skb, fast_path_kind))
		tcp_arrives(sk, skb);
	return 0;
}

/* ---- enqueued ---- */

/* --sample: adds a FIFO entry for a datagram that is not measured. */
static __noinline int rx_udp_unsampled(struct cpu_state *c, struct sock *sk, struct link_entry *e)
{
	struct packet p = { .s = { .flags = PKT_SKIP } };
	struct udp_socket *s;

	if (!c || !e)
		return 0;
	e->p.s.flags |= PKT_USED;
	/* not a time: a count, by which udp_source() finds this entry for the datagram's copies */
	e->p.s.enqueued = c->udp_time = c->datagrams;
	p.link = e->p.link;
	wake_expect_untimed();
	s = read_udp ? udp_storage(sk, 1) : NULL;
	if (!s)
		return 0;
	if ((__s64)(s->tail - s->head) <= 0 && udp_unseen(s) <= 0)
		s->stuck_since = 0; /* 0: the FIFO, which is empty, matches the queue */
	udp_push(s, sk, &p, 0);
	return 0;
}

static __always_inline int rx_udp_enqueued(struct sock *sk)
{
	struct cpu_state *c = this_cpu();
	struct link_entry *e;
	struct udp_socket *s;
	struct packet p;
	__u32 group = 0;
	__u64 now;

	if (!c)
		return 0;
	if (!sock_selected(sk)) {
		c->udp_skb = c->udp_last = 0;
		return 0;
	}
	if (sampling) {
		e = udp_announced(c, sk);
		if (e && rx_is_unsampled(e))
			return rx_udp_unsampled(c, sk, e);
	}
	now = bpf_ktime_get_ns();
	c->announced = now;
	if (!sampling)
		e = udp_announced(c, sk);
	if (e) {
		e->p.s.flags |= PKT_USED;
		e->p.s.enqueued = now;
		c->udp_time = now;
		p = e->p;
		p.socket = 0;
		group = group_of(sk, link_traits_get(e->skb));
		if (!(p.s.flags & PKT_IFACE) || (min_queue && !udp_queue_is_long(c, sk)))
			p.s.flags |= PKT_SKIP;
		else if (!filter_tgid)
			udp_record(c, &p, group);
	} else if (sampling && !sample_draw(++c->datagrams << 32 | low_half(sk))) {
		p = (struct packet){ .s = { .enqueued = now, .flags = PKT_SKIP } };
	} else {
		/* an unidentified datagram also gets a FIFO entry, so that FIFO and queue match */
		__u8 why = udp_unknown(sk);

		if (!filter_tgid)
			count_loss(c, SLOT_ENQUEUED, why, ROW_UDP, 1);
		p = (struct packet){
			.s = { .enqueued = now, .flags = PKT_FORCED_MISS, .why = why },
		};
	}
	if (!read_udp)
		return 0;
	s = udp_storage(sk, 1);
	if (!s) {
		count_loss(c, SLOT_READ, LOSS_NO_STORAGE, ROW_UDP, 1);
		return 0;
	}
	udp_resync(c, s, sk, now);
	udp_push(s, sk, &p, group);
	return 0;
}

static __always_inline int rx_enqueued(struct sock *sk)
{
	__u32 protocol = sk->sk_protocol, fast_path_kind = fast_path;

	if (likely(protocol == IPPROTO_TCP)) {
		if (fast_path_kind == FAST_PATH_NONE) {
			separate_path(sk);
			return tcp_enqueued(sk);
		}
		return tcp_enqueued_fast(sk, fast_path_kind) ? 0 : tcp_enqueued(sk);
	}
	if (protocol == IPPROTO_UDP && is_udp_socket(sk))
		return rx_udp_enqueued(sk);
	return 0;
}

/* ---- runnable and running ---- */

static __always_inline int rx_wake(struct task_struct *task)
{
	struct cpu_state *c = this_cpu();
	struct task_state *t;
	__u64 now, since;

	if (!c)
		return 0;
	since = c->announced;
	t = task_get(task, since ? TASK_MAKE : TASK_FIND);
	if (!t) {
		/* count a lost wakeup: a reader without a state seems to have needed none */
		if (since)
			count_loss(c, SLOT_RUNNABLE, LOSS_NO_STORAGE,
				   since == c->udp_time ? ROW_UDP : ROW_TCP, 1);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (t->stopped_since)
		task_continued(t, now);
	t->runnable_since = now;
	t->net = 0;
	if (!since)
		return 0;
	if (sampling && since == ANNOUNCED_UNTIMED)
		since = now;
	if (slower_than && !t->since) /* new state; the task slept: no earlier wait is missing */
		t->since = since;
	if (now - since > ANNOUNCE_WINDOW) {
		c->announced = 0;
	} else {
		t->net = 1;
		t->net_wake = now;
	}
	return 0;
}

static __always_inline int rx_timer(void)
{
	struct cpu_state *c = this_cpu();

	if (c)
		c->announced = 0;
	return 0;
}

static __always_inline int rx_switch(bool preempt, struct task_struct *prev,
				     struct task_struct *next, unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	struct cpu_state *c = this_cpu();
	struct task_state *t;

	if (!c)
		return 0;
	t = task_get(next, TASK_FIND);
	if (t)
		task_runs(c, t, now);
	t = task_get(prev, TASK_FIND);
	if (t) {
		/*
		 * A task that leaves the CPU while it can run waits for a CPU from now on. If it
		 * goes to sleep, `runnable_since` may be a wakeup by another CPU meanwhile: it
		 * stays.
		 */
		if (preempt || prev_state == TASK_RUNNING) {
			t->runnable_since = now;
			t->net = 0;
		}
		t->stopped_since = prev_state & (TASK_STOPPED | TASK_TRACED) ? now : 0;
	}
	c->announced = 0;
	cpu_note_switch(c, next, now);
	return 0;
}

/* ---- read ---- */

static __always_inline int rx_tcp_copied(struct sock *sk)
{
	__u32 fast_path_kind = fast_path;

	if (fast_path_kind == FAST_PATH_NONE) {
		separate_path(sk);
		return tcp_copied(sk);
	}
	return tcp_copied_fast(sk, fast_path_kind) ? 0 : tcp_copied(sk);
}

/* Handles a read datagram. A datagram with a failed copy (EFAULT) left the queue unread. */
static __always_inline int rx_udp_returned(struct sock *sk, bool copied)
{
	struct cpu_state *c = this_cpu();
	struct udp_socket *s;

	if (!c || !sock_selected(sk))
		return 0;
	s = udp_storage(sk, 0);
	if (s)
		udp_pop(c, s, sk, copied && reader_selected(),
			sampling ? 0 : bpf_ktime_get_ns());
	return 0;
}

/*
 * --pid: counts a loss for each receive call of the process on an MPTCP connection. Packets of
 * MPTCP connections cannot be assigned to a process, but receive calls can.
 */
static __always_inline int rx_mptcp_returned(struct sock *sk)
{
	struct cpu_state *c = this_cpu();

	if (c && filter_tgid && sock_selected(sk) && reader_selected())
		count_loss(c, SLOT_READ, LOSS_MPTCP, ROW_TCP, 1);
	return 0;
}

static __always_inline int rx_returned(struct sock *sk, int ret, int flags)
{
	__u32 protocol = sk->sk_protocol;

	if (flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	if (requests && protocol == IPPROTO_TCP && ret > 0)
		requests_read(sk, ret, flags);
	if (likely(protocol == IPPROTO_TCP))
		return ret < 0 ? 0 : tcp_returned(sk, ret);
	if (protocol == IPPROTO_UDP && is_udp_socket(sk))
		return ret < 0 && ret != -EFAULT ? 0 : rx_udp_returned(sk, ret >= 0);
	if (filter_tgid && protocol == IPPROTO_MPTCP && ret > 0)
		return rx_mptcp_returned(sk);
	return 0;
}

/* Parses a returned receive call; the arguments of tcp_recvmsg() are those since 5.19. */
static __always_inline void rx_requests_returned(__u64 *ctx, struct sock *sk)
{
	int flags = ctx[3];
	__u64 n = 0;

	if (bpf_get_func_arg_cnt(ctx) == 5 && !bpf_get_func_ret(ctx, &n) && (int)n > 0 &&
	    !(flags & (MSG_PEEK | MSG_ERRQUEUE)))
		requests_read(sk, n, flags);
}

/* ---- end and reuse of a socket ---- */

static __always_inline int rx_destroyed(struct sock *sk)
{
	struct tcp_entry *e = tcp_entry(sk);
	struct tcp_socket *s = tcp_state(sk, 0);

	if (!s)
		return 0;
	ext_return(s);
	if (s != &e->s)
		return 0;
	s->head = s->tail = s->n_ooo = 0;
	s->next_is = NEXT_NONE;
	s->counted = s->missing = 0;
	s->ours = 0;
	e->sk = 0;
	return 0;
}

/*
 * TCP Fast Open: the SYN's payload is in the queue of a socket without a call of sk_data_ready(). A
 * client has syn_data_acked, too, but comes from another state.
 */
static __noinline int rx_tcp_fast_open(struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct cpu_state *c = this_cpu();

	if (c && tp && BPF_CORE_READ_BITFIELD(tp, syn_data_acked) && sock_selected(sk) &&
	    !filter_tgid)
		count_loss(c, SLOT_ENQUEUED, LOSS_NOT_ESTABLISHED, ROW_TCP, 1);
	return 0;
}

/*
 * Clears the socket's state of an earlier connection at connect() and accept(). When this end sends
 * its FIN, clears only `next_is`, the state that tcp_probe passes to sk_data_ready().
 */
static __always_inline int rx_state_changes(struct sock *sk, int from, int to)
{
	struct tcp_socket *s;

	if ((to != TCP_SYN_SENT && to != TCP_FIN_WAIT1 && from != TCP_SYN_RECV) ||
	    sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (from == TCP_SYN_RECV && to == TCP_ESTABLISHED)
		rx_tcp_fast_open(sk);
	s = tcp_state(sk, 0);
	if (!s)
		return 0;
	s->next_is = NEXT_NONE;
	if (to == TCP_FIN_WAIT1 && from != TCP_SYN_RECV)
		return 0;
	ext_return(s);
	s->head = s->tail;
	s->n_ooo = 0;
	s->counted = s->missing = 0;
	return 0;
}

#endif
