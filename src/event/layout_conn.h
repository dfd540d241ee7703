/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * EV_CONN: what one TCP connection did in an interval, and how it stood at its end. Part of
 * event/layout.h, whose rules hold here.
 *
 * An interval may span several of the run's (EV_INTERVAL): nothing is written of a connection that
 * is idle, and little of one without problems. Successive intervals of a connection have no gap.
 * How the times are found: docs/design/connections.md.
 */
#ifndef HOSTLAT_EVENT_LAYOUT_CONN_H
#define HOSTLAT_EVENT_LAYOUT_CONN_H

#include "event/conn_counters.h"

/*
 * By so much is a reply late that Linux sent again after its shortest timeout (200 ms, less what
 * the base varies). Linux delays no acknowledgement as long; others do (older Windows, lwIP).
 */
#define CONN_LATE_US 190000U

enum conn_flags {
	CONN_CLOSED = 1,	/* it ended at `to` */
	CONN_BEGAN = 2,		/* it was made at `from`; of a first interval without: before */
	CONN_NODELAY = 4,	/* TCP_NODELAY, or corking is off for another reason */
	CONN_CORKED = 8,	/* TCP_CORK */
	CONN_SNDBUF_SET = 16,	/* the application has set SO_SNDBUF: no autotuning */
	CONN_RCVBUF_SET = 32,	/* the application has set SO_RCVBUF */
	CONN_ACCEPTED = 64,	/* this end has accepted it: its local port is a listener's */
	CONN_MPTCP = 128,	/* a subflow */
	CONN_KTLS = 256,	/* TLS in the kernel */
	CONN_MAPPED = 512,	/* IPv4 on an IPv6 socket; the flow has its IPv4 addresses */
	CONN_IDLE_RESTART_OFF = 1024, /* tcp_slow_start_after_idle is 0 in its namespace */
	CONN_PASSIVE_CLOSED = 2048, /* the peer has sent all it will */
	CONN_SELF = 4096,	/* hostlat's own */
	CONN_FROM_DIAG = 8192,	/* told by inet_diag: of NODELAY ... RCVBUF_SET, IDLE_RESTART_OFF
				 * and sequence numbers nothing is known */
	CONN_LOGGED = 16384,	/* at `to` each of its calls was to be logged: EV_CALL */
};

/* Groups of known fields; a field without its bit is 0 and means nothing. */
enum conn_known {
	CONN_KNOWS_TIMES = 1,	/* the five times and unknown_ns */
	CONN_KNOWS_CALLS = 2,	/* of send and receive calls */
	CONN_KNOWS_RTT = 4,	/* rtt_samples ... rtt_max_us */
	CONN_KNOWS_LOSSES = 8,	/* fast_retransmit, tlp, recovery_ns, stall_ns ... */
	CONN_KNOWS_RTO = 16,
	CONN_KNOWS_DELACKS = 32,/* delayed_acks */
	CONN_KNOWS_PEER_DELACKS = 64, /* peer_delayed_acks, delayed_acks_harmful */
	CONN_KNOWS_CHRONO = 128,/* busy_ns ... kernel_sndbuf_ns */
	CONN_KNOWS_SPURIOUS = 256,
	CONN_KNOWS_RCV_WND = 512,
	CONN_KNOWS_GAUGES = 1024, /* mss ... rcv_queue, but for rcv_wnd */
	CONN_KNOWS_RTTS = 2048,	/* rtts[]; only with CONN_KNOWS_RTT: they add up to rtt_samples */
};

/* Bits 12 and up of enum conn_known: one for each counter added later, in the order of the rows. */
#define CONN_ADDED_BIT(field, ...) CONN_BIT_##field,
#define CONN_ADDED_MASK(field, ...) CONN_COUNTS_##field = 1U << CONN_BIT_##field,
#define CONN_ADDED_OR(field, ...) | CONN_COUNTS_##field
#define CONN_ADDED_ONE(...) + 1

enum conn_added_bit { CONN_BIT_BEFORE = 11, CONN_COUNTERS_ADDED(CONN_ADDED_BIT, CONN_ADDED_BIT) };
enum conn_added {
	CONN_COUNTERS_ADDED(CONN_ADDED_MASK, CONN_ADDED_MASK)
	CONN_COUNTS_ALL = 0 CONN_COUNTERS_ADDED(CONN_ADDED_OR, CONN_ADDED_OR),
	CONN_ADDED = 0 CONN_COUNTERS_ADDED(CONN_ADDED_ONE, CONN_ADDED_ONE), /* how many */
};
#undef CONN_ADDED_BIT
#undef CONN_ADDED_MASK
#undef CONN_ADDED_OR
#undef CONN_ADDED_ONE

/* State of the connection in a sample: the first of these that holds. */
enum conn_sample_state {
	CONN_AT_IDLE,		/* nothing to send and nothing unacknowledged */
	CONN_AT_RECOVERY,	/* repairs a loss */
	CONN_AT_WINDOW,		/* the peer's window has no room */
	CONN_AT_SEND_BUFFER,	/* full, and all in it is sent, or may be */
	CONN_AT_CWND,		/* the congestion window, or pacing, holds data back */
	CONN_AT_DELAYED_ACK,	/* Nagle holds data until an acknowledgement that is overdue */
	CONN_AT_NAGLE,		/* Nagle holds data until an acknowledgement that is not overdue */
	CONN_AT_FLIGHT,		/* all is sent, the application gives no more */
	CONN_AT_MAX,
};

#define CONN_SIZES 8 /* of calls: bucket i holds up to 4^(i+2) bytes, the last all others */
#define CONN_STATES 8

/*
 * Round trips: bucket i holds those in (2^((i + 51) / 4), 2^((i + 52) / 4)] ns, which are those of
 * stats/buckets.h of schema 2; the first one all up to 2^13 ns = 8.2 us, and the last one all
 * beyond 2^33 ns = 8.6 s.
 */
#define CONN_RTTS 82
#define CONN_RTT_SCHEMA 2
#define CONN_RTT_BASE 52 /* the index of bucket 0's upper edge in that schema */
#define CONN_RTT_LEAST_NS (1U << 13)

struct event_conn {
	__u64 cookie;		/* of the socket: its identity, with the namespace's */
	__u64 from;
	__u64 to;
	__u32 flow;		/* EV_FLOW */
	__u32 app;		/* DICT_STRING: container, unit or command; 0 = unknown */
	__u32 pid;		/* the last caller or the holder; 0 = unknown */
	__u32 flags;		/* enum conn_flags */
	/* With unknown_ns they sum to `to` - `from`. */
	__u64 sender_app_ns;
	__u64 send_buffer_ns;
	__u64 congestion_ns;
	__u64 receiver_window_ns;
	__u64 delayed_ack_ns;	/* held back by an acknowledgement that the peer delayed */
	/* Members without a comment of their own: event/conn_counters.h says what they count. */
	__u64 bytes_sent, bytes_received;
	__u32 fast_retransmit, rto, tlp, spurious, delayed_acks, delayed_acks_harmful;
	__u32 rtt_us;		/* smoothed, at `to` */
	__u32 cwnd;		/* segments, at `to` */

	/* -- evidence: counted in the interval -- */
	__u64 unknown_ns;	/* of from..to: too little was sampled in it */
	__u64 bytes_acked, bytes_retransmitted;
	/* kernel_sndbuf_ns is often 0 although the send buffer limited. */
	__u64 busy_ns, kernel_rwnd_ns, kernel_sndbuf_ns;
	__u64 recovery_ns, loss_ns, stall_ns, longest_stall_ns;
	__u64 loss_first;	/* when the first segment was retransmitted; 0 = none */
	__u64 loss_last;
	__u64 write_first;	/* when the burst began that loss_first is of: after a pause, with
				 * nothing unacknowledged; 0 = none. May be before `from` */
	__u64 send_bytes, recv_bytes, longest_pause_ns, rtt_sum_us;
	__u32 rtt_samples, rtt_min_us, rtt_max_us;
	__u32 peer_delayed_acks;/* see bpf/conn_acks.h */
	__u32 recoveries, stalls;
	__u32 send_calls, recv_calls, send_small, send_blocked;
	__u32 idle_bursts, idle_bursts_lost, idle_restarts;
	__u32 zero_windows, unread; /* of `samples` */
	__u32 samples;		/* Poisson */
	__u32 sampled[CONN_STATES]; /* of them, by enum conn_sample_state */
	__u32 send_sizes[CONN_SIZES];
	__u32 recv_sizes[CONN_SIZES];

	/* -- evidence: as it stood at `to` -- */
	__u32 known;		/* enum conn_known */
	__u32 poll_mhz;		/* samples per 1,000 seconds that were aimed at */
	__u32 congestion_control;/* DICT_STRING */
	__u32 cgroup;		/* DICT_CGROUP */
	__u32 unit;		/* DICT_UNIT */
	__u32 comm;		/* DICT_STRING: of `pid` */
	__u32 thinned_one_in;	/* calls, RTTs: of so many connections one is followed; 0: all */
	__u32 min_rtt_us;
	__u32 rto_us;
	__u32 mss;
	__u32 snd_wnd;		/* the peer's window, bytes */
	__u32 rcv_wnd;		/* ours */
	__u32 sndbuf;
	__u32 rcvbuf;
	__u32 wmem_queued;	/* of sndbuf, the kernel's overhead included */
	__u32 rmem;		/* used part of rcvbuf, with overhead */
	__u32 unsent;		/* bytes */
	__u32 unacked;		/* bytes */
	__u32 rcv_queue;	/* bytes that the application has not read */
	__u32 ssthresh;		/* segments */
	__u64 delivery_rate;	/* bytes per second, the kernel's last estimate; 0 = none */
	__u64 pacing_rate;	/* bytes per second of pacing; all ones: none */
	__u32 write_seq;	/* for joining the two ends: sequence numbers */
	__u32 snd_una;
	__u32 rcv_nxt;
	__u32 tcp_state;	/* as in include/net/tcp_states.h */

	/*
	 * -- the time that the samples stand for: each for the inverse of the rate at which such a
	 * connection was sampled. Sums of them are unbiased over intervals of different rates, if
	 * the intervals without samples are not left out; 0 throughout: nothing is known but the
	 * numbers of samples.
	 */
	__u64 sampled_ns[CONN_STATES];
	__u64 zero_window_ns;	/* of them, those of zero_windows */
	__u64 unread_ns;	/* time of the samples in `unread` */
	__u64 unsampled_ns;	/* part of from..to that could not be sampled */
	__u64 squares;		/* the sum of each sample's time's square, in (100 us)^2 */

	/* -- of `samples` those in none of sampled[]: what they found fits to several states -- */
	__u64 unclear_ns;	/* the time that they stand for; 0: there are none */

	__u32 rtts[CONN_RTTS];	/* round trips by their length; with CONN_KNOWS_RTTS */

	/*
	 * When the first request was sent that was acknowledged more than CONN_LATE_US later than
	 * usual, and by data: the reply had been lost, or the path or the peer stood still. 0:
	 * none, or not known, as without CONN_KNOWS_CALLS.
	 */
	__u64 lost_reply;
#define CONN_ADDED_FIELD(field, ...) __u64 field;
	CONN_COUNTERS_ADDED(CONN_ADDED_FIELD, CONN_ADDED_FIELD)
#undef CONN_ADDED_FIELD
	/*
	 * Keeps the size at 16 n + 8 bytes: conns/state.c packs all behind `cookie`, and
	 * base/zpack.h takes groups of 16 bytes.
	 */
	__u64 pad[(CONN_ADDED | 1) - CONN_ADDED];
};

EVENT_ASSERT(event_conn, 976 + 8 * (CONN_ADDED | 1), lost_reply, 968);
_Static_assert(CONN_STATES == CONN_AT_MAX, "struct event_conn");

#endif
