/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Samples of a connection's state, and its reports to user space, for bpf/conns.bpf.c. */
#ifndef HOSTLAT_BPF_CONN_POLL_H
#define HOSTLAT_BPF_CONN_POLL_H

#include "bpf/abi_conns.h"
#include "bpf/conn_acks.h"
#include "bpf/conn_owner.bpf.h"
#include "bpf/conn_records.bpf.h"
#include "bpf/conn_state.bpf.h"
#include "bpf/kernel/types.h"
#include "event/layout.h"

volatile struct conn_pass pass = {};

const volatile __u64 tick_ns = 4000000;

#define SOCK_SNDBUF_LOCK 1 /* include/net/sock.h */
#define SOCK_RCVBUF_LOCK 2
#define SK_PACING_NONE 0
#define TSQF_THROTTLED 1 /* include/linux/tcp.h */
#define SOCK_NOSPACE 2 /* include/linux/net.h */
#define NAGLE_OFF 1 /* include/linux/tcp.h: TCP_NAGLE_OFF, _CORK */
#define NAGLE_CORK 2

/* An acknowledgement is overdue after 1.25 round trips plus OVERDUE_US. */
#define OVERDUE_US 2000
/* With UNSENT_MAX or more unsent bytes, a full send buffer does not limit the connection. */
#define UNSENT_MAX 65536

/* ---- state of a connection at a sample: docs/design/connections.md ---- */

static __always_inline bool poll_window_is_shut(struct tcp_sock *tp, __u32 unsent)
{
	__u32 flight = tp->snd_nxt - tp->snd_una, next = unsent;

	if (next > tp->mss_cache)
		next = tp->mss_cache;
	return !tp->snd_wnd || flight + next > tp->snd_wnd;
}

/*
 * Returns true if the send buffer is full: the kernel wakes a writer when a third of the buffer is
 * free (include/net/sock.h).
 */
static __always_inline bool poll_buffer_is_full(struct sock *sk)
{
	__u32 size = sk->sk_sndbuf;

	return (__u32)sk->sk_wmem_queued >= size - size / 3;
}

/*
 * Returns true if a writer has found no room and waits for it. A buffer may be full of data on the
 * way while its writer has nothing to write. Nobody writes to a subflow of MPTCP: unknown, true.
 */
static __always_inline bool poll_writer_waits(struct sock *sk, struct tcp_sock *tp)
{
	if (bpf_core_field_exists(tp->is_mptcp) && tp->is_mptcp)
		return true;
	return BPF_CORE_READ(sk, sk_socket, flags) >> SOCK_NOSPACE & 1;
}

/* Returns true if only the full send buffer keeps the writer from going on. */
static __always_inline bool poll_lacks_buffer(struct sock *sk, struct tcp_sock *tp, __u32 unsent,
					      __u32 flight)
{
	return poll_buffer_is_full(sk) && unsent < UNSENT_MAX && flight < tp->snd_cwnd &&
	       (unsent < tp->mss_cache || !BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited)) &&
	       poll_writer_waits(sk, tp);
}

/* Returns true if pacing holds the next segment. */
static __always_inline bool poll_is_paced(struct sock *sk, struct tcp_sock *tp, __u64 now)
{
	return sk->sk_pacing_status != SK_PACING_NONE && tp->tcp_wstamp_ns > now;
}

/*
 * Returns true if SO_MAX_PACING_RATE caps the rate. Without a cap, the pacing rate follows what was
 * delivered, so that a small buffer lowers it as well.
 */
static __always_inline bool poll_pacing_is_capped(struct sock *sk)
{
	return sk->sk_pacing_rate >= sk->sk_max_pacing_rate;
}

/*
 * Returns true if this host's queueing discipline or network card holds the connection back: it has
 * enough of the connection's bytes for TCP small queues, or half of the send buffer's.
 */
static __always_inline bool poll_is_queued(struct sock *sk)
{
	return sk->sk_tsq_flags & TSQF_THROTTLED ||
	       (__u32)sk->sk_wmem_alloc.refs.counter >= (__u32)sk->sk_wmem_queued / 2;
}

/*
 * Returns true if the acknowledgement is later than the path explains. If the connection's round
 * trips are measured, they must have shown that the peer delays acknowledgements. Else TCP's
 * minimum stands for the path's round trip, and a varying path exceeds the minimum by itself.
 */
static __always_inline bool poll_ack_is_overdue(struct tcp_sock *tp, struct conn_stats *k,
						__u64 now)
{
	__u32 rtt = tp->srtt_us >> 3, min = tp->rtt_min.s[0].v;
	__u64 sent = tp->tcp_wstamp_ns;

	if (k && k->acks.base) {
		if (!acks_are_delayed(&k->acks))
			return false;
		rtt = acks_base_us(&k->acks);
	} else if (rtt > min && min) {
		rtt = min; /* srtt includes delayed ACKs */
	}
	return now > sent && now - sent > (rtt + rtt / 4 + OVERDUE_US) * 1000ULL;
}

static __always_inline enum conn_sample_state poll_held_back(struct sock *sk, struct tcp_sock *tp,
							     struct conn_stats *k, __u32 unsent,
							     __u64 now)
{
	__u32 nonagle = BPF_CORE_READ_BITFIELD(tp, nonagle);

	/* CONN_AT_CWND includes waiting until the congestion window fits a full segment */
	if (unsent >= tp->mss_cache)
		return CONN_AT_CWND;
	if (!tp->packets_out || nonagle & NAGLE_OFF)
		return sk->sk_pacing_status != SK_PACING_NONE ? CONN_AT_CWND : CONN_AT_FLIGHT;
	return poll_ack_is_overdue(tp, k, now) ? CONN_AT_DELAYED_ACK : CONN_AT_NAGLE;
}

static __always_inline enum conn_sample_state poll_state(struct sock *sk, struct tcp_sock *tp,
							 struct conn_stats *k, __u64 now)
{
	__u32 unsent = tp->write_seq - tp->snd_nxt, out = tp->packets_out;
	__u32 flight = out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	__u8 ca = tcp_ca_state(tp);

	if ((__s32)unsent < 0)
		unsent = 0;
	if (!unsent && !out)
		return CONN_AT_IDLE;
	if (ca == CA_RECOVERY || ca == CA_LOSS || tp->retrans_out)
		return CONN_AT_RECOVERY;
	if (unsent && poll_window_is_shut(tp, unsent))
		return CONN_AT_WINDOW;
	if (poll_lacks_buffer(sk, tp, unsent, flight)) /* a larger buffer would only hold more */
		return poll_is_queued(sk) ||
		       (unsent >= tp->mss_cache && poll_pacing_is_capped(sk) &&
			poll_is_paced(sk, tp, now)) ?
			       CONN_AT_CWND : CONN_AT_SEND_BUFFER;
	if (!unsent)
		return CONN_AT_FLIGHT;
	if (flight >= tp->snd_cwnd)
		return CONN_AT_CWND;
	return poll_held_back(sk, tp, k, unsent, now);
}

/*
 * Counts why a segment of a connection in CONN_AT_CWND waits, if not for the congestion window:
 * for its departure time, or because too many of the connection's bytes are in this host's queueing
 * discipline or network card. With pacing, segments wait there for their departure time, too.
 */
static __always_inline void poll_count_held(struct sock *sk, struct tcp_sock *tp,
					    struct conn_stats *k, __u64 now)
{
	if (tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out >= tp->snd_cwnd)
		return;
	if (poll_is_paced(sk, tp, now))
		k->cwnd_paced++;
	else if (poll_is_queued(sk))
		k->cwnd_queued++;
}

/* Returns true if unread data fill three quarters of the receive buffer. */
static __always_inline bool poll_is_unread(struct sock *sk, struct tcp_sock *tp)
{
	__u32 size = sk->sk_rcvbuf;

	return tp->rcv_nxt != tp->copied_seq &&
	       (__u32)sk->sk_backlog.rmem_alloc.counter >= size - size / 4;
}

/*
 * Counts one sample of the connection's state. `id` identifies the socket. Hooks and iterators pass
 * the socket itself as `id` and `sk`; a walk over tables passes the address as `id`, and a copy of
 * the socket as `sk` and `tp`.
 */
static __always_inline void poll_sample(struct sock *id, struct sock *sk, struct tcp_sock *tp,
					struct conn_stats *k, __u64 now)
{
	enum conn_sample_state what = poll_state(sk, tp, k, now);
	bool shut = !tp->snd_wnd, unread = poll_is_unread(sk, tp);

	conn_note_progress(tp, k, now);
	k->sampled[what & (CONN_STATES - 1)]++;
	k->sampled_us[what & (CONN_STATES - 1)] += pass.sample_us;
	if (what == CONN_AT_CWND)
		poll_count_held(sk, tp, k, now);
	if (shut) {
		k->zero_windows++;
		k->zero_window_us += pass.sample_us;
	}
	if (unread) {
		k->unread++;
		k->unread_us += pass.sample_us;
	}
	if (what == CONN_AT_SEND_BUFFER || what == CONN_AT_WINDOW || what == CONN_AT_RECOVERY ||
	    what == CONN_AT_DELAYED_ACK || unread)
		conn_note_problem(id, k, now);
	if (what != CONN_AT_IDLE || unread)
		conn_mark_changed(k);
}

/* ---- reports ---- */

static __always_inline void conn_put_addresses(struct sock *sk, struct tcp_sock *tp,
					       struct conn_now *n)
{
	struct in6_addr *local = &sk->__sk_common.skc_v6_rcv_saddr;
	struct in6_addr *remote = &sk->__sk_common.skc_v6_daddr;

	n->family = sk->__sk_common.skc_family;
	/* skc_num is already 0 when the socket is closed */
	n->local_port = bpf_ntohs(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
	n->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	if (n->family == AF_INET6) {
		bpf_probe_read_kernel(n->local, 16, local);
		bpf_probe_read_kernel(n->remote, 16, remote);
		if (*(__u64 *)n->remote == 0 && *(__u32 *)(n->remote + 8) == bpf_htonl(0xffff)) {
			n->family = AF_INET;
			n->flags |= CONN_MAPPED;
			__builtin_memset(n->local, 0, 16);
			__builtin_memset(n->remote, 0, 16);
		}
	}
	if (n->family == AF_INET) {
		*(__be32 *)n->local = sk->__sk_common.skc_rcv_saddr;
		*(__be32 *)n->remote = sk->__sk_common.skc_daddr;
	}
}

static __always_inline void conn_put_algorithm(struct tcp_sock *tp, struct conn_now *n)
{
	const struct tcp_congestion_ops *ops = tp->inet_conn.icsk_ca_ops;

	if (in_tables) { /* the pointer comes from a copy: the verifier does not trust it */
		bpf_core_read(n->cc, sizeof(n->cc), &ops->name);
		return;
	}
	((__u64 *)n->cc)[0] = *(const __u64 *)ops->name;
	((__u64 *)n->cc)[1] = *(const __u64 *)(ops->name + 8);
}

/* Returns true for kTLS; an MPTCP subflow has an upper-layer protocol, too. */
static __always_inline bool conn_has_tls(struct tcp_sock *tp)
{
	const struct tcp_ulp_ops *ops = tp->inet_conn.icsk_ulp_ops;
	char name[4] = {};

	if (ops)
		bpf_core_read(name, sizeof(name), &ops->name);
	return name[0] == 't' && name[1] == 'l' && name[2] == 's' && !name[3];
}

/* Puts what depends on settings of the connection's network namespace. */
static __always_inline void conn_put_net(struct sock *sk, struct conn_now *n)
{
	__u8 restart;
	int most;

	if (in_tables) {
		restart = BPF_CORE_READ(sk, __sk_common.skc_net.net,
					ipv4.sysctl_tcp_slow_start_after_idle);
		most = BPF_CORE_READ(sk, __sk_common.skc_net.net, ipv4.sysctl_tcp_wmem[2]);
	} else {
		restart = sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_slow_start_after_idle;
		most = sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_wmem[2];
	}
	if (!restart)
		n->flags |= CONN_IDLE_RESTART_OFF;
	n->sndbuf_grows = !(n->flags & CONN_SNDBUF_SET) && sk->sk_sndbuf < most;
}

static __always_inline void conn_put_flags(struct sock *sk, struct tcp_sock *tp, struct conn_now *n)
{
	__u32 nonagle = BPF_CORE_READ_BITFIELD(tp, nonagle);
	__u8 locks = BPF_CORE_READ_BITFIELD(sk, sk_userlocks);

	if (nonagle & NAGLE_OFF)
		n->flags |= CONN_NODELAY;
	if (nonagle & NAGLE_CORK)
		n->flags |= CONN_CORKED;
	if (locks & SOCK_SNDBUF_LOCK)
		n->flags |= CONN_SNDBUF_SET;
	if (locks & SOCK_RCVBUF_LOCK)
		n->flags |= CONN_RCVBUF_SET;
	if (conn_has_tls(tp))
		n->flags |= CONN_KTLS;
	if (bpf_core_field_exists(tp->is_mptcp) && tp->is_mptcp)
		n->flags |= CONN_MPTCP;
	conn_put_net(sk, n);
	if (n->state == TCP_CLOSE_WAIT)
		n->flags |= CONN_PASSIVE_CLOSED;
}

/*
 * Returns the bytes from sequence number `from` to `to`. Values read without a lock may be of two
 * moments, with `to` before `from`: then 0.
 */
static __always_inline __u32 conn_bytes_between(__u32 from, __u32 to)
{
	return (__s32)(to - from) > 0 ? to - from : 0;
}

static __always_inline void conn_put_now(struct sock *id, struct sock *sk, struct tcp_sock *tp,
					 struct conn_now *n)
{
	__u32 tick = bpf_jiffies64();
	__u64 key = (__u64)id;
	struct conn_timers *t = !lacks_timers && timers_used ?
				bpf_map_lookup_elem(&timers, &key) : NULL;

	n->state = sk->__sk_common.skc_state;
	conn_put_addresses(sk, tp, n);
	conn_put_algorithm(tp, n);
	conn_put_flags(sk, tp, n);
	n->bytes_sent = tp->bytes_sent;
	n->bytes_acked = tp->bytes_acked;
	n->bytes_received = tp->bytes_received;
	n->bytes_retrans = tp->bytes_retrans;
	n->pacing_rate = sk->sk_pacing_status == SK_PACING_NONE ? ~0ULL : sk->sk_pacing_rate;
	n->pacing_capped = poll_pacing_is_capped(sk);
	if (tp->rate_interval_us)
		n->delivery_rate = (__u64)tp->rate_delivered * tp->mss_cache * 1000000ULL /
				   tp->rate_interval_us;
	for (int i = 0; i < 3; i++)
		n->chrono[i] = tcp_chrono_ticks(tp, i, tick);
	n->srtt_us = tp->srtt_us >> 3;
	n->min_rtt_us = tp->rtt_min.s[0].v;
	n->rto = tp->inet_conn.icsk_rto;
	n->cwnd = tp->snd_cwnd;
	n->ssthresh = tp->snd_ssthresh;
	n->mss = tp->mss_cache;
	n->snd_wnd = tp->snd_wnd;
	n->rcv_wnd = tp->rcv_wnd;
	n->sndbuf = sk->sk_sndbuf;
	n->rcvbuf = sk->sk_rcvbuf;
	n->wmem_queued = sk->sk_wmem_queued;
	n->rmem = sk->sk_backlog.rmem_alloc.counter;
	n->write_seq = tp->write_seq;
	n->snd_una = tp->snd_una;
	n->rcv_nxt = tp->rcv_nxt;
	n->unsent = conn_bytes_between(tp->snd_nxt, tp->write_seq);
	n->unacked = conn_bytes_between(tp->snd_una, tp->snd_nxt);
	n->rcv_queue = conn_bytes_between(tp->copied_seq, tp->rcv_nxt);
	n->dsack_dups = tp->dsack_dups;
	n->total_rto = tcp_total_rto(tp);
	n->thin = conn_thinned_from(sk);
	n->last_data = conn_last_data(n->bytes_sent, n->bytes_received,
				      (__s32)(tp->lsndtime - tp->inet_conn.icsk_ack.lrcvtime));
	n->known = bpf_core_field_exists(tp->total_rto) ? CONN_KNOWS_RTO : 0;
	if (t) {
		n->delacks = t->delacks;
		n->probes = t->probes;
	}
}

/*
 * Copies the histogram of round trips if it has changed, or as the connection ends. A round trip
 * that is measured during a report is missing from the extremes; the next or the last report counts
 * it.
 */
static __always_inline void conn_put_rtts(struct sock *id, struct conn_stats *k,
					  struct conn_snapshot *e)
{
	struct conn_rtts *r = k->rtt_max_us || e->closed ? rtts_find(id) : NULL;

	e->has_rtts = !!r;
	if (r)
		__builtin_memcpy(&e->rtts, r, sizeof(e->rtts));
}

#define RING_ENDS (CONN_RING / 8)

/* Copies the counters `k` (NULL: idle connection, no counters) into report `e`. */
static __always_inline void conn_put_stats(struct sock *id, struct tcp_sock *tp,
					   const struct conn_idle *q, struct conn_stats *k,
					   struct conn_snapshot *e)
{
	if (k) {
		conn_note_progress(tp, k, e->time);
		conn_add_times(k, e->time);
		/* the histogram is copied before the extremes, so that both agree but for a race */
		conn_put_rtts(id, k, e);
		__builtin_memcpy(&e->stats, k, sizeof(e->stats));
	} else {
		e->has_rtts = 0;
		__builtin_memset(&e->stats, 0, sizeof(e->stats));
		e->stats.idle = *q;
	}
}

/* Resets the fields that restart at each report. */
static __always_inline void conn_reset_extremes(struct conn_stats *k)
{
	k->longest_stall_us = k->longest_pause_us = k->rtt_max_us = 0;
	k->rtt_min_us = ~0U;
	if (k->loss_first) /* without a loss, `write_first` stays for the next report */
		k->write_first = 0;
	k->loss_first = k->loss_last = k->lost_reply = 0;
}

/*
 * Reports a connection with idle record `q`; `k` is its full record around `q`, or NULL.
 * Returns false if the ring is full: the next pass tries again.
 */
static __always_inline bool conn_report(struct sock *id, struct sock *sk, struct tcp_sock *tp,
					struct conn_idle *q, struct conn_stats *k, __u64 now,
					bool closed)
{
	struct conn_snapshot *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	/* read before the report: later changes belong to the next report */
	__u32 seq = conn_seq_sum(tp);
	__u16 changes = q->changes;

	if (!e)
		return false;
	if (!closed && q->flags & STATS_CLOSED) { /* another CPU has just closed the connection */
		bpf_ringbuf_discard(e, 0);
		return true;
	}
	owner_from_mptcp(tp, q);
	e->time = now;
	e->closed = closed;
	conn_put_stats(id, tp, q, k, e);
	__builtin_memset(&e->now, 0, sizeof(e->now));
	conn_put_now(id, sk, tp, &e->now);
	/* user space empties the ring after passes: wake it if ended connections fill the ring */
	if (closed && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > RING_ENDS)
		bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
	else
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	q->reported = changes;
	q->reported_seq = seq;
	if (k)
		conn_reset_extremes(k);
	return true;
}

#endif
