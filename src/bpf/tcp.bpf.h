/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Stamps of the packets in each TCP socket's receive queue.
 *
 * The kernel merges packets in the queue and keeps only the youngest stamp. This FIFO keeps one
 * entry per packet with its first sequence number, so that the socket's read position distinguishes
 * partial reads, peeks and merged packets. Both ends run under the socket's lock (sk_data_ready in
 * the delivering softirq or the backlog, tcp_rcv_space_adjust in the reader), so plain indices
 * suffice.
 */
#ifndef HOSTLAT_BPF_TCP_H
#define HOSTLAT_BPF_TCP_H

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/maps.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/request_conn.bpf.h"
#include "bpf/tasks.bpf.h"
#include "event/layout.h"

/* include/net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_FIN_WAIT1 4
#define TCP_FIN_WAIT2 5
#define TCP_LISTEN 10
#define TCP_FLAG_FIN 1
#define TCP_FLAG_SYN 2

/*
 * Reads a member of struct tcp_sock. The helper that converts the pointer is too slow for the hot
 * path; newer kernels' bpf_rdonly_cast() costs nothing.
 */
#define tcp_number(sk, field, how)                                                                 \
	({                                                                                         \
		struct tcp_sock *_tp;                                                              \
		__u32 _n = 0;                                                                      \
                                                                                                   \
		if ((how) == FAST_PATH) {                                                          \
			_tp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));       \
			_n = _tp->field;                                                           \
			barrier_var(_n); /* load once: the verifier adds a check to each load */   \
		} else {                                                                           \
			_tp = bpf_skc_to_tcp_sock(sk);                                             \
			if (_tp)                                                                   \
				_n = _tp->field;                                                   \
			separate_path(_n);                                                         \
		}                                                                                  \
		_n;                                                                                \
	})

static __always_inline bool seq_after(__u32 a, __u32 b)
{
	return (__s32)(a - b) > 0;
}

static __always_inline struct tcp_entry *tcp_entry(const void *sk)
{
	return &tcp_table[low_half(sk) * 0x9e3779b1U >> (32 - TCP_TABLE_LOG2)];
}

static __noinline struct tcp_socket *tcp_state_slow(struct sock *sk, struct tcp_entry *e,
						    __u64 flags)
{
	struct tcp_socket *s = bpf_sk_storage_get(&tcp_sockets, sk, NULL, 0);

	if (s || !flags)
		return s;
	if (sockets_end && !e->sk && !__sync_val_compare_and_swap(&e->sk, 0, (__u64)sk))
		return &e->s;
	return bpf_sk_storage_get(&tcp_sockets, sk, NULL, flags);
}

/* Returns a socket's state; makes one if `flags` has BPF_SK_STORAGE_GET_F_CREATE. */
static __always_inline struct tcp_socket *tcp_state(struct sock *sk, __u64 flags)
{
	struct tcp_entry *e = tcp_entry(sk);

	return likely(e->sk == (__u64)sk) ? &e->s : tcp_state_slow(sk, e, flags);
}

GLOBAL_SUBPROG __u32 ext_borrow(void)
{
	__u32 i;

	for (i = 0; i < EXT_MAX; i++) {
		__u64 bit = 1ULL << i;

		if (i >= ext_limit)
			break;
		if (!(ext_used & bit) && !(__sync_fetch_and_or(&ext_used, bit) & bit))
			return i + 1;
	}
	return 0;
}

static __always_inline void ext_return(struct tcp_socket *s)
{
	if (s->ext)
		__sync_fetch_and_and(&ext_used, ~(1ULL << ((s->ext - 1) & 63)));
	s->ext = s->ext_head = s->ext_tail = 0;
}

static __always_inline struct queued *ext_slot(struct tcp_socket *s, __u32 pos)
{
	__u32 i = s->ext - 1;
	struct ext_ring *r = bpf_map_lookup_elem(&ext_rings, &i);

	if (!r)
		return NULL;
	barrier_var(r);
	return &r->ring[pos & (EXT_RING - 1)];
}

static __noinline struct queued *ext_push(struct tcp_socket *s)
{
	if (!s)
		return NULL;
	if (!s->ext)
		s->ext = ext_borrow();
	if (!s->ext || s->ext_tail - s->ext_head >= EXT_RING)
		return NULL;
	return ext_slot(s, s->ext_tail++);
}

/* Returns the FIFO's next free entry; NULL: full. Uses a borrowed longer ring until it is empty. */
static __always_inline struct queued *tcp_push(struct tcp_socket *s)
{
	__u32 tail = s->tail;

	if (unlikely(s->ext || tail - s->head >= TCP_RING))
		return ext_push(s);
	s->tail = tail + 1;
	return &s->ring[tail & (TCP_RING - 1)];
}

static __noinline struct queued *ext_first(struct tcp_socket *s)
{
	return s && s->ext ? ext_slot(s, s->ext_head) : NULL;
}

static __always_inline struct queued *tcp_head(struct tcp_socket *s)
{
	__u32 head = s->head;

	return likely(head != s->tail) ? &s->ring[head & (TCP_RING - 1)] : ext_first(s);
}

static __always_inline void tcp_pop(struct tcp_socket *s)
{
	__u32 head = s->head;

	if (likely(head != s->tail))
		s->head = head + 1;
	else if (++s->ext_head == s->ext_tail)
		ext_return(s);
}

/* ---- --min-queue ---- */

/*
 * --min-queue: updates `missing`, which is true while the FIFO lacks unread packets: those queued
 * before this function's first run for the socket, without sk_data_ready() (SO_RCVLOWAT), or when
 * the FIFO was full.
 */
static __always_inline void tcp_count_unread(struct tcp_socket *s, struct sock *sk, __u32 rcv_nxt)
{
	__u32 copied = tcp_number(sk, copied_seq, FAST_PATH_NONE);

	if (!s->counted) {
		s->counted = 1;
		s->missing = seq_after(rcv_nxt, copied);
		s->missing_seq = rcv_nxt - 1;
	}
	if (s->missing && seq_after(copied, s->missing_seq))
		s->missing = 0;
}

/*
 * --min-queue: marks the packet at `next` as skipped if too few of its socket's packets are unread,
 * or if their number is unknown, which is a loss. A skipped packet still occupies a FIFO entry.
 */
static __noinline int tcp_filter_queue(struct cpu_state *c, struct tcp_socket *s, struct sock *sk,
				       __u32 rcv_nxt)
{
	struct packet *p;

	if (!c || !s)
		return 0;
	p = &s->next;
	tcp_count_unread(s, sk, rcv_nxt);
	if (!(p->s.flags & PKT_IFACE)) {
		p->s.flags |= PKT_SKIP;
		return 0;
	}
	if (s->tail - s->head + s->ext_tail - s->ext_head >= min_queue)
		return 0;
	p->s.flags |= PKT_SKIP;
	if (!loss_is_counted(s->ours))
		return 0;
	if (s->missing)
		count_loss(c, SLOT_ENQUEUED, LOSS_QUEUE_UNKNOWN, ROW_TCP, 1);
	else
		c->count.excluded[EXCL_SHORT_QUEUE][ROW_TCP]++;
	return 0;
}

/* Returns the payload bytes of a segment, from the control block that TCP's input filled in. */
static __always_inline __u32 tcp_payload(const struct sk_buff *skb, __u32 *seq)
{
	const struct tcp_skb_cb *cb = (const struct tcp_skb_cb *)skb->cb;
	__u8 flags = cb->tcp_flags;
	__u32 len = cb->end_seq - cb->seq;

	*seq = cb->seq;
	if (unlikely(flags & (TCP_FLAG_FIN | TCP_FLAG_SYN)))
		len -= (flags & TCP_FLAG_FIN) + !!(flags & TCP_FLAG_SYN);
	return len;
}

/* Arguments of an insertion into the sorted out-of-order queue, which is short and rarely used. */
struct ooo_insert {
	struct ooo_queue *q;
	__u32 n, seq;
	__u32 at; /* result: index; OOO_MAX: the packet is already in the queue */
};

static long ooo_find_place(__u32 i, struct ooo_insert *x)
{
	__u32 from = x->n - 1 - i;

	if (i >= x->n || from >= OOO_MAX - 1)
		return 1;
	barrier_var(from);
	from &= OOO_MAX - 1;
	if (x->q->q[from].s.seq == x->seq) {
		x->at = OOO_MAX;
		return 1;
	}
	if (!seq_after(x->q->q[from].s.seq, x->seq))
		return 1;
	x->at = from;
	return 0;
}

struct ooo_shift {
	struct ooo_queue *q;
	__u32 n, at;
};

static long ooo_shift_up(__u32 i, struct ooo_shift *x)
{
	__u32 from = x->n - 1 - i;

	if (from >= OOO_MAX - 1 || from < x->at || i >= x->n)
		return 1;
	barrier_var(from);
	x->q->q[(from + 1) & (OOO_MAX - 1)] = x->q->q[from & (OOO_MAX - 1)];
	return 0;
}

static __noinline int ooo_add(struct cpu_state *c, struct tcp_socket *s, struct ooo_queue *q,
			      const struct packet *p)
{
	struct ooo_insert x = { .q = q, .n = s->n_ooo, .seq = p->s.seq, .at = s->n_ooo };
	struct ooo_shift y;

	if (s->n_ooo >= OOO_MAX - 1) {
		if (loss_is_counted(s->ours))
			count_loss(c, SLOT_ENQUEUED, LOSS_OOO_FULL, ROW_TCP, 1);
		return 0;
	}
	bpf_loop(OOO_MAX, ooo_find_place, &x, 0);
	if (x.at >= OOO_MAX) {
		c->count.excluded[EXCL_DUPLICATE][ROW_TCP]++;
		return 0;
	}
	y = (struct ooo_shift){ .q = q, .n = s->n_ooo, .at = x.at };
	bpf_loop(OOO_MAX, ooo_shift_up, &y, 0);
	q->q[x.at & (OOO_MAX - 1)] = *p;
	s->n_ooo++;
	return 1;
}

static __noinline int tcp_fifo_full(struct cpu_state *c, struct tcp_socket *s, __u32 seq)
{
	if (!c || !s)
		return 0;
	if (loss_is_counted(s->ours))
		count_loss(c, SLOT_READ, LOSS_FIFO_FULL, ROW_TCP, 1);
	s->missing = 1;
	s->missing_seq = seq;
	return 0;
}

/* Records `enqueued` of a packet, and adds the packet to the FIFO until it is read. */
static __always_inline void tcp_enqueue(struct cpu_state *c, struct tcp_socket *s,
					const struct packet *p, __u64 now)
{
	struct queued *slot;

	if (read_tcp) {
		slot = tcp_push(s);
		if (likely(slot))
			queue_packet(slot, p, now, p->s.group);
		else
			tcp_fifo_full(c, s, p->s.seq);
	}
	if (!filter_tgid && !is_filtered(&p->s))
		record_enqueued(c, p, ROW_TCP, now, slots, p->s.group);
}

/* Handles a packet that waited behind a missing segment. */
static __always_inline void tcp_released(struct cpu_state *c, struct tcp_socket *s,
					 struct packet *p, __u64 now)
{
	__u64 waited = now - p->socket;

	/* an excluded packet needs no FIFO entry: reads find entries by sequence number */
	if (hol == HOL_EXCLUDE) {
		if (loss_is_counted(s->ours) && !is_filtered(&p->s))
			c->count.excluded[EXCL_HOL][ROW_TCP]++;
		if (!min_queue)
			return;
		p->s.flags |= PKT_SKIP; /* unmeasured, but --min-queue counts it as unread */
	}
	if (hol == HOL_SEPARATE && !is_filtered(&p->s)) {
		if (loss_is_counted(s->ours))
			record_latency(c, SLOT_HOL, ROW_TCP, p->s.tag, p->s.group, waited, 1);
		p->s.base += waited;
		p->link += waited;
		p->ip += p->ip ? waited : 0;
		p->transport += p->transport ? waited : 0;
		p->socket = now;
	}
	tcp_enqueue(c, s, p, now);
}

struct ooo_release {
	struct cpu_state *c;
	struct tcp_socket *s;
	struct ooo_queue *q;
	__u64 now;
	__u32 rcv_nxt, end, done;
};

static long ooo_release_one(__u32 i, struct ooo_release *x)
{
	struct packet *p;

	if (i >= x->s->n_ooo || i >= OOO_MAX)
		return 1;
	barrier_var(i);
	p = &x->q->q[i & (OOO_MAX - 1)];
	if (!seq_after(x->rcv_nxt, p->s.seq))
		return 1;
	if (seq_after(x->end, p->s.seq))
		count_loss(x->c, SLOT_ENQUEUED, LOSS_OOO_UNMATCHED, ROW_TCP, 1);
	else
		tcp_released(x->c, x->s, p, x->now);
	x->done = i + 1;
	return 0;
}

static long ooo_shift_down(__u32 i, struct ooo_release *x)
{
	__u32 from = i + x->done;

	if (from >= x->s->n_ooo || from >= OOO_MAX || i >= OOO_MAX)
		return 1;
	barrier_var(i);
	barrier_var(from);
	x->q->q[i & (OOO_MAX - 1)] = x->q->q[from & (OOO_MAX - 1)];
	return 0;
}

/*
 * Releases the packets before `rcv_nxt`, which become readable when a segment fills the hole.
 * Packets before `end`, the end of that segment, count as lost: the segment has their data.
 */
static __noinline int ooo_release(struct cpu_state *c, struct tcp_socket *s, struct ooo_queue *q,
				  __u64 end_and_rcv_nxt, __u64 now)
{
	struct ooo_release x = {
		.c = c, .s = s, .q = q, .now = now,
		.end = end_and_rcv_nxt >> 32, .rcv_nxt = end_and_rcv_nxt,
	};

	bpf_loop(OOO_MAX, ooo_release_one, &x, 0);
	if (x.done) {
		bpf_loop(OOO_MAX, ooo_shift_down, &x, 0);
		s->n_ooo -= x.done;
	}
	return 0;
}

struct tcp_read {
	struct cpu_state *c;
	struct tcp_socket *s;
	/* state of the reading task; NULL: --pid does not select the reader */
	struct task_state *t;
	/* state of the connection's requests; NULL: requests are not followed */
	struct request_conn *r;
	__u32 copied;
};

/* Removes the FIFO's first packet if its first byte was read; else returns 1 to end the loop. */
static long tcp_read_packet(__u32 i, struct tcp_read *x)
{
	struct queued *q = tcp_head(x->s);

	if (!q || !seq_after(x->copied, q->s.seq))
		return 1;
	/* with sampling, each packet of a read is recorded alone: docs/design/sampling.md */
	if (x->t && sampling && x->t->n)
		task_read_finish(x->c, x->t, ROW_TCP, bpf_ktime_get_ns());
	if (x->t && !is_filtered(&q->s))
		read_add(x->c, x->t, q, ROW_TCP);
	if (requests && x->r)
		request_arrives(x->r, q);
	tcp_pop(x->s);
	return 0;
}

static __always_inline void tcp_read_each(struct tcp_socket *s, struct task_state *t,
					  struct request_conn *r, __u32 copied)
{
	struct tcp_read x = { .c = this_cpu(), .s = s, .t = t, .r = r, .copied = copied };

	if (x.c && s)
		bpf_loop(EXT_RING + TCP_RING, tcp_read_packet, &x, 0);
}

/* Handles a read of more than one packet. */
static __noinline int tcp_read_all(struct tcp_socket *s, struct task_state *t, __u32 copied)
{
	tcp_read_each(s, t, NULL, copied);
	return 0;
}

#endif
