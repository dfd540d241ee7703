/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Data shared by BPF programs and user space for `conns`: the counters of each TCP connection, and
 * the records that report them. Times are ns of CLOCK_MONOTONIC. event/layout_conn.h says what each
 * counter means.
 */
#ifndef HOSTLAT_BPF_ABI_CONNS_H
#define HOSTLAT_BPF_ABI_CONNS_H

#include <linux/types.h>

#include "bpf/conn_acks.h"
#include "event/layout.h"
#include "stats/buckets.h"

/*
 * A connection's state when hostlat first saw the connection, and members that a report needs. Idle
 * connections have only this record: 192 bytes, including the kernel's own 72.
 */
struct conn_idle {
	__u32 una;              /* snd_una when a program last read it */
	__u32 reported_seq;     /* conn_seq_sum() at the last report: changes as data moves */
	__u32 pid;              /* process id of the owner; 0: not known yet */
	__u32 delivered;        /* tcp_sock's `delivered` at the last RTT sample */
	/* `changes`: changes of this record so far; `reported`: up to the last report; both wrap */
	__u16 changes, reported;
	__u16 flags;            /* STATS_* */
	__u16 cwnd; /* congestion window at the last RTT sample, segments; at most 65535 */
	__u8 ca;                /* enum tcp_ca_state */
	__u8 level;             /* enum conn_level */
	/* TCP's total_rto at time `born`; `bytes_sent` and later members are of that time, too */
	__u16 total_rto;
	__u32 netns;            /* inode of the network namespace */
	__u64 born;             /* when hostlat first saw the connection */
	__u64 cookie;
	char comm[EVENT_COMM_LEN];
	__u64 bytes_sent, bytes_acked, bytes_received, bytes_retrans;
	__u32 chrono[3];        /* chronographs (tcp_sock.chrono_stat) at `born`, in jiffies */
	__u32 dsack_dups;
};

_Static_assert(sizeof(struct conn_idle) <= 120, "192 bytes with the kernel's part");

/*
 * Counters of an active connection. Counters only grow; fields marked "reset" restart at each
 * report. With the kernel's own 72 bytes a record fits into 512 bytes. Fields used together lie
 * together, as records are seldom in a cache: cache lines end at byte 56 and every 64 bytes after.
 */
struct conn_stats {
	__u64 una_time;         /* when snd_una last advanced */
	__u64 stall_since;      /* start of the current stall; 0: none */
	/* time of the last problem, such as a loss, in 2^CONN_SHORT_SHIFT ns; 0: never */
	__u32 problem;
	/* send time of a late reply's request, in 2^CONN_TIME_SHIFT ns; reset at each report */
	__u32 lost_reply;
	struct conn_idle idle;
	/* -- calls -- */
	__u64 last_send;
	__u64 send_bytes;
	__u32 send_calls, send_small, send_blocked, recv_calls;
	__u32 send_una;         /* snd_una at the last small send call */
	__u32 longest_pause_us; /* maximum pause between send calls; reset at each report */
	__u32 send_sizes[CONN_SIZES], recv_sizes[CONN_SIZES];
	/* -- receive calls, round trips -- */
	__u64 recv_bytes;       /* bytes that receive calls returned */
	__u64 rtt_sum_us;
	__u32 rtt_samples;
	__u32 rtt_min_us, rtt_max_us; /* reset at each report; without samples: ~0, 0 */
	/* 16-bit counters wrap; a report comes before a counter has grown by 32,768 */
	__u16 peer_delacks, delacks_harmful;
	/* -- samples -- */
	__u16 zero_windows, unread, sampled[CONN_STATES];
	/* us that the samples in each state represent */
	__u32 zero_window_us, unread_us, sampled_us[CONN_STATES];
	/* -- counters of CONN_COUNTERS_ADDED: 2 bytes are free for more -- */
#define CONN_ADDED_U16(field, ...) __u16 field;
#define CONN_ADDED_U32(field, ...) __u32 field;
	CONN_COUNTERS_ADDED(CONN_ADDED_U32, CONN_COUNTERS_NO_ROW)
	CONN_COUNTERS_ADDED(CONN_COUNTERS_NO_ROW, CONN_ADDED_U16)
	/* -- losses -- */
	__u64 recovery_ns, loss_ns, stall_ns;
	__u64 repair_since;     /* start of the current repair of a loss (recovery_ns); 0: none */
	__u64 write_first;      /* begin of the burst of sends before the loss; 0: none */
	/* first and last loss, in 2^CONN_TIME_SHIFT ns; 0: none; reset at each report */
	__u32 loss_first, loss_last;
	/* data segments received until the last send call or round trip; wraps */
	__u16 data_segs;
	/* low 16 bits of the number of the last table walk that visited this record; 0: none */
	__u16 walk;
	/* when the congestion state became `ca`, or was last added to loss_ns; same unit */
	__u32 ca_since;
	__u32 longest_stall_us; /* longest stall; reset at each report */
	__u32 stall_una;        /* the stall ends when snd_una exceeds this number */
	__u32 burst_from, burst_to; /* sequence numbers of the last burst: from, to */
	__u32 fast_retransmit;
	__u16 tlp, rto, recoveries, stalls;
	__u16 idle_bursts, idle_bursts_lost, idle_restarts;
	struct conn_acks acks;  /* whether the peer delays its acknowledgements */
};

_Static_assert(sizeof(struct conn_stats) <= 440, "half a KiB with the kernel's part");

/* Units of times stored in 32 bits, as a shift of ns: about a microsecond, about a millisecond. */
#define CONN_TIME_SHIFT 10
#define CONN_SHORT_SHIFT 20

enum {
	STATS_BEGAN = 1,         /* hostlat saw the connection being established */
	STATS_ACCEPTED = 2,
	STATS_RTT = 4,           /* the kernel reports its RTT samples to hostlat */
	/* hostlat set BPF_SOCK_OPS_RTT_CB_FLAG in the socket, and clears the flag at its own end */
	STATS_SET_RTT = 8,
	STATS_SMALL = 16,        /* the last send call was small */
	STATS_RTTS_LOST = 32,    /* there was no memory for the socket's struct conn_rtts */
	STATS_CLOSED = 64,       /* the connection has closed and its end has been reported */
	STATS_LOGGED = 128,      /* the connection's calls are logged */
	/* hostlat set BPF_SOCK_OPS_RTO_CB_FLAG in the socket, and clears the flag at its own end */
	STATS_SET_RTO = 512,
	STATS_READY = 256,       /* struct conn_stats is complete; set last */
	STATS_SENT_LAST = 1024,  /* the last call that moved data was a send call */
};

/*
 * Histogram of a socket's round trips. Counters only grow: user space reads without the socket's
 * lock, and takes differences. With the kernel's own 72 bytes a histogram fits into 256.
 */
#define CONN_RTT_WRAPS 16 /* size of wrapped[]; a power of two */

struct conn_rtts {
	__u16 wraps;                   /* how often an element of `count` has wrapped */
	/* index of the element that wrapped; wrap i lies at i % CONN_RTT_WRAPS */
	__u8 wrapped[CONN_RTT_WRAPS];
	__u16 count[CONN_RTTS];
} __attribute__((aligned(8))); /* read and written in 64-bit words */

_Static_assert(sizeof(struct conn_rtts) <= 184, "256 bytes with the kernel's part");

/* Returns the histogram bucket of a round trip of `us` microseconds, at least 1. */
BUCKET_INLINE __u32 conn_rtt_bucket(__u32 us)
{
	__u64 ns = us * 1000ULL;
	__u32 i;

	if (ns <= CONN_RTT_LEAST_NS)
		return 0;
	i = bucket_index_steps(ns, CONN_RTT_SCHEMA, bucket_steps_quarters) - CONN_RTT_BASE;
	return i < CONN_RTTS - 1 ? i : CONN_RTTS - 1;
}

/* maximum of `thin` in struct conn_now: sampled at all rates down to 1 in 2^16 */
#define CONN_THIN_MAX 16

enum conn_level { LEVEL_REST, LEVEL_WARM, LEVEL_HOT, LEVELS };

enum { CONN_LAST_SENT = 1, CONN_LAST_RECEIVED = 2 };

/*
 * Returns the direction of a connection's last data, both CONN_LAST_* if it is unclear, 0 if data
 * has moved in one direction only. `later`: how much later the last data was sent than received.
 */
BUCKET_INLINE __u8 conn_last_data(__u64 sent, __u64 received, __s32 later)
{
	if (!sent || !received)
		return 0;
	return later > 0 ? CONN_LAST_SENT :
	       later < 0 ? CONN_LAST_RECEIVED : CONN_LAST_SENT | CONN_LAST_RECEIVED;
}

/* The socket's current state, as copied into a report. */
struct conn_now {
	__u8 local[16], remote[16];  /* IPv4: the first four bytes */
	__u16 family, local_port, remote_port; /* AF_*; ports in host byte order */
	__u16 flags;            /* flags that the socket itself shows: enum conn_flags */
	__u64 bytes_sent, bytes_acked, bytes_received, bytes_retrans;
	__u64 pacing_rate, delivery_rate;
	__u32 chrono[3];        /* jiffies, including the time of the running chronograph */
	__u32 srtt_us, min_rtt_us, rto; /* rto in jiffies */
	__u32 cwnd, ssthresh, mss;
	__u32 snd_wnd, rcv_wnd, sndbuf, rcvbuf, wmem_queued, rmem;
	__u32 unsent, unacked, rcv_queue;
	__u32 write_seq, snd_una, rcv_nxt;
	__u32 dsack_dups;
	/* delayed ACKs sent by timers so far; tail-loss probes that carried new data */
	__u32 delacks, probes;
	__u32 known;            /* which fields of this struct have values: enum conn_known */
	__u16 total_rto;
	__u8 state;
	/* the connection is sampled while the sampling rate is 1 in 2^thin or higher */
	__u8 thin;
	__u8 last_data;         /* CONN_LAST_*: direction of the last data; 0: unknown */
	__u8 sndbuf_grows;      /* 1: automatic sizing may still enlarge the send buffer */
	__u8 pacing_capped;     /* 1: SO_MAX_PACING_RATE caps the pacing rate */
	__u8 pad[1];
	char cc[EVENT_COMM_LEN];
};

struct conn_snapshot {
	__u64 time;
	__u32 closed;
	/* 0: no round trip since the last report; then `rtts` is undefined */
	__u32 has_rtts;
	struct conn_stats stats;
	struct conn_now now;
	struct conn_rtts rtts;
};

#define CONN_RING (8U << 20) /* bytes; holds 9,000 records */

/* Counters of timer programs, by socket address: these programs cannot reach socket storage. */
struct conn_timers {
	__u32 delacks;          /* delayed ACKs sent */
	__u32 probes;           /* tail-loss probes that carried new data */
};

#define CONN_TIMERS 65536

/* Kinds of programs; how often and how long each kind runs is counted. */
enum conn_use { USE_SEND, USE_RECV, USE_RTT, USE_TIMER, USE_STATE, USE_RARE, USE_MAX };

/*
 * Kinds of losses: no memory for a record, a connection's end not reported, no entry in map
 * `timers` (full, or no memory).
 */
enum conn_lost { LOST_NO_MEMORY, LOST_RING, LOST_TIMERS, CONN_LOST_MAX };

#define CONN_CPUS 1024 /* CPUs with larger numbers share the entries of the first CPUs */

struct conn_counts {
	__u64 used[USE_MAX];
	/* new connections so far; new connections that are not followed; both wrap */
	__u32 begun, left_out;
	__u32 pad[2];
};

_Static_assert(sizeof(struct conn_counts) == 64, "a cache line");

/* Timed runs: the first CONN_TIMED_FIRST on each CPU, then one in CONN_TIMED_ONE_IN. */
#define CONN_TIMED_FIRST  16
#define CONN_TIMED_ONE_IN 16

struct conn_timed {
	__u64 ns[USE_MAX];      /* ns of timed runs, without clock readings */
	__u32 runs[USE_MAX];    /* number of timed runs; wraps */
	__u32 max_ns[USE_MAX]; /* longest run in ns; user space resets it to 0 */
	__u64 clock_ns;         /* ns of clock readings, one per timed run */
	__u64 pad[3];
};

_Static_assert(sizeof(struct conn_timed) == 128, "two cache lines");

/*
 * Settings and results of a pass, i.e. of one visit of each connection of an activity level (enum
 * conn_level); in .bss, where user space writes the settings.
 */
struct conn_pass {
	__u64 members;          /* connections of the activity level that the pass has visited */
	__u64 reported;
	__u64 quota;            /* number of visited connections at which the program stops */
	__u32 sample_us;        /* us that each sample represents; 0: no samples */
	__u32 report;           /* 1: report connections that have changed */
	__u32 level;            /* activity level to visit: enum conn_level; LEVELS: all */
	__u32 follow;           /* action on sockets of a pass over iter/tcp: enum pass_follow */
	__u32 table;            /* enum pass_table: hash table that the program conn_walk visits */
	__u32 paused;           /* 1: the program conn_walk stopped before the table's end */
	__u32 number;           /* number of the present run of conn_walk over the table */
	__u32 keys;             /* table keys still to visit; PASS_ALL: all of struct key_ring */
	__u32 sweep;            /* 1: visit no connection; only drop keys of removed records */
	__u32 pad;
};

/*
 * Ring of the keys of a table's records. Making a record adds its key. Only a walk over the table
 * removes keys, from the head, and appends a key at the tail if its record still exists. A key of 0
 * is being written.
 */
struct key_ring {
	__u32 head, tail; /* positions of the oldest and the next key; wrap */
};

enum pass_follow {
	PASS_FOLLOW = 1,        /* follow each connection that the pass finds */
	PASS_LEAVE,             /* clear the flags that hostlat has set in sockets */
	PASS_LEAVE_OLD,         /* clear hostlat's flags only in connections older than hostlat */
};

#define PASS_ALL ((__u32)~0)

enum pass_table { PASS_CONNS, PASS_IDLE, PASS_WARM, PASS_HOT, PASS_TABLES };

#endif
