/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Stamps of the datagrams in each UDP socket's receive queue.
 *
 * No lock protects these programs from each other: the kernel calls sk_data_ready() after it has
 * released the queue's lock, so a reader on another CPU may come first, and several CPUs may call
 * sk_data_ready() at once. Positions are assigned atomically. At each position, the second program
 * (for sk_data_ready() or the read) finds the first program's mark, and records the datagram.
 *
 * A datagram's stamp lies in the near slot of its position, in the socket's storage, if that slot
 * is free; else in a far slot, in the table that all sockets share. A program owns a slot from its
 * claim (UDP_BUSY) to its release. No two positions have the same tag, so a reader takes the stamp
 * of its own position or none. Reads without sk_data_ready(), or the reverse, shift the positions:
 * udp_reader() and udp_resync() correct them. A reader that comes first leaves its mark in the near
 * slot, or no mark if another datagram has that slot.
 *
 * Each lost datagram is counted at most once. A datagram without a slot is counted at its
 * sk_data_ready(), and its reader finds nothing. A datagram whose far slot was taken over is
 * counted at its read, so that a closed socket's datagrams are not counted. A datagram that left
 * the queue unseen is counted by udp_resync(), unless it may be among the datagrams that had no
 * slot.
 */
#ifndef HOSTLAT_BPF_UDP_SLOTS_H
#define HOSTLAT_BPF_UDP_SLOTS_H

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/maps.bpf.h"
#include "bpf/record.bpf.h"

/*
 * Age in ns from which a stamp in the table that all sockets share (far slots) may be of a closed
 * socket: another datagram then takes the slot.
 */
#define UDP_STALE 10000000000LL

#define UDP_LOOKS 5
#define UDP_SLOT_KIND 7
#define UDP_EARLY_POS 0xffff
#define UDP_EARLY_SHIFT 19

static __always_inline __u64 udp_mark(__u64 tag, __u64 what)
{
	return tag << 3 | what;
}

static __always_inline __u64 udp_slot_kind(__u64 state)
{
	return state & UDP_SLOT_KIND;
}

static __always_inline bool udp_is_free(__u64 state)
{
	return udp_slot_kind(state) < UDP_BUSY;
}

/*
 * Returns the mark of a reader that takes a datagram before its sk_data_ready(): the low bits of
 * the reader's time (9 h) and position, which distinguish readers of the slot. The next such reader
 * overwrites the mark.
 */
static __always_inline __u64 udp_early(__u64 pos, __u64 now, __u64 what)
{
	return now << UDP_EARLY_SHIFT | (pos & UDP_EARLY_POS) << 3 | what;
}

static __always_inline bool udp_is_early(__u64 state, __u64 pos)
{
	return udp_is_free(state) && udp_slot_kind(state) != UDP_FREE &&
	       (state >> 3 & UDP_EARLY_POS) == (pos & UDP_EARLY_POS);
}

/* Returns true for the mark of this position's reader, or of a later reader, which replaced it. */
static __always_inline bool udp_is_ahead(__u64 state, __u64 pos)
{
	return udp_is_free(state) && udp_slot_kind(state) != UDP_FREE &&
	       (__s16)((state >> 3) - pos) >= 0;
}

/* Returns the ns from `time` to the early reader's time, which is less than 4 h away. */
static __always_inline __s64 udp_early_after(__u64 early, __u64 time)
{
	__u64 low = early >> UDP_EARLY_SHIFT;

	return (__s64)((low - time) << UDP_EARLY_SHIFT) >> UDP_EARLY_SHIFT;
}

static __always_inline bool udp_claim(struct udp_slot *slot, __u64 state, __u64 tag)
{
	return __sync_val_compare_and_swap(&slot->state, state, udp_mark(tag, UDP_BUSY)) == state;
}

/* Publishes a claimed slot. Returns the slot's former state: a reader's mark, or UDP_BUSY. */
static __always_inline __u64 udp_publish(struct udp_slot *slot, __u64 tag)
{
	return __sync_val_compare_and_swap(&slot->state, udp_mark(tag, UDP_BUSY),
					   udp_mark(tag, UDP_PUSHED));
}

/* Claims a published stamp. Returns false if the slot does not hold the stamp. */
static __always_inline bool udp_take(struct udp_slot *slot, __u64 tag)
{
	return udp_claim(slot, udp_mark(tag, UDP_PUSHED), tag);
}

static __always_inline void udp_release(struct udp_slot *slot)
{
#ifdef __TARGET_ARCH_x86 /* a compiler barrier keeps loads before the store that frees the slot */
	asm volatile("" ::: "memory");
	slot->state = UDP_FREE;
#else
	__sync_lock_test_and_set(&slot->state, UDP_FREE);
#endif
}

/* Returns the random start of a socket's datagram numbers (tags), far from other sockets' tags. */
static __always_inline __u64 udp_seed(const struct sock *sk)
{
	__u64 h = (bpf_ktime_get_ns() ^ (__u64)low_half(sk) << 32) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) ?: 1;
}

/* Returns the datagrams in the socket's two queues: the one being filled, the one being read. */
static __always_inline __u32 udp_queued(struct sock *sk)
{
	__u32 reading = 0;

	bpf_core_read(&reading, sizeof(reading), &((struct udp_sock *)sk)->reader_queue.qlen);
	return sk->sk_receive_queue.qlen + reading;
}

/* Returns the unread datagrams older than the state `s`; < 0 is possible with concurrent reads. */
static __always_inline __s64 udp_unseen(const struct udp_socket *s)
{
	return s->before - UDP_KNOWN;
}

/*
 * Returns the socket's storage, made at the first sk_data_ready() or read: a spinning reader may
 * take a socket's first datagram before its sk_data_ready(). Of two programs that make the storage
 * at once, one finds the other's. Datagrams in the queue then, except the `announced` one, were not
 * seen. Their number, `before`, is set last, and once: until then, the storage is unused.
 */
static __always_inline struct udp_socket *udp_storage(struct sock *sk, __u32 announced)
{
	struct udp_socket *s;
	__u32 queued;

	s = bpf_sk_storage_get(&udp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		s = bpf_sk_storage_get(&udp_sockets, sk, NULL, 0);
	if (s && !s->before) {
		__sync_val_compare_and_swap(&s->seed, 0, udp_seed(sk));
		queued = udp_queued(sk);
		queued = queued > announced ? queued - announced : 0;
		__sync_val_compare_and_swap(&s->before, 0, UDP_KNOWN + (__s64)queued);
	}
	return s;
}

/* ---- long queues ---- */

static __always_inline struct udp_slot *udp_far(__u64 tag)
{
	__u32 i = tag % udp_far_slots;

	return bpf_map_lookup_elem(&udp_fars, &i);
}

/*
 * Claims a slot of the table that all sockets share. Returns false if the slot is in use. A stamp
 * that no reader has taken for UDP_STALE is dropped; its tag stays in `seq`, so that its reader,
 * which may still come, counts the loss.
 */
static __always_inline bool udp_claim_far(struct udp_slot *slot, const struct packet *p, __u64 tag,
					  __u32 group)
{
	__u64 state = slot->state;
	bool stale = udp_slot_kind(state) == UDP_PUSHED &&
		     (__s64)(p->s.enqueued - slot->q.s.enqueued) >= UDP_STALE;
	__u32 lost;

	if ((!udp_is_free(state) && !stale) || !udp_claim(slot, state, tag))
		return false;
	lost = stale ? state >> 3 : slot->q.s.seq;
	queue_packet(&slot->q, p, p->s.enqueued, group);
	slot->q.s.seq = lost;
	return true;
}

/*
 * Leaves a reader's mark in a slot of the socket's storage, if the slot is free or is being written
 * for the reader's datagram. Tries a few times, as other programs may change the slot meanwhile.
 */
static __always_inline void udp_leave_mark(struct udp_slot *slot, __u64 tag, __u64 pos, __u64 now,
					   __u64 what)
{
	__u64 busy = udp_mark(tag, UDP_BUSY), old = slot->state, seen;
	int i;

	for (i = 0; i < UDP_LOOKS && (udp_is_free(old) || old == busy); i++) {
		seen = __sync_val_compare_and_swap(&slot->state, old,
			udp_early(pos, now, old == busy ? what + UDP_LEFT : what));
		if (seen == old)
			return;
		old = seen;
	}
}

/*
 * Returns the slot with the stamp of the datagram at position `pos`, claimed for its reader, who
 * has not found the stamp in the socket's storage; NULL: the stamp is not published yet, or has no
 * slot. Leaves the reader's mark first, as sk_data_ready()'s program looks for a mark after it has
 * filled a slot of the table that all sockets share.
 */
static __noinline struct udp_slot *udp_find_far(struct udp_socket *s, __u64 pos, __u64 now,
					       bool ours)
{
	struct udp_slot *slot = &s->ring[pos % UDP_NEAR];
	struct cpu_state *c = this_cpu();
	__u64 tag = s->seed + pos;

	udp_leave_mark(slot, tag, pos, now, ours ? UDP_EARLY : UDP_EARLY_OTHER);
	if (udp_take(slot, tag)) /* the stamp has just been published */
		return slot;
	slot = udp_far(tag);
	if (!slot || udp_take(slot, tag))
		return slot;
	if (ours && c && slot->q.s.seq == (__u32)tag)
		count_loss(c, SLOT_READ, LOSS_FIFO_FULL, ROW_UDP, 1);
	return NULL;
}

/* Returns by how much the socket's read position is past that of the stamp in a slot (`state`). */
static __always_inline __s64 udp_reads_behind(const struct udp_socket *s, __u64 state)
{
	return (__s64)((s->seed + s->head - (state >> 3)) << 3) >> 3;
}

/*
 * Frees a slot in the socket's storage whose reader came when another datagram had the slot, and so
 * neither saw the stamp nor left a mark. After UDP_NEAR more reads, no reader comes for the stamp.
 */
static __always_inline void udp_drop_orphan(struct cpu_state *c, struct udp_socket *s,
					    struct udp_slot *slot)
{
	bool measured = !(slot->q.s.flags & PKT_SKIP) && loss_is_counted(s->ours);
	__u64 state = slot->state;

	if (udp_slot_kind(state) != UDP_PUSHED || udp_reads_behind(s, state) <= UDP_NEAR)
		return;
	if (__sync_val_compare_and_swap(&slot->state, state, UDP_FREE) == state && measured)
		count_loss(c, SLOT_READ, LOSS_RACE, ROW_UDP, 1);
}

/*
 * Frees slots in the socket's storage with stamps from before the next read's position: no reader
 * comes for them. The caller has counted their datagrams.
 */
static __noinline int udp_forget(struct udp_socket *s)
{
	int i;

	for (i = 0; i < UDP_NEAR; i++) {
		__u64 state = s->ring[i].state;

		if (udp_slot_kind(state) == UDP_PUSHED && udp_reads_behind(s, state) > 0)
			__sync_val_compare_and_swap(&s->ring[i].state, state, UDP_FREE);
	}
	return 0;
}

#endif
