/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* UDP: identifies a datagram at its sk_data_ready(), and records it there and at its read. */
#ifndef HOSTLAT_BPF_UDP_H
#define HOSTLAT_BPF_UDP_H

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/slow.bpf.h"
#include "bpf/tasks.bpf.h"
#include "bpf/udp_slots.bpf.h"

#define UDP_STUCK 1000000000ULL
#define UDP_WALK 4

/* Returns the link table's entry of a packet not yet enqueued or dropped, or NULL. */
static __always_inline struct link_entry *udp_fresh(__u64 skb)
{
	struct link_entry *e = skb ? link_find(skb) : NULL;

	return e && !(e->p.s.flags & PKT_USED) ? e : NULL;
}

static __always_inline bool udp_batches(void)
{
	struct udp_sock___batch *u = NULL;

	return bpf_core_field_exists(u->udp_prod_queue);
}

/*
 * Returns the entry of the packet that became the datagram of this sk_data_ready(), or NULL. One
 * packet may become several datagrams: segments, if the socket lacks UDP_GRO, or copies for each
 * socket of a multicast group. One call chain calls sk_data_ready() for all of them: another packet
 * at `link` on this CPU would have cleared `udp_last`.
 */
static __always_inline struct link_entry *udp_source(const struct cpu_state *c)
{
	struct link_entry *e = c->udp_last ? link_find(c->udp_last) : NULL;

	return e && e->p.s.enqueued == c->udp_time ? e : NULL;
}

/*
 * Searches the queue's last UDP_WALK datagrams. Returns `source`, the entry of a packet that became
 * several datagrams, if a datagram has that packet's receive stamp. Or returns the entry of a
 * datagram that still awaits sk_data_ready(). With a source, that datagram comes from another CPU,
 * no earlier than the source: an older entry belongs to an earlier packet at a copy's address.
 */
static __always_inline struct link_entry *udp_find_near_tail(const struct sock *sk,
							     struct link_entry *source)
{
	struct sk_buff *skb = sk->sk_receive_queue.prev;
	struct link_entry *e;
	int i;

	for (i = 0; i < UDP_WALK; i++) {
		if (source && source->p.s.seq && source->p.s.seq == (__u32)skb->tstamp)
			return source;
		e = udp_fresh((__u64)skb);
		if (e && link_same(e, skb) && (!source || e->p.link >= source->p.link))
			return e;
		skb = skb->prev;
	}
	return NULL;
}

/*
 * Returns the entry of a datagram that is not the last one at LOCAL_IN on this CPU, or NULL. On
 * kernels where sk_data_ready() may be for another CPU's datagram (since 6.18), `udp_last` is set
 * only for packets with copies.
 */
static __noinline struct link_entry *udp_announced_slow(struct cpu_state *c, const struct sock *sk)
{
	struct link_entry *source = udp_source(c), *e;
	/* no stamps to compare: the source packet has none, or the datagram was already read */
	bool alone = source && (!source->p.s.seq || !sk->sk_receive_queue.qlen);

	if (alone && !udp_batches())
		return source;
	e = udp_find_near_tail(sk, source);
	return !e && alone ? source : e;
}

#define PACKET_HOST 0

/* Returns true if the packet may become more than one datagram. */
static __always_inline bool udp_makes_copies(const struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	const unsigned char *ip = skb->head + skb->network_header;
	unsigned short segment = 0;
	__u8 b[25];

	if (BPF_CORE_READ_BITFIELD(skb, pkt_type) != PACKET_HOST)
		return true;
	/* loopback marks all packets PACKET_HOST: test for a multicast address */
	if (!bpf_probe_read_kernel(b, sizeof(b), ip) &&
	    (b[0] >> 4 == 6 ? b[24] == 0xff : b[16] >= 224))
		return true;
	if (skb->data_len)
		bpf_core_read(&segment, sizeof(segment), &shared->gso_size);
	return segment;
}

/* Returns the entry of the datagram for which sk_data_ready() is called, or NULL. */
static __always_inline struct link_entry *udp_announced(struct cpu_state *c, const struct sock *sk)
{
	__u64 skb = c->udp_skb;
	struct link_entry *e = udp_fresh(skb);

	c->udp_skb = 0;
	if (unlikely(!e))
		return udp_announced_slow(c, sk);
	c->udp_last = udp_batches() && !c->udp_many ? 0 : skb;
	return e;
}

/*
 * Returns why the datagram is unidentified: the kernel made it from an unknown packet, or datagrams
 * came and went at the same moment.
 */
static __always_inline __u32 udp_unknown(const struct sock *sk)
{
	struct sk_buff *tail = sk->sk_receive_queue.prev;
	struct link_entry *e = link_find((__u64)tail);

	if (!sk->sk_receive_queue.qlen || (e && link_same(e, tail)))
		return LOSS_RACE;
	return LOSS_NO_LINK_STAMP;
}

/*
 * Resets a FIFO that no longer matches its queue, as datagrams can leave a queue unseen (bad
 * checksum, in-kernel readers). If the new datagram is alone in the queue, the FIFO holds only
 * datagrams that readers are copying. Entries that remain at all such moments of a second are lost.
 */
static __always_inline void udp_resync(struct cpu_state *c, struct udp_socket *s,
				       const struct sock *sk, __u64 now)
{
	struct sk_buff *tail = sk->sk_receive_queue.prev;
	__s64 ahead = s->tail - s->head;

	if (ahead <= 0 && udp_unseen(s) <= 0) {
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
	if ((__s32)(s->full_end - (__u32)s->head) > 0)
		ahead -= s->full; /* losses counted already: no slot was free for these datagrams */
	if (loss_is_counted(s->ours))
		count_loss(c, SLOT_READ, LOSS_DESYNC, ROW_UDP, ahead > 0 ? ahead : 0);
	s->before = UDP_KNOWN;
	s->stuck_since = 0;
	s->head = s->tail;
	udp_forget(s);
}

static __always_inline void udp_read(struct cpu_state *c, struct queued *q, const struct sock *sk,
				     __u64 now)
{
	struct task_state *t;

	if (q->s.flags & PKT_SKIP)
		return;
	t = task_get(bpf_get_current_task_btf(), TASK_MAKE);
	if (!t) {
		count_loss(c, SLOT_READ, LOSS_NO_STORAGE, ROW_UDP, 1);
		return;
	}
	if (t->n)
		read_abandon(t);
	t->sk = (__u64)sk;
	read_add(c, t, q, ROW_UDP);
	task_read_finish(c, t, ROW_UDP, now);
}

/* Records a datagram that a running reader took before its sk_data_ready(). */
static __noinline int udp_read_early(const struct queued *q, const struct sock *sk, __u64 when)
{
	struct cpu_state *c = this_cpu();
	const struct stamp *p = &q->s;

	if (!c || p->flags & PKT_SKIP)
		return 0;
	if (filter_tgid)
		record_passed_stages(c, q, ROW_UDP);
	if (slot_selected(SLOT_RUNNABLE) || slot_selected(SLOT_RUNNING))
		c->count.excluded[EXCL_READER_EARLY][ROW_UDP]++;
	if (!record_has_origin(c, p, SLOT_EARLY, ROW_UDP))
		return 0;
	if (slow_exceeds(p, when))
		slow_early(c, q, (__u64)sk, when);
	if (slot_selected(SLOT_ENQUEUED) &&
	    when <= p->enqueued) /* read no later than `enqueued`: user space adds steps of 0 */
		record_latency(c, SLOT_EARLY, ROW_UDP, p->tag, q->group, when - p->base, 1);
	else /* stage `enqueued` is not selected, or sk_data_ready() began before the read */
		record_stage(c, SLOT_EARLY, ROW_UDP, p->tag, q->group, when - p->base,
			     when - before_reader(q, slots), 1);
	return 0;
}

/* Records a datagram's stages up to `enqueued`. */
static __always_inline void udp_record(struct cpu_state *c, struct packet *p, __u32 group)
{
	__u32 stages = slots;

	record_lower(c, p, ROW_UDP, stages, group);
	if (p->transport)
		record_transport(c, p, ROW_UDP, stages, group);
	else if (slot_is_in(stages, SLOT_TRANSPORT) && transport_udp)
		count_loss(c, SLOT_TRANSPORT, LOSS_NOT_COVERED, ROW_UDP, 1);
	record_enqueued(c, p, ROW_UDP, p->s.enqueued, stages, group);
}

/*
 * --min-queue: returns 1 if enough datagrams wait when this one comes, without datagrams that
 * readers are taking.
 */
static __noinline int udp_queue_is_long(struct cpu_state *c, struct sock *sk)
{
	struct udp_socket *s = udp_storage(sk, 1);
	__s64 found, before;

	if (!c)
		return 0;
	if (!s) {
		count_loss(c, SLOT_ENQUEUED, LOSS_NO_STORAGE, ROW_UDP, 1);
		return 0;
	}
	found = s->tail - s->head;
	if (found < 0)
		found = 0;
	before = udp_unseen(s);
	if (before < 0)
		before = 0;
	if (found + before >= min_queue)
		return 1;
	if (loss_is_counted(s->ours))
		c->count.excluded[EXCL_SHORT_QUEUE][ROW_UDP]++;
	return 0;
}

/*
 * Returns the mark of the reader that took the datagram at position `pos` before its
 * sk_data_ready(); 0: the reader is still to come. `early`: the mark in the position's slot in the
 * socket's storage. Readers that came before the datagram was received took datagrams without
 * sk_data_ready(), except perhaps the last reader. Subtracts these reads from the read position,
 * unless another read changes the position meanwhile: then the next sk_data_ready() does.
 */
static __noinline __u64 udp_reader(struct udp_socket *s, const struct packet *p, __u64 early,
				   __u64 pos)
{
	__u64 head = s->head, last = s->ring[(head - 1) % UDP_NEAR].state;

	if (!p || !p->link || udp_early_after(early, p->link) > 0)
		return udp_is_early(early, pos) ? early : 0;
	if (!udp_is_early(last, head - 1) || udp_early_after(last, p->link) <= 0)
		last = 0;
	if ((__s64)(head - pos) > 0)
		__sync_val_compare_and_swap(&s->head, head, pos + !!last);
	return last;
}

/* Records the early read whose reader left the mark `early`; `slot` is claimed for the datagram. */
static __always_inline void udp_record_early(struct sock *sk, struct udp_slot *slot,
					     const struct packet *p, __u64 early)
{
	if ((early & 3) == UDP_EARLY)
		udp_read_early(&slot->q, sk, p->link + udp_early_after(early, p->link));
	udp_release(slot);
}

/* Counts a datagram at position `pos` as lost, as no slot for its times is free. */
static __always_inline void udp_full(struct cpu_state *c, struct udp_socket *s, __u64 pos)
{
	if ((__s32)(s->full_end - (__u32)s->head) <= 0)
		s->full = 0;
	s->full_end = pos + 1;
	__sync_fetch_and_add(&s->full, 1);
	if (loss_is_counted(s->ours))
		count_loss(c, SLOT_READ, LOSS_FIFO_FULL, ROW_UDP, 1);
}

/*
 * Puts a datagram into the table that all sockets share (its far slot), as its slot in the socket's
 * storage (its near slot) is taken. A datagram that is not measured needs no slot: its reader finds
 * nothing.
 */
static __noinline int udp_push_far(struct udp_socket *s, struct sock *sk, const struct packet *p,
				   __u64 pos, __u32 group)
{
	__u64 early, tag = s->seed + pos;
	struct udp_slot *near = &s->ring[pos % UDP_NEAR], *slot = udp_far(tag);
	struct cpu_state *c = this_cpu();

	if (!c)
		return 0;
	udp_drop_orphan(c, s, near);
	if (p->s.flags & PKT_SKIP)
		return 0;
	if (!slot || (__s64)(pos - s->head) >= UDP_DEEP || !udp_claim_far(slot, p, tag, group)) {
		udp_full(c, s, pos);
		return 0;
	}
	udp_publish(slot, tag);
	early = near->state;
	if (udp_is_early(early, pos)) {
		early = udp_reader(s, p, early, pos);
		if (early && udp_take(slot, tag))
			udp_record_early(sk, slot, p, early);
	}
	return 0;
}

static __always_inline void udp_push(struct udp_socket *s, struct sock *sk, const struct packet *p,
				     __u32 group)
{
	__u64 pos = __sync_fetch_and_add(&s->tail, 1), tag = s->seed + pos, before, early;
	struct udp_slot *slot = &s->ring[pos % UDP_NEAR];

	before = slot->state;
	if (unlikely(!udp_is_free(before) || !udp_claim(slot, before, tag))) {
		udp_push_far(s, sk, p, pos, group);
		return;
	}
	queue_packet(&slot->q, p, p->s.enqueued, group);
	early = unlikely(udp_is_ahead(before, pos)) ? udp_reader(s, p, before, pos) : 0;
	if (likely(!early)) {
		early = udp_publish(slot, tag);
		if (likely(early == udp_mark(tag, UDP_BUSY)))
			return;
	}
	udp_record_early(sk, slot, p, early);
}

/* Handles the read of a socket's next datagram. `now` 0: reads the clock if needed. */
static __always_inline void udp_pop(struct cpu_state *c, struct udp_socket *s,
				    struct sock *sk, bool ours, __u64 now)
{
	struct udp_slot *slot;
	__u64 pos;

	if (filter_tgid && ours)
		s->ours = 1;
	if (unlikely(udp_unseen(s) > 0) && __sync_fetch_and_add(&s->before, -1) > UDP_KNOWN)
		return;
	pos = __sync_fetch_and_add(&s->head, 1);
	if (s->stuck_since && pos + 1 == s->tail)
		s->stuck_since = 0; /* the FIFO matches the queue again */
	slot = &s->ring[pos % UDP_NEAR];
	if (unlikely(!udp_take(slot, s->seed + pos))) {
		slot = udp_find_far(s, pos, now ? now : bpf_ktime_get_ns(), ours);
		/* sk_data_ready()'s program will find this read's mark, or has counted a loss */
		if (!slot)
			return;
	}
	if (ours && !(slot->q.s.flags & PKT_SKIP))
		udp_read(c, &slot->q, sk, now ? now : bpf_ktime_get_ns());
	udp_release(slot);
}

#endif
