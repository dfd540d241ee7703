/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Passes over the connections of an activity level (enum conn_level), or over all, for
 * bpf/conns.bpf.c. If the kernel lets iterators visit socket storage, an iterator makes a pass.
 * Else records lie in hash tables, and user space runs conn_walk.
 */
#ifndef HOSTLAT_BPF_CONN_VISIT_H
#define HOSTLAT_BPF_CONN_VISIT_H

#include "bpf/abi_conns.h"
#include "bpf/conn_calls.bpf.h"
#include "bpf/conn_poll.bpf.h"
#include "bpf/conn_records.bpf.h"
#include "bpf/conn_state.bpf.h"
#include "bpf/kernel/types.h"

/* Returns true if the connection had a problem in the last COOL_NS. */
static __always_inline bool visit_has_problem(struct conn_stats *k, __u64 now)
{
	__u32 ago = (__u32)(now >> CONN_SHORT_SHIFT) - k->problem;

	return k->problem && ago < COOL_NS >> CONN_SHORT_SHIFT;
}

/* Moves a connection to the level that matches its last problem and its last activity. */
static __always_inline void visit_set_level(struct sock *id, struct sock *sk, struct tcp_sock *tp,
					    struct conn_stats *k, bool active, __u64 now)
{
	active |= tp->packets_out || now < k->last_send + REST_NS || now < k->una_time + REST_NS;

	if (active)
		conn_warm_up(id, k);
	/* an application that does not read makes no calls: only the receive buffer shows that */
	if (poll_is_unread(sk, tp))
		conn_note_problem(id, k, now);
	if (k->idle.level == LEVEL_HOT && !visit_has_problem(k, now)) {
		conn_set_level(k, LEVEL_REST);
		conn_warm_up(id, k);
		hot_drop(id);
	} else if (k->idle.level == LEVEL_WARM && visit_has_problem(k, now)) {
		if (!hot_make(id))
			return;
		warm_drop(id);
		conn_set_level(k, LEVEL_HOT);
	} else if (k->idle.level == LEVEL_WARM && !active) {
		warm_drop(id);
		conn_set_level(k, LEVEL_REST);
	}
}

/* free space in the ring below which a pass pauses: 64 records */
#define RING_SPARE (64 * sizeof(struct conn_snapshot))

/* Returns true if user space must empty the ring, or the pass has reached its quota. */
static __always_inline bool visit_is_enough(void)
{
	return pass.members >= pass.quota ||
	       CONN_RING - bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < RING_SPARE;
}

/*
 * Samples an active connection and reports its record if it changed. Returns true if the walk over
 * all connections must stop here and go on later: its quota is used up, or the ring is nearly full.
 */
static __always_inline bool visit_conn(struct sock *id, struct sock *sk, struct tcp_sock *tp,
				       struct conn_stats *k)
{
	__u64 now = bpf_ktime_get_ns();
	bool changed =
		k->idle.changes != k->idle.reported || k->idle.reported_seq != conn_seq_sum(tp);

	if (pass.level < LEVELS && k->idle.level != pass.level)
		return false;
	pass.members++;
	if (pass.sample_us)
		poll_sample(id, sk, tp, k, now);
	calls_begin_log(id, sk, &k->idle);
	if (!pass.report)
		return false;
	if (changed && conn_report(id, sk, tp, &k->idle, k, now, false))
		pass.reported++;
	visit_set_level(id, sk, tp, k, changed, now);
	return visit_is_enough();
}

/*
 * Makes an idle connection active if data moved, else reports its record if that changed. Returns
 * true if the walk must pause: its quota is used up, or the ring is nearly full.
 */
static __always_inline bool visit_idle(struct sock *id, struct sock *sk, struct tcp_sock *tp,
				       struct conn_idle *q)
{
	struct conn_stats *k;

	/* the connection is no longer idle: data moved without a call */
	if (q->reported_seq != conn_seq_sum(tp) || tp->packets_out) {
		k = conn_wake(id, tp->data_segs_in);
		return k ? visit_conn(id, sk, tp, k) : false;
	}
	pass.members++;
	calls_begin_log(id, sk, q);
	if (!pass.report)
		return false;
	if (q->changes != q->reported &&
	    conn_report(id, sk, tp, q, NULL, bpf_ktime_get_ns(), false))
		pass.reported++;
	return visit_is_enough();
}

/* ---- passes by iterators ---- */

/* Pauses a pass: one byte of output ends read(); user space then empties the ring. */
static __always_inline void visit_pause(struct bpf_iter_meta *meta)
{
	__u8 enough = 0;

	bpf_seq_write(meta->seq, &enough, 1);
}

static __always_inline int visit_iterated(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct conn_stats *k;
	struct tcp_sock *tp;

	if (!sk || !ctx->value)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	k = conn_stats_ready(sk);
	if (k && visit_conn(sk, sk, tp, k))
		visit_pause(ctx->meta);
	return 0;
}

/* Visits an idle connection, in a pass over all connections. */
static __always_inline int visit_iterated_idle(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct conn_idle *q = ctx->value;
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp;

	if (!sk || !q)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp && visit_idle(sk, sk, tp, q))
		visit_pause(ctx->meta);
	return 0;
}

/* ---- passes over tables ---- */

/*
 * Copy of a socket, made without its lock: its fields are of nearly one moment. The socket may be
 * gone and its memory reused; the cookie shows that. Passes of one hostlat never overlap, so one
 * copy is enough.
 */
static char socket_copy[4096] __attribute__((aligned(8)));

/* Copies a socket. Returns NULL if the socket no longer exists. */
static __always_inline struct tcp_sock *visit_copy_socket(__u64 address, __u64 cookie)
{
	const __u32 size = bpf_core_type_size(struct tcp_sock);
	struct tcp_sock *tp = (void *)socket_copy;

	if (size > sizeof(socket_copy) ||
	    bpf_probe_read_kernel(socket_copy, size, (const void *)address) ||
	    ((struct sock_common *)tp)->skc_cookie.counter != (__s64)cookie)
		return NULL;
	return tp;
}

/* Marks the pass as paused if `enough` is true. Returns 1 if the walk ends, else 0. */
static __always_inline long walk_pauses(bool enough)
{
	if (enough)
		pass.paused = 1;
	return enough;
}

/* Drops the records of a connection whose end no program saw. */
static __always_inline long walk_drop_gone(struct sock *id, struct conn_idle *q)
{
	conn_unfollow(q);
	conn_count_lost(LOST_RING);
	if (conns_drop(id))
		idle_conns_drop(id);
	rtts_drop(id);
	conn_drop_other_records(id);
	return 0;
}

static __always_inline long walk_record(struct sock *id, struct conn_stats *k)
{
	__u64 cookie = k->idle.cookie;
	struct tcp_sock *tp;

	if (!(k->idle.flags & STATS_READY) || (pass.level < LEVELS && k->idle.level != pass.level))
		return 0;
	tp = visit_copy_socket((__u64)id, cookie);
	if (!tp && k->idle.cookie != cookie)
		return 0; /* the record's memory now belongs to another connection */
	if (!tp)
		return k->idle.flags & STATS_CLOSED ? 0 : walk_drop_gone(id, &k->idle);
	return walk_pauses(visit_conn(id, (struct sock *)tp, tp, k));
}

static __always_inline long walk_member(struct sock *id, __u32 *member)
{
	struct conn_stats *k = conns_find(id);

	return k ? walk_record(id, k) : 0;
}

static __always_inline long walk_idle(struct sock *id, struct conn_idle *q)
{
	__u64 cookie = q->cookie;
	struct tcp_sock *tp = visit_copy_socket((__u64)id, cookie);

	if (!tp && q->cookie != cookie)
		return 0;
	if (!tp)
		return q->flags & STATS_CLOSED ? 0 : walk_drop_gone(id, q);
	return walk_pauses(visit_idle(id, (struct sock *)tp, tp, q));
}

/*
 * Returns true if this walk has visited the record before: a key is in the ring twice if its record
 * was removed and made again.
 */
static __always_inline bool walk_met_conn(struct conn_stats *k)
{
	bool again = k->walk == (__u16)pass.number;

	k->walk = pass.number;
	return again;
}

static __always_inline bool walk_met_member(__u32 *member)
{
	bool again = *member == pass.number;

	*member = pass.number;
	return again;
}

/* Returns false: idle records are made once, and a second visit of a key reports nothing more. */
static __always_inline bool walk_met_idle(struct conn_idle *q)
{
	return false;
}

/*
 * Defines NAME_walk(), a bpf_loop() callback that visits the record of the next key; the key stays
 * in the ring if its record exists. Returns 1 to end the walk. NAME_walk_all() walks over the
 * table.
 */
#define WALK(name, record, met, visit)                                                   \
	static long name##_walk(__u32 i, void *ctx)                                      \
	{                                                                                \
		__u64 key = name##_pop_key();                                            \
		record *r = key ? name##_find((void *)key) : NULL;                       \
                                                                                         \
		if (!key)                                                                \
			return walk_pauses(true);                                        \
		pass.keys--;                                                             \
		if (!r || met(r))                                                        \
			return 0;                                                        \
		name##_add_key(key);                                                     \
		return pass.sweep ? 0 : visit((struct sock *)key, r);                    \
	}                                                                                \
                                                                                         \
	static __always_inline void name##_walk_all(void)                                \
	{                                                                                \
		__u32 n = name##_n_keys();                                               \
                                                                                         \
		if (pass.keys > n)                                                       \
			pass.keys = n;                                                   \
		bpf_loop(pass.keys, name##_walk, NULL, 0);                               \
	}

WALK(conns, struct conn_stats, walk_met_conn, walk_record)
WALK(idle_conns, struct conn_idle, walk_met_idle, walk_idle)
WALK(warm, __u32, walk_met_member, walk_member)
WALK(hot, __u32, walk_met_member, walk_member)

static __always_inline int walk_pass_table(void)
{
	switch (pass.table) {
	case PASS_CONNS:
		conns_walk_all();
		break;
	case PASS_IDLE:
		idle_conns_walk_all();
		break;
	case PASS_WARM:
		warm_walk_all();
		break;
	case PASS_HOT:
		hot_walk_all();
		break;
	}
	return 0;
}

#endif
