/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * EV_CONN: counters of one TCP connection in an interval, and its state at the interval's end. Part
 * of event/layout.h, whose rules hold here.
 *
 * An EV_CONN may span several intervals of the run (EV_INTERVAL): an idle connection has no
 * EV_CONN, a connection without problems has few. Successive EV_CONN of a connection have no gap.
 * docs/design/connections.md explains the times.
 */
#ifndef HOSTLAT_EVENT_LAYOUT_CONN_H
#define HOSTLAT_EVENT_LAYOUT_CONN_H

#include "event/conn_counters.h"

/*
 * A request that is acknowledged this much later than usual may have lost its reply: Linux
 * retransmits the reply after 200 ms at least, minus the variation of the usual time. Linux delays
 * no acknowledgement that long; older Windows and lwIP do.
 */
#define CONN_LATE_US 190000U

enum conn_flags {
	CONN_CLOSED = 1,	/* the connection ended at the interval's end */
	/*
	 * opened at the interval's begin; a connection whose first record lacks this was opened
	 * earlier
	 */
	CONN_BEGAN = 2,
	CONN_NODELAY = 4,	/* Nagle is off: TCP_NODELAY, or by other means */
	CONN_CORKED = 8,	/* TCP_CORK */
	CONN_SNDBUF_SET = 16,	/* the application set SO_SNDBUF: no autotuning */
	CONN_RCVBUF_SET = 32,	/* the application set SO_RCVBUF */
	CONN_ACCEPTED = 64,	/* accepted: the local port is a listener's */
	CONN_MPTCP = 128,	/* a subflow of MPTCP */
	CONN_KTLS = 256,	/* TLS in the kernel */
	CONN_MAPPED = 512,	/* IPv4 on an IPv6 socket; the flow has its IPv4 addresses */
	CONN_IDLE_RESTART_OFF = 1024, /* tcp_slow_start_after_idle is 0 in its netns */
	CONN_PASSIVE_CLOSED = 2048, /* in TCP_CLOSE_WAIT: the peer has sent its FIN */
	CONN_SELF = 4096,	/* hostlat's own connection */
	CONN_FROM_DIAG = 8192,	/* from inet_diag: flags CONN_NODELAY ... CONN_RCVBUF_SET and
				 * CONN_IDLE_RESTART_OFF, and sequence numbers, are unknown */
	/* the connection's calls were being logged (EV_CALL) at the interval's end */
	CONN_LOGGED = 16384,
	/*
	 * Direction of the last data, if data has moved both ways: sent, received, or both in one
	 * tick of the kernel's clock. Recordings of older versions lack these flags.
	 */
	CONN_SENT_LAST = 32768,
	CONN_RECEIVED_LAST = 65536,
	/*
	 * Automatic sizing may still enlarge the send buffer: it is smaller than the third value of
	 * tcp_wmem. Recordings of older versions, and CONN_FROM_DIAG, lack this flag.
	 */
	CONN_SNDBUF_GROWS = 131072,
	/* SO_MAX_PACING_RATE caps the pacing rate; lacking likewise */
	CONN_PACING_CAPPED = 262144,
};

/* Groups of known fields; a field without its bit is 0 and means nothing. */
enum conn_known {
	CONN_KNOWS_TIMES = 1,	/* known: time by limiting cause: sender_app_ns, ..., unknown_ns */
	CONN_KNOWS_CALLS = 2,	/* known: counters of send and receive calls */
	CONN_KNOWS_RTT = 4,	/* known: round-trip times, rtt_samples ... rtt_max_us */
	CONN_KNOWS_LOSSES = 8,	/* known: losses: fast_retransmit, tlp, recovery_ns, stall_ns ... */
	CONN_KNOWS_RTO = 16,
	CONN_KNOWS_DELACKS = 32, /* known: delayed_acks */
	CONN_KNOWS_PEER_DELACKS = 64, /* known: peer_delayed_acks, delayed_acks_harmful */
	CONN_KNOWS_CHRONO = 128, /* known: the kernel's times, busy_ns ... kernel_sndbuf_ns */
	CONN_KNOWS_SPURIOUS = 256,
	CONN_KNOWS_RCV_WND = 512,
	CONN_KNOWS_GAUGES = 1024, /* known at interval end: mss ... rcv_queue, except rcv_wnd */
	/* known: rtts[], which sum to rtt_samples; implies CONN_KNOWS_RTT */
	CONN_KNOWS_RTTS = 2048,
};

/*
 * Bits 12 and up of enum conn_known: one for each counter added later, in the order of
 * CONN_COUNTERS_ADDED.
 */
#define CONN_ADDED_BIT(field, ...) CONN_BIT_##field,
#define CONN_ADDED_MASK(field, ...) CONN_COUNTS_##field = 1U << CONN_BIT_##field,
#define CONN_ADDED_OR(field, ...) | CONN_COUNTS_##field
#define CONN_ADDED_ONE(...) +1

enum conn_added_bit { CONN_BIT_BEFORE = 11, CONN_COUNTERS_ADDED(CONN_ADDED_BIT, CONN_ADDED_BIT) };
enum conn_added {
	CONN_COUNTERS_ADDED(CONN_ADDED_MASK, CONN_ADDED_MASK)
	CONN_COUNTS_ALL = 0 CONN_COUNTERS_ADDED(CONN_ADDED_OR, CONN_ADDED_OR),
	CONN_ADDED = 0 CONN_COUNTERS_ADDED(CONN_ADDED_ONE, CONN_ADDED_ONE), /* added counters */
};
#undef CONN_ADDED_BIT
#undef CONN_ADDED_MASK
#undef CONN_ADDED_OR
#undef CONN_ADDED_ONE

/* State of a connection in a sample. If several apply, it is the first in this list. */
enum conn_sample_state {
	CONN_AT_IDLE,		/* no unsent and no unacknowledged data */
	CONN_AT_RECOVERY,	/* repairing a loss */
	CONN_AT_WINDOW,		/* the peer's window is full */
	CONN_AT_SEND_BUFFER,	/* the send buffer is full; all its data is sent or may be sent */
	CONN_AT_CWND,		/* the congestion window, or pacing, holds data back */
	CONN_AT_DELAYED_ACK,	/* Nagle holds data until an acknowledgement that is overdue */
	CONN_AT_NAGLE,		/* Nagle holds data until an acknowledgement that is not overdue */
	CONN_AT_FLIGHT,		/* all data is sent; the application writes no more */
	CONN_AT_MAX,
};

#define CONN_SIZES 8 /* call sizes: bucket i counts up to 4^(i+2) bytes, the last all larger */
#define CONN_STATES 8

/*
 * Round trips: bucket i counts (2^((i + 51) / 4), 2^((i + 52) / 4)] ns, the buckets of
 * stats/buckets.h with schema 2. The first bucket counts all up to 2^13 ns = 8.2 us, the last all
 * above 2^33 ns = 8.6 s.
 */
#define CONN_RTTS 82
#define CONN_RTT_SCHEMA 2
#define CONN_RTT_BASE 52 /* index of bucket 0 in stats/buckets.h with schema 2 */
#define CONN_RTT_LEAST_NS (1U << 13)

struct event_conn {
	__u64 cookie;		/* socket cookie; unique with the namespace's cookie */
	__u64 from;
	__u64 to;
	__u32 flow;		/* EV_FLOW */
	__u32 app;		/* DICT_STRING: container, unit or command; 0 = unknown */
	__u32 pid;		/* process of the last call, or owner; 0: unknown */
	__u32 flags;		/* enum conn_flags */
	/* Time by limiting cause, to delayed_ack_ns; with unknown_ns, it sums to the interval. */
	__u64 sender_app_ns;
	__u64 send_buffer_ns;
	__u64 congestion_ns;
	__u64 receiver_window_ns;
	__u64 delayed_ack_ns;	/* waited for an ACK that the peer delayed */
	/* event/conn_counters.h explains the counters that have no comment here. */
	__u64 bytes_sent, bytes_received;
	__u32 fast_retransmit, rto, tlp, spurious, delayed_acks, delayed_acks_harmful;
	__u32 rtt_us;		/* smoothed RTT at the interval's end */
	__u32 cwnd;		/* congestion window in segments, at the interval's end */

	/* -- evidence for the limiting cause: counters of the interval -- */
	__u64 unknown_ns;	/* part of the interval with too few samples */
	__u64 bytes_acked, bytes_retransmitted;
	/* kernel_sndbuf_ns is often 0 although the send buffer was the limit. */
	__u64 busy_ns, kernel_rwnd_ns, kernel_sndbuf_ns;
	__u64 recovery_ns, loss_ns, stall_ns, longest_stall_ns;
	__u64 loss_first;	/* time of the first retransmission; 0: none */
	__u64 loss_last;
	__u64 write_first;	/* last send before loss_first that followed a pause and found all
				 * earlier data acknowledged; 0: none. May be before the interval */
	__u64 send_bytes, recv_bytes, longest_pause_ns, rtt_sum_us;
	__u32 rtt_samples, rtt_min_us, rtt_max_us;
	__u32 peer_delayed_acks; /* see bpf/conn_acks.h */
	__u32 recoveries, stalls;
	__u32 send_calls, recv_calls, send_small, send_blocked;
	__u32 idle_bursts, idle_bursts_lost, idle_restarts;
	/*
	 * samples in which the peer's window was 0 (zero_windows), and in which 3/4 of the
	 * receive buffer was unread (unread)
	 */
	__u32 zero_windows, unread;
	__u32 samples;		/* number of samples (Poisson) */
	__u32 sampled[CONN_STATES]; /* samples by enum conn_sample_state */
	__u32 send_sizes[CONN_SIZES];
	__u32 recv_sizes[CONN_SIZES];

	/* -- evidence for the limiting cause: state at the interval's end -- */
	__u32 known;		/* enum conn_known */
	__u32 poll_mhz;		/* intended samples per 1,000 s */
	__u32 congestion_control; /* DICT_STRING */
	__u32 cgroup;		/* DICT_CGROUP */
	__u32 unit;		/* DICT_UNIT */
	__u32 comm;		/* DICT_STRING: name of process `pid` */
	__u32 thinned_one_in;	/* calls and RTTs of 1 in so many connections are traced; 0: all */
	__u32 min_rtt_us;
	__u32 rto_us;
	__u32 mss;
	__u32 snd_wnd;		/* the peer's window, bytes */
	__u32 rcv_wnd;		/* this end's window, bytes */
	__u32 sndbuf;
	__u32 rcvbuf;
	__u32 wmem_queued;	/* used part of the send buffer, with overhead */
	__u32 rmem;		/* used part of the receive buffer, with overhead */
	__u32 unsent;		/* bytes */
	__u32 unacked;		/* bytes */
	__u32 rcv_queue;	/* bytes received but not read */
	__u32 ssthresh;		/* segments */
	__u64 delivery_rate;	/* bytes/s, the kernel's last estimate; 0: none */
	__u64 pacing_rate;	/* bytes/s of pacing; all ones: none */
	__u32 write_seq;	/* sequence numbers, to match the records of both ends */
	__u32 snd_una;
	__u32 rcv_nxt;
	__u32 tcp_state;	/* number in include/net/tcp_states.h */

	/*
	 * Time that samples stand for: each sample for the inverse of its sampling rate. Sums are
	 * unbiased over intervals of different rates, if intervals without samples are included.
	 * All 0: only the numbers of samples are known.
	 */
	__u64 sampled_ns[CONN_STATES];
	__u64 zero_window_ns;	/* time of samples in which the peer's window was 0 */
	__u64 unread_ns;	/* time of samples with 3/4 of the receive buffer unread */
	__u64 unsampled_ns;	/* part of the interval that could not be sampled */
	__u64 squares;		/* sum of the squares of samples' times, in (100 us)^2 */

	/* -- samples that fit several states, and so are in no sampled[] -- */
	__u64 unclear_ns;	/* time of the samples that fit several states; 0: none */

	/* round trips in each bucket of length; valid with CONN_KNOWS_RTTS */
	__u32 rtts[CONN_RTTS];

	/*
	 * Time of the first request that was acknowledged more than CONN_LATE_US later than usual,
	 * and by data: the reply was lost, or the path or the peer stalled. 0: none, or unknown, as
	 * without CONN_KNOWS_CALLS.
	 */
	__u64 lost_reply;
#define CONN_ADDED_FIELD(field, ...) __u64 field;
	CONN_COUNTERS_ADDED(CONN_ADDED_FIELD, CONN_ADDED_FIELD)
#undef CONN_ADDED_FIELD
	/*
	 * Keeps the size at 16 n + 8 bytes: conns/state.c compresses all members but the first (8
	 * bytes) in groups of 16 bytes (base/zpack.h).
	 */
	__u64 pad[(CONN_ADDED | 1) - CONN_ADDED];
};

EVENT_ASSERT(event_conn, 976 + 8 * (CONN_ADDED | 1), lost_reply, 968);
_Static_assert(CONN_STATES == CONN_AT_MAX, "struct event_conn");

#endif
