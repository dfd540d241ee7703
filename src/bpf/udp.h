/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Beside each UDP socket's receive queue, the stamps of the datagrams in it.
 *
 * Nothing locks these programs out of each other: a datagram is announced after the queue's lock
 * is released, so its reader on another CPU may come first, and several CPUs may announce at once.
 * Positions are handed out atomically, and at each position whoever comes second, the
 * announcement or the reader, finds what the first one left and does the recording.
 */
#ifndef HOSTLAT_BPF_UDP_H
#define HOSTLAT_BPF_UDP_H

#include "bpf/link.h"
#include "bpf/net.h"
#include "bpf/tasks.h"

#define UDP_STUCK 1000000000ULL
#define UDP_WALK 4

static __always_inline __u64 udp_mark(__u64 value, __u64 what)
{
	return value << 2 | what;
}

/* Datagrams in the socket's queues: the one that is filled and the one that is read from. */
static __always_inline __u32 udp_queued(struct sock *sk)
{
	__u32 reading = 0;

	bpf_core_read(&reading, sizeof(reading), &((struct udp_sock *)sk)->reader_queue.qlen);
	return sk->sk_receive_queue.qlen + reading;
}

/*
 * Made by whoever comes first: a spinning reader may take a socket's first datagram before its
 * announcement. Of two that make it at once one fails, and finds what the other made. What is in
 * the queue then, but for the `announced` one, we have not seen coming.
 */
static __always_inline struct udp_socket *udp_storage(struct sock *sk, __u32 announced)
{
	struct udp_socket *s = bpf_sk_storage_get(&udp_sockets, sk, NULL,
						  BPF_SK_STORAGE_GET_F_CREATE);
	__u32 queued;

	if (!s)
		s = bpf_sk_storage_get(&udp_sockets, sk, NULL, 0);
	if (s && !s->ready && !__sync_val_compare_and_swap(&s->ready, 0, 1)) {
		queued = udp_queued(sk);
		s->before = queued > announced ? queued - announced : 0;
	}
	return s;
}

static __always_inline struct udp_slot *udp_slot(struct udp_socket *s, __u64 pos)
{
	__u64 i = pos % UDP_RING;

	keep(i); /* the verifier doesn't know what a remainder is */
	if (i >= UDP_RING)
		return NULL;
	return &s->ring[i];
}

/* The entry of a packet that `enqueued` has not seen yet. */
static __always_inline struct link_entry *udp_fresh(__u64 skb)
{
	struct link_entry *e = skb ? link_find(skb) : NULL;

	return e && !(e->p.s.flags & PKT_USED) ? e : NULL;
}

/*
 * Which datagram is being announced: the one that passed LOCAL_IN on this CPU, else one near the
 * tail of the queue that has not been announced yet (6.18 queues several at once).
 */
static __always_inline struct link_entry *udp_announced(struct cpu_state *c, const struct sock *sk)
{
	struct link_entry *e = udp_fresh(c->udp_skb);
	struct sk_buff *skb;
	int i;

	c->udp_skb = 0;
	if (e)
		return e;
	skb = sk->sk_receive_queue.prev;
	for (i = 0; i < UDP_WALK; i++) {
		e = udp_fresh((__u64)skb);
		if (e && link_same(e, skb))
			return e;
		skb = skb->prev;
	}
	return NULL;
}

/*
 * Datagrams can leave a queue unseen (bad checksum, in-kernel readers). When nothing else is
 * queued, the FIFO may hold no more than what readers are copying at this moment. If it has held
 * something at all such moments of a second, and no reader came to its end meanwhile, that is more
 * than what is being copied: it is put right, and what it held is lost.
 */
static __always_inline void udp_resync(struct cpu_state *c, struct udp_socket *s,
				       const struct sock *sk, __u64 now)
{
	struct sk_buff *tail = sk->sk_receive_queue.prev;
	__s64 ahead = s->tail - s->head;

	if (ahead <= 0 && !s->skip && !s->before) {
		s->stuck_since = 0;
		return;
	}
	if (sk->sk_receive_queue.qlen != 1 ||
	    (__u32)sk->sk_backlog.rmem_alloc.counter > tail->truesize)
		return;
	if (!s->stuck_since) {
		s->stuck_since = now;
		return;
	}
	if (now - s->stuck_since < UDP_STUCK)
		return;
	if (counts(s->ours))
		count_loss(c, SLOT_READ, LOSS_DESYNC, ROW_UDP, ahead > 0 ? ahead : 0);
	s->skip = s->before = 0;
	s->stuck_since = 0;
	s->head = s->tail;
}

static __always_inline void udp_read(struct cpu_state *c, struct queued *q, __u64 now)
{
	struct task_state *t;

	if (q->s.flags & PKT_SKIP)
		return;
	t = task_get(bpf_get_current_task_btf(), BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		count_loss(c, SLOT_READ, LOSS_NO_STORAGE, ROW_UDP, 1);
		return;
	}
	t->n = 0;
	take(c, t, q, ROW_UDP);
	finish_read(c, t, ROW_UDP, now);
}

/* The announcement came second: the reader was running, and has had the datagram since. */
static __always_inline void udp_read_early(struct cpu_state *c, const struct queued *q, __u64 when)
{
	const struct stamp *p = &q->s;

	if (p->flags & PKT_SKIP)
		return;
	if (filter_tgid)
		record_way(c, q, ROW_UDP);
	if (selected(SLOT_RUNNABLE) || selected(SLOT_RUNNING))
		c->count.excluded[EXCL_READER_EARLY][ROW_UDP]++;
	if (!has_origin(c, p, SLOT_EARLY, ROW_UDP))
		return;
	record(c, SLOT_EARLY, ROW_UDP, p->origin, when - p->base, 0, 1);
	record(c, SLOT_EARLY_YOUNGEST, ROW_UDP, p->origin, when - p->base, NO_STEP, 1);
}

/* Stages up to `enqueued`. */
static __always_inline void udp_record(struct cpu_state *c, struct packet *p)
{
	record_lower(c, p, ROW_UDP);
	if (p->transport)
		record_transport(c, p, ROW_UDP);
	else if (selected(SLOT_TRANSPORT) && transport_udp)
		count_loss(c, SLOT_TRANSPORT, LOSS_NOT_COVERED, ROW_UDP, 1);
	record_enqueued(c, p, ROW_UDP);
}

static __always_inline void udp_push(struct cpu_state *c, struct udp_socket *s,
				     const struct packet *p)
{
	struct udp_slot *slot;
	__u64 old, pos;

	if (s->skip || (__s64)(s->tail - s->head) >= UDP_RING) {
		__sync_fetch_and_add(&s->skip, 1);
		if (counts(s->ours))
			count_loss(c, SLOT_READ, LOSS_FIFO_FULL, ROW_UDP, 1);
		return;
	}
	pos = __sync_fetch_and_add(&s->tail, 1);
	slot = udp_slot(s, pos);
	if (!slot)
		return;
	queue_packet(&slot->q, p);
	old = __sync_lock_test_and_set(&slot->state, udp_mark(pos, UDP_PUSHED));
	if (!(old & UDP_EARLY))
		return;
	if (old >> 2 > p->link) {
		if ((old & 3) == UDP_EARLY)
			udp_read_early(c, &slot->q, old >> 2);
		return;
	}
	/* those readers took datagrams of which we know nothing; this one is still to be read */
	if ((__s64)(s->head - pos) > 0)
		s->head = pos;
}

static __always_inline void udp_pop(struct cpu_state *c, struct udp_socket *s, bool ours,
				    __u64 now)
{
	struct udp_slot *slot;
	__u64 pos;

	if (filter_tgid && ours)
		s->ours = 1;
	if (s->before) {
		__sync_fetch_and_add(&s->before, -1);
		return;
	}
	if (s->head == s->tail && s->skip) {
		__sync_fetch_and_add(&s->skip, -1);
		return; /* counted when it found no place */
	}
	pos = __sync_fetch_and_add(&s->head, 1);
	if (s->stuck_since && pos + 1 == s->tail)
		s->stuck_since = 0; /* in step */
	slot = udp_slot(s, pos);
	if (!slot)
		return;
	if (slot->state != udp_mark(pos, UDP_PUSHED)) {
		__u64 mark = udp_mark(now, ours ? UDP_EARLY : UDP_EARLY_OTHER);

		if (__sync_lock_test_and_set(&slot->state, mark) != udp_mark(pos, UDP_PUSHED))
			return; /* its announcement will find the mark */
		/* announced in this very moment: a mark would mislead the slot's next datagram */
		slot->state = udp_mark(pos, UDP_PUSHED);
	}
	if (ours)
		udp_read(c, &slot->q, now);
}

#endif
