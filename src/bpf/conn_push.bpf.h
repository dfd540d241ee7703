/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Counts events of connections as they happen, for bpf/conns.bpf.c. */
#ifndef HOSTLAT_BPF_CONN_PUSH_H
#define HOSTLAT_BPF_CONN_PUSH_H

#include "bpf/abi_conns.h"
#include "bpf/conn_acks.h"
#include "bpf/conn_calls.bpf.h"
#include "bpf/conn_owner.bpf.h"
#include "bpf/conn_poll.bpf.h"
#include "bpf/conn_records.bpf.h"
#include "bpf/conn_state.bpf.h"
#include "bpf/kernel/types.h"
#include "event/layout.h"

#define MSG_PEEK_ 2
#define EAGAIN_ 11
#define ICSK_ACK_TIMER_ 2     /* include/net/inet_connection_sock.h */
#define ICSK_TIME_LOSS_PROBE_ 5
#define SOL_TCP_ 6
#define TCP_CB_FLAGS 1008     /* TCP_BPF_SOCK_OPS_CB_FLAGS */

/*
 * With at most PEER_DELAY_FLIGHT segments in flight, a connection's own queue is not the reason of
 * a long round trip.
 */
#define PEER_DELAY_FLIGHT 2

/*
 * Send calls and round trips take their time from tcp_clock_cache: TCP has just read the clock
 * itself (tcp_mstamp_refresh() of include/net/tcp.h, when it sends and when a packet arrives).
 */

/* ---- calls ---- */

static __always_inline __u32 call_size_bucket(__u32 bytes)
{
	__u32 i = 0, limit = 16;

	for (; i < CONN_SIZES - 1 && bytes > limit; i++)
		limit <<= 2;
	return i;
}

/*
 * Counts a small send call if it follows another one without an acknowledgement in between: both
 * could have been one call.
 */
static __always_inline void conn_count_small_call(struct tcp_sock *tp, struct conn_stats *k,
						  __u32 bytes)
{
	bool small = bytes < tp->mss_cache / 2;

	if (small && k->idle.flags & STATS_SMALL && k->send_una == tp->snd_una)
		k->send_small++;
	k->send_una = tp->snd_una;
	if (small)
		k->idle.flags |= STATS_SMALL;
	else
		k->idle.flags &= ~STATS_SMALL;
}

/* minimum pause between two bursts, us */
#define BURST_PAUSE_US 5000

/*
 * Stores when a burst of sends began, unless a loss was seen since the last report: `write_first`
 * then remains the begin of the burst before that loss.
 */
static __always_inline void conn_note_write(struct conn_stats *k, __u64 when)
{
	if (!k->loss_first)
		k->write_first = when;
}

static __always_inline void conn_count_sent(struct sock *sk, int ret)
{
	struct conn_stats *k = conn_stats_get(sk);
	struct tcp_sock *tp;
	__u64 now, pause;

	if (!k)
		return;
	conn_mark_changed(k);
	conn_warm_up(sk, k);
	owner_set_caller(k);
	if (ret <= 0) {
		if (ret == -EAGAIN_)
			k->send_blocked++;
		return;
	}
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	now = tp->tcp_clock_cache;
	pause = k->last_send && now > k->last_send ? (now - k->last_send) / 1000 : 0;
	if (pause > k->longest_pause_us)
		k->longest_pause_us = pause;
	if (pause > BURST_PAUSE_US && tp->write_seq - tp->snd_una <= (__u32)ret)
		conn_note_write(k, now); /* a burst begins: no older byte is unacknowledged */
	k->last_send = now;
	k->idle.flags |= STATS_SENT_LAST;
	k->data_segs = tp->data_segs_in;
	k->send_calls++;
	k->send_bytes += ret;
	k->send_sizes[call_size_bucket(ret) & (CONN_SIZES - 1)]++;
	conn_count_small_call(tp, k, ret);
	conn_note_progress(tp, k, now);
}

static __always_inline void conn_sent(struct sock *sk, int ret)
{
	calls_log(sk, ret, DIR_EGRESS);
	if (conn_is_thinned(sk))
		conn_mark_active(sk, USE_SEND);
	else
		conn_count_sent(sk, ret);
}

static __always_inline void conn_count_received(struct sock *sk, int ret)
{
	struct conn_stats *k = conn_stats_get(sk);

	if (!k)
		return;
	conn_mark_changed(k);
	conn_warm_up(sk, k);
	owner_set_caller(k);
	if (ret <= 0)
		return;
	k->recv_calls++;
	k->recv_bytes += ret;
	k->recv_sizes[call_size_bucket(ret) & (CONN_SIZES - 1)]++;
	k->idle.flags &= ~(STATS_SMALL | STATS_SENT_LAST);
}

static __always_inline void conn_received(struct sock *sk, int ret)
{
	calls_log(sk, ret, DIR_INGRESS);
	if (conn_is_thinned(sk))
		conn_mark_active(sk, USE_RECV);
	else
		conn_count_received(sk, ret);
}

/* ---- losses ---- */

static __always_inline void conn_count_retransmit(struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct conn_stats *k = tp ? conn_stats_get(sk) : NULL;
	struct tcp_skb_cb *cb = (struct tcp_skb_cb *)skb->cb;
	__u32 segments, seq;
	__u64 now, since;
	__u8 ca;

	if (!k)
		return;
	now = bpf_ktime_get_ns();
	segments = BPF_CORE_READ(cb, tcp_gso_segs);
	seq = BPF_CORE_READ(cb, seq);
	ca = tcp_ca_state(tp);
	/* TCP also sets delivered_mstamp when a flight begins */
	since = tp->delivered_mstamp * 1000;
	if (k->idle.una != tp->snd_una) /* snd_una has advanced, not seen yet */
		conn_note_progress(tp, k, since < now ? since : now);
	if (ca != CA_LOSS && ca != CA_RECOVERY &&
	    tp->inet_conn.icsk_pending == ICSK_TIME_LOSS_PROBE_)
		k->tlp++;
	else if (ca != CA_LOSS)
		k->fast_retransmit += segments ? segments : 1;
	if (!k->stall_since) {
		if (k->una_time > since && tp->snd_una != tp->snd_nxt)
			since = k->una_time;
		k->stall_since = since < now ? since : now;
		k->stall_una = tp->snd_una;
		if (!k->repair_since)
			k->repair_since = k->stall_since;
	}
	if ((__s32)(seq - k->burst_from) >= 0 && (__s32)(k->burst_to - seq) > 0) {
		k->idle_bursts_lost++;
		k->burst_to = k->burst_from; /* count the burst only once */
	}
	k->loss_last = conn_short_time(now);
	if (!k->loss_first)
		k->loss_first = k->loss_last;
	conn_note_problem(sk, k, now);
	conn_mark_changed(k);
}

/* ---- round trips ---- */

/*
 * Socket flags that other BPF programs may set as well. hostlat remembers the flags that it has
 * added, and clears only these.
 */
#define CB_FLAGS (BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG)

static __always_inline __u16 ops_added_flags(int old)
{
	return (old & BPF_SOCK_OPS_RTT_CB_FLAG ? 0 : STATS_SET_RTT) |
	       (old & BPF_SOCK_OPS_RTO_CB_FLAG ? 0 : STATS_SET_RTO);
}

/*
 * Begins to follow a connection. An accepted socket comes here before it is established: its record
 * is made to remember the added flags, and conn_state completes the record.
 */
static __always_inline void ops_begin(struct bpf_sock_ops *ops)
{
	struct bpf_sock *bsk = ops->sk;
	int old = ops->bpf_sock_ops_cb_flags;
	struct tcp_sock *tp;
	struct conn_stats *k;

	if (!bsk || !following)
		return;
	tp = bpf_skc_to_tcp_sock(bsk);
	if (!tp || conn_is_unfollowed((struct sock *)tp))
		return;
	if (in_tables)
		conn_drop_stale((struct sock *)tp);
	k = conns_make(bsk);
	if (!k || bpf_sock_ops_cb_flags_set(ops, old | CB_FLAGS))
		return; /* without a record, hostlat could never clear the flags */
	k->idle.flags |= ops_added_flags(old) | (k->idle.flags & STATS_READY ? STATS_RTT : 0);
}

/* Adds a round trip to the socket's histogram, under the socket's lock. */
static __always_inline void ops_count_bucket(struct bpf_sock *bsk, struct conn_stats *k, __u32 rtt)
{
	struct conn_rtts *r = rtts_make(bsk);
	__u32 i = conn_rtt_bucket(rtt);

	if (!r) {
		k->idle.flags |= STATS_RTTS_LOST;
		return;
	}
	if (++r->count[i])
		return;
	r->wrapped[r->wraps & (CONN_RTT_WRAPS - 1)] = i;
	r->wraps++;
}

/*
 * Stores the send time of the first request whose acknowledgement came with data, later than
 * Linux's delayed-ACK timer would send it. Either the reply was lost and retransmitted, or the path
 * or the peer stood still: one connection alone cannot tell.
 */
static __always_inline void ops_check_late_reply(struct conn_stats *k, __u32 rtt, __u64 now)
{
	if (rtt > acks_base_us(&k->acks) + CONN_LATE_US && !k->lost_reply)
		k->lost_reply = conn_short_time(now - rtt * 1000ULL);
}

/* Counts delayed ACKs of the peer. `held`: unsent data, which may wait for the acknowledgement. */
static __always_inline void ops_count_peer_delay(struct tcp_sock *tp, struct conn_stats *k,
						 __u32 rtt, __u64 now)
{
	bool lone = tp->packets_out + tp->delivered - k->idle.delivered <= PEER_DELAY_FLIGHT;
	/* data_segs_in already counts this segment */
	bool with_data = k->data_segs != (__u16)tp->data_segs_in;
	bool held = tp->write_seq != tp->snd_nxt;
	struct acks_found found = acks_add(&k->acks, rtt, tp->rtt_min.s[0].v, lone, with_data,
					   held);

	k->data_segs = tp->data_segs_in;
	if (lone && with_data)
		ops_check_late_reply(k, rtt, now);
	k->peer_delacks += found.delayed;
	k->delacks_harmful += found.held;
}

/* Counts a burst: after a pause, TCP sends at once as much as the congestion window allows. */
static __always_inline void ops_count_burst(struct tcp_sock *tp, struct conn_stats *k, __u32 rtt,
					    __u64 now)
{
	__u32 flight = tp->packets_out + tp->delivered - k->idle.delivered;
	__u64 began = now - (__u64)rtt * 1000;

	conn_note_write(k, began);
	/* sending the initial window is no burst */
	if (flight * 2 >= k->idle.cwnd && flight > 10) {
		k->idle_bursts++;
		k->burst_from = tp->snd_una;
		k->burst_to = tp->snd_nxt;
	}
	if (tp->snd_cwnd < k->idle.cwnd - k->idle.cwnd / 4 && tp->write_seq != tp->snd_nxt)
		k->idle_restarts++;
}

/*
 * Returns true while TCP repairs a loss. Programs then look at unsampled connections as well, as
 * the end of the repair is timed.
 */
static __always_inline bool ops_is_repairing(struct tcp_sock *tp)
{
	return tp->retrans_out || tp->tlp_high_seq || tcp_ca_state(tp) >= CA_RECOVERY;
}

static __always_inline void ops_count_rtt(struct bpf_sock_ops *ops)
{
	struct bpf_sock *bsk = ops->sk;
	struct conn_stats *k;
	struct tcp_sock *tp;
	__u64 now, pause;
	bool thinned;
	__u32 rtt;

	if (!bsk)
		return;
	tp = bpf_skc_to_tcp_sock(bsk);
	if (!tp)
		return;
	thinned = conn_is_thinned((struct sock *)tp);
	if (thinned && !ops_is_repairing(tp) && !conn_is_mark_due(USE_RTT))
		return;
	k = conn_stats_get((struct sock *)bsk);
	if (!k)
		return;
	now = tp->tcp_clock_cache;
	conn_mark_changed(k);
	conn_warm_up((struct sock *)tp, k);
	/* the kernel passes the RTT since 6.10 */
	rtt = ops->args[0] ? ops->args[0] : tp->rack.rtt_us;
	if (!rtt || thinned) { /* without SACK, before 6.10, the kernel does not report the RTT */
		conn_note_progress(tp, k, now);
		return;
	}
	k->rtt_samples++;
	k->rtt_sum_us += rtt;
	if (rtt < k->rtt_min_us)
		k->rtt_min_us = rtt;
	if (rtt > k->rtt_max_us)
		k->rtt_max_us = rtt;
	ops_count_bucket(bsk, k, rtt);
	ops_count_peer_delay(tp, k, rtt, now);
	pause = now > k->una_time ? now - k->una_time : 0;
	if (pause > tp->inet_conn.icsk_rto * tick_ns + (__u64)rtt * 1000 && !k->stall_since)
		ops_count_burst(tp, k, rtt, now);
	conn_note_progress(tp, k, now);
	k->idle.cwnd = tp->snd_cwnd > 65535 ? 65535 : tp->snd_cwnd;
	k->idle.delivered = tp->delivered;
}

static __always_inline void ops_count_rto(struct bpf_sock_ops *ops)
{
	struct bpf_sock *bsk = ops->sk;
	struct conn_stats *k = bsk ? conn_stats_get((struct sock *)bsk) : NULL;

	if (!k)
		return;
	k->rto++;
	conn_mark_changed(k);
}

static __always_inline void ops_set_flags(struct sock *sk, int flags)
{
	bpf_setsockopt(sk, SOL_TCP_, TCP_CB_FLAGS, &flags, sizeof(flags));
}

/*
 * Sets hostlat's flags in a socket that was open before hostlat began. If this kernel cannot set
 * the flags, STATS_RTT stays unset.
 */
static __always_inline void ops_flag_socket(struct sock *sk, struct tcp_sock *tp,
					    struct conn_idle *q)
{
	int old = tp->bpf_sock_ops_cb_flags, flags = old | CB_FLAGS;

	if (!ops_attached)
		return;
	if (bpf_setsockopt(sk, SOL_TCP_, TCP_CB_FLAGS, &flags, sizeof(flags))) {
		flags_refused = 1;
		return;
	}
	flags_accepted = 1;
	q->flags |= STATS_RTT | ops_added_flags(old);
}

static __always_inline void ops_unflag_socket(struct sock *sk, struct tcp_sock *tp, __u16 ours)
{
	int flags = tp->bpf_sock_ops_cb_flags;

	if (ours & STATS_SET_RTT)
		flags &= ~BPF_SOCK_OPS_RTT_CB_FLAG;
	if (ours & STATS_SET_RTO)
		flags &= ~BPF_SOCK_OPS_RTO_CB_FLAG;
	ops_set_flags(sk, flags);
}

/* ---- timers ---- */

static __always_inline struct conn_timers *conn_timers_get(__u64 key)
{
	static const struct conn_timers none = {};
	struct conn_timers *t = bpf_map_lookup_elem(&timers, &key);

	if (t)
		return t;
	timers_used = 1;
	bpf_map_update_elem(&timers, &key, &none, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&timers, &key);
	if (!t)
		conn_count_lost(LOST_TIMERS);
	return t;
}

/*
 * Counts a delayed ACK: the timer finds a due ACK and sends it (net/ipv4/tcp_timer.c,
 * tcp_delack_timer_handler()).
 */
static __always_inline void conn_count_delack(struct timer_list *timer)
{
	__u64 sk = (__u64)timer - bpf_core_field_offset(struct inet_connection_sock,
							icsk_delack_timer);
	struct inet_connection_sock *icsk = (void *)sk;
	struct conn_timers *t;

	if (!(BPF_CORE_READ(icsk, icsk_ack.pending) & ICSK_ACK_TIMER_))
		return;
	t = conn_timers_get(sk);
	if (t)
		t->delacks++;
}

/*
 * Counts a tail-loss probe with new data (tcp_send_loss_probe()); a probe without new data is
 * counted as a retransmission.
 */
static __always_inline void conn_count_probe(struct timer_list *timer)
{
	__u64 sk = (__u64)timer - bpf_core_field_offset(struct inet_connection_sock,
							icsk_retransmit_timer);
	struct inet_connection_sock *icsk = (void *)sk;
	struct tcp_sock *tp = (void *)sk;
	struct conn_timers *t;
	__u32 flight;

	if (BPF_CORE_READ(icsk, icsk_pending) != ICSK_TIME_LOSS_PROBE_ ||
	    BPF_CORE_READ(tp, tlp_high_seq) ||
	    BPF_CORE_READ(tp, write_seq) == BPF_CORE_READ(tp, snd_nxt))
		return;
	flight = BPF_CORE_READ(tp, snd_nxt) - BPF_CORE_READ(tp, snd_una);
	if (flight >= BPF_CORE_READ(tp, snd_wnd))
		return;
	t = conn_timers_get(sk);
	if (t)
		t->probes++;
}

#endif
