/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * What the kernel keeps of each TCP connection for `conns`, and how it is told. Times: ns of
 * CLOCK_MONOTONIC. What each thing means: event/layout_conn.h.
 */
#ifndef HOSTLAT_BPF_ABI_CONNS_H
#define HOSTLAT_BPF_ABI_CONNS_H

#include <linux/types.h>

#include "bpf/conn_acks.h"
#include "event/layout.h"
#include "stats/buckets.h"

/*
 * Of each connection: how it was when it was first seen, and what it has to be told of. Of one that
 * has done nothing since there is no more than this: with the kernel's own 72 bytes, 192.
 */
struct conn_idle {
	__u32 una;              /* snd_una as last seen */
	__u32 reported_seq;         /* the sum of what was written and received, when told last */
	__u32 pid;              /* 0: nobody yet */
	__u32 delivered;        /* tcp_sock's, at the last RTT sample */
	__u16 changes, reported; /* `reported`: `changes` at the last report */
	__u16 flags;            /* KEPT_* */
	__u16 cwnd;             /* at the last RTT sample; segments, cut at 65535 */
	__u8 ca;                /* enum tcp_ca_state */
	__u8 level;             /* enum conn_level */
	__u16 total_rto;        /* when it was born, as all from `bytes_sent` on */
	__u32 netns;            /* inode */
	__u64 born;             /* when it was first seen */
	__u64 cookie;           /* of the socket */
	char comm[EVENT_COMM_LEN];
	__u64 bytes_sent, bytes_acked, bytes_received, bytes_retrans;
	__u32 chrono[3];        /* the kernel's chronographs, in its ticks */
	__u32 dsack_dups;
};

_Static_assert(sizeof(struct conn_idle) <= 120, "192 bytes with the kernel's part");

/*
 * Beside each socket that does something. It only grows, but for what is marked: that begins again
 * when it is told. It fits, with the kernel's own 72 bytes, into half a KiB. What is used together
 * lies together, as it is seldom in a cache: a line ends at 56 bytes, and every 64 from there on.
 */
struct conn_stats {
	__u64 una_time;         /* when snd_una was last seen to advance */
	__u64 stall_since;      /* 0: there is none */
	__u32 problem;          /* when there was one last, in CONN_SHORT_SHIFT; 0: never */
	__u32 lost_reply;       /* in CONN_TIME_SHIFT, see ops_check_late_reply(); begins again */
	struct conn_idle idle;
	/* -- calls -- */
	__u64 last_send;
	__u64 send_bytes;
	__u32 send_calls, send_small, send_blocked, recv_calls;
	__u32 send_una;         /* snd_una at the last small call */
	__u32 longest_pause_us; /* begins again */
	__u32 send_sizes[CONN_SIZES], recv_sizes[CONN_SIZES];
	/* -- round trips -- */
	__u64 recv_bytes;       /* of calls */
	__u64 rtt_sum_us;
	__u32 rtt_samples;
	__u32 rtt_min_us, rtt_max_us; /* begin again; of none: all ones, 0 */
	/* These run over, as all of 16 bits: less than 32,768 are told at a time. */
	__u16 peer_delacks, delacks_harmful;
	/* -- samples -- */
	__u16 zero_windows, unread, sampled[CONN_STATES];
	__u32 zero_window_us, unread_us, sampled_us[CONN_STATES]; /* that they stand for */
	/* -- counters added later: there is room for 4 bytes -- */
#define CONN_ADDED_U16(field, ...) __u16 field;
#define CONN_ADDED_U32(field, ...) __u32 field;
	CONN_COUNTERS_ADDED(CONN_ADDED_U32, CONN_COUNTERS_NO_ROW)
	CONN_COUNTERS_ADDED(CONN_COUNTERS_NO_ROW, CONN_ADDED_U16)
	/* -- losses -- */
	__u64 recovery_ns, loss_ns, stall_ns;
	__u64 repair_since;     /* of recovery_ns; 0: nothing is being repaired */
	__u64 loss_first, write_first; /* begin again */
	__u32 loss_last_us;     /* since loss_first; begins again */
	__u16 data_segs;        /* that had come at the last send call or round trip; run over */
	__u16 walk;             /* the last that met it: 16 bits of its number; 0: none */
	__u64 ca_since;         /* when `ca` began */
	__u32 longest_stall_us; /* begins again */
	__u32 stall_una;        /* what the stall waits for: more than this */
	__u32 burst_from, burst_to; /* sequence numbers sent at once after a pause */
	__u32 fast_retransmit;
	__u16 tlp, rto, recoveries, stalls;
	__u16 idle_bursts, idle_bursts_lost, idle_restarts;
	struct conn_acks acks;  /* whether the peer delays its own */
};

_Static_assert(sizeof(struct conn_stats) <= 440, "half a KiB with the kernel's part");

/* Units of times that are kept short, in bits of ns: about a microsecond, about a millisecond. */
#define CONN_TIME_SHIFT 10
#define CONN_SHORT_SHIFT 20

enum {
	STATS_BEGAN = 1,         /* hostlat saw it being made */
	STATS_ACCEPTED = 2,
	STATS_RTT = 4,           /* its RTT samples are told */
	STATS_SET_RTT = 8,       /* hostlat set the flag for that, and clears it at its end */
	STATS_SMALL = 16,        /* the last call was a small one */
	STATS_RTTS_LOST = 32,    /* there was no memory for a struct conn_rtts */
	STATS_CLOSED = 64,       /* ... and its end has been told */
	STATS_LOGGED = 128,      /* its calls are logged */
	STATS_SET_RTO = 512,     /* the same of the flag for timeouts */
	STATS_READY = 256,       /* of struct conn_stats: it is complete; set last */
};

/*
 * Beside each socket that had a round trip measured: how often one fell into which bucket. It only
 * grows: whoever reads does so without the socket's lock, and takes differences. With the kernel's
 * own 72 bytes it fits into 256.
 */
#define CONN_RTT_WRAPS 16 /* a power of two */

struct conn_rtts {
	__u16 wraps;                   /* so often one of `count` ran over; */
	__u8 wrapped[CONN_RTT_WRAPS];  /* ... which ones; wrap i lies at i % CONN_RTT_WRAPS */
	__u16 count[CONN_RTTS];
} __attribute__((aligned(8))); /* a copy goes by words */

_Static_assert(sizeof(struct conn_rtts) <= 184, "256 bytes with the kernel's part");

/* What it falls into; of 0 us there are none. */
BUCKET_INLINE __u32 conn_rtt_bucket(__u32 us)
{
	__u64 ns = us * 1000ULL;
	__u32 i;

	if (ns <= CONN_RTT_LEAST_NS)
		return 0;
	i = bucket_index_steps(ns, CONN_RTT_SCHEMA, bucket_steps_quarters) - CONN_RTT_BASE;
	return i < CONN_RTTS - 1 ? i : CONN_RTTS - 1;
}

#define CONN_THIN_MAX 16 /* of `thin` in struct conn_now */

enum conn_level { LEVEL_REST, LEVEL_WARM, LEVEL_HOT, LEVELS };

/* As it stands. */
struct conn_now {
	__u8 local[16], remote[16];  /* IPv4 lies in the first four bytes */
	__u16 family, local_port, remote_port; /* host order */
	__u16 flags;            /* enum conn_flags that are visible */
	__u64 bytes_sent, bytes_acked, bytes_received, bytes_retrans;
	__u64 pacing_rate, delivery_rate;
	__u32 chrono[3];        /* up to now */
	__u32 srtt_us, min_rtt_us, rto; /* rto in ticks */
	__u32 cwnd, ssthresh, mss;
	__u32 snd_wnd, rcv_wnd, sndbuf, rcvbuf, wmem_queued, rmem;
	__u32 unsent, unacked, rcv_queue;
	__u32 write_seq, snd_una, rcv_nxt;
	__u32 dsack_dups;
	__u32 delacks, probes;  /* by timers, ever; probes that were new data */
	__u32 known;            /* enum conn_known, of this struct */
	__u16 total_rto;
	__u8 state;
	__u8 thin;              /* left out if one of more than 2^thin is followed */
	__u8 pad[4];
	char cc[EVENT_COMM_LEN];
};

struct conn_snapshot {
	__u64 time;
	__u32 closed;
	__u32 has_rtts;         /* 0: there are none since the last time; `rtts` is undefined */
	struct conn_stats stats;
	struct conn_now now;
	struct conn_rtts rtts;
};

#define CONN_RING (8U << 20) /* bytes: 9,000 records */

/* What timers did, by socket: their programs can't get at what is beside it. */
struct conn_timers {
	__u32 delacks;          /* delayed ACKs sent */
	__u32 probes;           /* tail-loss probes that were new data */
};

#define CONN_TIMERS 65536

/* Which programs ran how often, for what they cost. */
enum conn_use { USE_SEND, USE_RECV, USE_RTT, USE_TIMER, USE_STATE, USE_RARE, USE_MAX };

/* Why something is missing. */
enum conn_lost { LOST_NO_MEMORY, LOST_RING, LOST_TIMERS, CONN_LOST_MAX };

#define CONN_CPUS 1024 /* more share the places of the first */

struct conn_counts {
	__u64 used[USE_MAX];
	/* Connections that began; of them those that are not followed. They run over. */
	__u32 begun, left_out;
	__u32 pad[2];
};

_Static_assert(sizeof(struct conn_counts) == 64, "a cache line");

/* Runs that were timed: the first CONN_TIMED_FIRST on each CPU, and one in CONN_TIMED_ONE_IN. */
#define CONN_TIMED_FIRST  16
#define CONN_TIMED_ONE_IN 16

struct conn_timed {
	__u64 ns[USE_MAX];      /* without the clock's own time */
	__u32 runs[USE_MAX];    /* run over */
	__u32 most_ns[USE_MAX]; /* of one run, since user space made it 0 */
	__u64 clock_ns;         /* what it took to read the clock, once for each run */
	__u64 pad[3];
};

_Static_assert(sizeof(struct conn_timed) == 128, "two cache lines");

/* What the next pass of an iterator does, and what it met: .bss, written by user space. */
struct conn_pass {
	__u64 members;          /* connections of the level that it visited */
	__u64 reported;
	__u64 quota;            /* it pauses after so many */
	__u32 sample_us;        /* classify each, and count it as this time; 0: don't */
	__u32 report;           /* report those that have changed */
	__u32 level;            /* only those of this level; LEVELS: of all */
	__u32 follow;           /* enum pass_follow, of a pass over iter/tcp */
	__u32 table;            /* enum pass_table, for conn_walk */
	__u32 paused;           /* conn_walk has left some for its next run */
	__u32 number;           /* of conn_walk's run over this table */
	__u32 keys;             /* that it has still to visit; PASS_ALL: begins with all */
	__u32 sweep;            /* it visits nobody: keys of records that are gone leave */
	__u32 pad;
};

/*
 * The keys of a table's records, in a ring. NAME_make() adds a key; only a walk takes keys out:
 * from the head, and back to the tail if there is still a record. A place of 0 is being written.
 */
struct key_ring {
	__u32 head, tail; /* run over */
};

enum pass_follow {
	PASS_FOLLOW = 1,        /* follow new ones */
	PASS_LEAVE,             /* take back the flags that hostlat has set */
	PASS_LEAVE_OLD,         /* the same, of connections from before only */
};

#define PASS_ALL ((__u32)-1)

enum pass_table { PASS_CONNS, PASS_IDLE, PASS_WARM, PASS_HOT, PASS_TABLES };

#endif
