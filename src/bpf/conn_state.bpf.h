/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Each connection's record, and the times that accumulate in it, for bpf/conns.bpf.c. */
#ifndef HOSTLAT_BPF_CONN_STATE_H
#define HOSTLAT_BPF_CONN_STATE_H

#include "bpf/abi_conns.h"
#include "bpf/conn_records.bpf.h"
#include "bpf/kernel/types.h"

#define AF_INET 2
#define AF_INET6 10

/* include/net/tcp_states.h */
enum { TCP_ESTABLISHED = 1, TCP_SYN_SENT = 2, TCP_SYN_RECV = 3, TCP_TIME_WAIT = 6, TCP_CLOSE = 7,
       TCP_CLOSE_WAIT = 8, TCP_LISTEN = 10, TCP_NEW_SYN_RECV = 12 };

/* enum tcp_ca_state of include/uapi/linux/tcp.h */
enum { CA_OPEN, CA_DISORDER, CA_CWR, CA_RECOVERY, CA_LOSS };

/* this kernel refuses the map `timers`, so the program conn_timer is not loaded */
const volatile bool lacks_timers = false;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CONN_TIMERS);
	__type(key, __u64); /* the socket's address */
	__type(value, struct conn_timers);
} timers SEC(".maps");

/* 1: the map `timers` has had entries; until then look-ups are skipped */
volatile __u32 timers_used = 0;

static __always_inline void conn_timers_forget(struct sock *sk)
{
	__u64 key = (__u64)sk;

	if (!lacks_timers && timers_used)
		bpf_map_delete_elem(&timers, &key);
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CONN_RING);
} ring SEC(".maps");

/*
 * Records removed so far from `conns` or `idle_conns`. An iterator that resumes skips as many
 * records as it has visited, so removals make the iterator skip further records
 * (net/core/bpf_sk_storage.c, skip_elems).
 */
__u64 removed = 0;

/* One entry per CPU. `used` and `timed` are estimates: an interrupt may lose additions. */
struct conn_counts counts[CONN_CPUS] = {};
struct conn_timed timed[CONN_CPUS] = {};
__u32 losses[CONN_LOST_MAX] = {};

/* Calls and round trips are counted on one connection in `thin_one_in`. */
volatile __u32 thin_one_in = 1;
/* One new connection in `follow_one_in` is followed at all; a power of two. */
volatile __u32 follow_one_in = 1;
/* 1: the program conn_ops is attached, so that the kernel reports round trips */
volatile __u32 ops_attached = 0;
/*
 * Results of setting flags in open sockets. Before 6.12 only a connection's own events could set
 * these flags: then flags_accepted stays 0.
 */
volatile __u32 flags_refused = 0, flags_accepted = 0;
/* 1: new connections are followed */
volatile __u32 following = 0;
#define COOL_NS 5000000000ULL /* time for which a connection stays LEVEL_HOT after a problem */
#define REST_NS 1000000000ULL /* time for which a connection stays LEVEL_WARM after data */

/* A timed program run: its begin, and the ns of one clock reading. Zero: the run is not timed. */
struct timed_run {
	__u64 began, clock_ns;
};

/* Counts a program run, and begins the timing of some runs; called first in each program. */
static __always_inline struct timed_run run_begin(enum conn_use what)
{
	__u64 n = counts[bpf_get_smp_processor_id() & (CONN_CPUS - 1)].used[what]++;
	struct timed_run run = {};

	/* spread timed runs evenly, independent of traffic and of conn_is_mark_due() */
	if (n >= CONN_TIMED_FIRST && (__u32)n * 0x85ebca6bU >= 0xffffffffU / CONN_TIMED_ONE_IN)
		return run;
	run.began = bpf_ktime_get_ns();
	run.clock_ns = bpf_ktime_get_ns() - run.began;
	return run;
}

/* Ends a timed run; called last in each program. */
static __always_inline void run_end(enum conn_use what, struct timed_run run)
{
	struct conn_timed *t;
	__u64 ns;

	if (!run.began)
		return;
	ns = bpf_ktime_get_ns() - run.began;
	ns = ns > 2 * run.clock_ns ? ns - 2 * run.clock_ns : 0;
	t = &timed[bpf_get_smp_processor_id() & (CONN_CPUS - 1)];
	t->clock_ns += run.clock_ns;
	t->ns[what] += ns;
	t->runs[what]++;
	if (ns > t->max_ns[what])
		t->max_ns[what] = ns;
}

static __always_inline void conn_count_lost(enum conn_lost why)
{
	__sync_fetch_and_add(&losses[why], 1);
}

/* ---- fields that not all kernels have ---- */

static __always_inline __u16 tcp_total_rto(struct tcp_sock *tp)
{
	return bpf_core_field_exists(tp->total_rto) ? tp->total_rto : 0;
}

static __always_inline __u8 tcp_ca_state(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

/* Returns chronograph `which` in ticks, including the time of its current run. */
static __always_inline __u32 tcp_chrono_ticks(struct tcp_sock *tp, __u32 which, __u32 tick)
{
	__u32 type = BPF_CORE_READ_BITFIELD(tp, chrono_type), sum = tp->chrono_stat[which];

	if (type == which + 1)
		sum += tick - tp->chrono_start;
	return sum;
}

/* ---- levels ---- */

__s64 members[4] = {}; /* number of connections per enum conn_level; the size is a power of two */

static __always_inline void conn_set_level(struct conn_stats *k, __u8 level)
{
	__sync_fetch_and_add(&members[k->idle.level & 3], -1);
	__sync_fetch_and_add(&members[level & 3], 1);
	k->idle.level = level;
}

/* Counts a connection that is no longer followed. */
static __always_inline void conn_unfollow(struct conn_idle *q)
{
	__sync_fetch_and_add(&members[q->level & 3], -1);
	__sync_fetch_and_add(&removed, 1);
}

/*
 * Drops a socket's records in the tables `warm`, `hot` and `logged`; the kernel itself frees only
 * socket storage.
 */
static __always_inline void conn_drop_other_records(struct sock *sk)
{
	warm_drop(sk);
	hot_drop(sk);
	logged_drop(sk);
}

static __always_inline void conn_warm_up(struct sock *sk, struct conn_stats *k)
{
	if (k->idle.level != LEVEL_REST)
		return;
	if (warm_make(sk))
		conn_set_level(k, LEVEL_WARM);
}

/*
 * Notes a problem. The connection becomes LEVEL_HOT, which has more samples, only at its next
 * report: if samples changed the sampling rate within an interval, that interval's shares would be
 * biased.
 */
static __always_inline void conn_note_problem(struct sock *sk, struct conn_stats *k, __u64 now)
{
	k->problem = now >> CONN_SHORT_SHIFT;
	conn_warm_up(sk, k);
}

/* ---- stalls, repairs and their times ---- */

/* Returns a time in the unit of members that have 32 bits; wraps after 73 minutes. */
static __always_inline __u32 conn_short_time(__u64 now)
{
	return now >> CONN_TIME_SHIFT;
}

/* Adds the time up to now of the current loss state and the current repair. */
static __always_inline void conn_add_times(struct conn_stats *k, __u64 now)
{
	__s32 passed = conn_short_time(now) - k->ca_since;

	if (k->idle.ca == CA_LOSS && passed > 0)
		k->loss_ns += (__u64)passed << CONN_TIME_SHIFT;
	k->ca_since = conn_short_time(now);
	if (!k->repair_since)
		return;
	if (now > k->repair_since)
		k->recovery_ns += now - k->repair_since;
	k->repair_since = now;
}

/* Ends the repair of a loss if there is no stall and TCP is in neither recovery nor loss. */
static __always_inline void conn_check_repair(struct conn_stats *k, __u64 now)
{
	conn_add_times(k, now);
	if (!k->stall_since && k->idle.ca != CA_RECOVERY && k->idle.ca != CA_LOSS)
		k->repair_since = 0;
}

/*
 * Counts a delayed ACK of the lone segment that a retransmission timeout sent again, while other
 * data waited for that ACK. TCP's RACK has the round trip of the segment that was delivered last;
 * the ACK of an earlier transmission does not count there. The round trip must be longer than the
 * usual one by a timer's time, and by three times what round trips usually vary (mdev_us is four
 * times that, and may include this round trip).
 */
static __always_inline void conn_check_delayed_repair(struct tcp_sock *tp, struct conn_stats *k)
{
	__u32 usual = tp->srtt_us >> 3, rtt = tp->rack.rtt_us, more = rtt > usual ? rtt - usual : 0;

	if (k->idle.ca != CA_LOSS || more < ACKS_MIN_US || more > ACKS_MAX_US)
		return;
	if (tp->rack.mstamp * 1000 <= k->stall_since || tp->mdev_us >= 2 * more)
		return;
	if (tp->write_seq == tp->snd_una || tp->snd_una - k->stall_una > tp->mss_cache)
		return;
	k->rto_delacks++;
	k->rto_delack_us += more;
}

static __always_inline void conn_close_stall(struct tcp_sock *tp, struct conn_stats *k, __u64 now)
{
	__u64 ns = now > k->stall_since ? now - k->stall_since : 0;

	conn_check_delayed_repair(tp, k);
	k->stall_since = 0;
	k->stall_ns += ns;
	k->stalls++;
	if (ns / 1000 > k->longest_stall_us)
		k->longest_stall_us = ns / 1000;
	conn_check_repair(k, now);
}

/* Notes an advance of snd_una, which may end a stall. */
static __always_inline void conn_note_progress(struct tcp_sock *tp, struct conn_stats *k, __u64 now)
{
	__u32 una = tp->snd_una;

	if (una == k->idle.una)
		return;
	k->idle.una = una;
	k->una_time = now;
	if (k->stall_since && (__s32)(una - k->stall_una) > 0)
		conn_close_stall(tp, k, now);
}

/* Ends the stall of a connection that closes. */
static __always_inline void conn_end_stall(struct tcp_sock *tp, struct conn_stats *k, __u64 now)
{
	conn_note_progress(tp, k, now);
	if (k->stall_since)
		conn_close_stall(tp, k, now);
}

static __always_inline void conn_mark_changed(struct conn_stats *k)
{
	k->idle.changes++;
}

/*
 * Returns a hash of the addresses, which decides on sampling without a look-up, most of a run's
 * cost. A connection that is unsampled at one in N is also unsampled at one in 2 N.
 */
static __always_inline __u32 conn_thin_hash(struct sock *sk)
{
	const __u32 golden = 0x9e3779b1; /* factor of Knuth's multiplicative hash */

	return sk->__sk_common.skc_hash * golden >> 16;
}

/* Returns i: the connection is sampled while the sampling rate is 1 in 2^i or higher. */
static __always_inline __u8 conn_thinned_from(struct sock *sk)
{
	__u32 hash = conn_thin_hash(sk);
	__u8 i = 0;

	for (; i < CONN_THIN_MAX && !(hash & 1); i++)
		hash >>= 1;
	return i;
}

/* Returns true if the connection is unsampled; `thin_one_in` is a power of two. */
static __always_inline bool conn_is_thinned(struct sock *sk)
{
	return conn_thin_hash(sk) & (thin_one_in - 1);
}

/*
 * Returns true if a new connection is not followed at all. Both ends of a connection have the same
 * hash, so that both or neither are followed. The hash is independent of conn_thin_hash().
 */
static __always_inline bool conn_is_unfollowed(struct sock *sk)
{
	const struct sock_common *skc = &sk->__sk_common;
	const __u32 golden = 0x85ebca6b; /* a constant of MurmurHash3 */
	__u32 addresses = skc->skc_rcv_saddr ^ skc->skc_daddr;
	__u32 ports = skc->skc_num ^ bpf_ntohs(skc->skc_dport);

	return ((addresses + ports) * golden >> 16) & (follow_one_in - 1);
}

/*
 * Returns true for one run in 8, at random. Only these runs of unsampled connections mark the
 * connection as active.
 */
static __always_inline bool conn_is_mark_due(enum conn_use what)
{
	__u32 n = counts[bpf_get_smp_processor_id() & (CONN_CPUS - 1)].used[what];

	return n * 0x9e3779b1 >> 29 == 0;
}

/* Returns a sum that changes when a connection sends or receives data; used to find idle ones. */
static __always_inline __u32 conn_seq_sum(struct tcp_sock *tp)
{
	return tp->write_seq + tp->rcv_nxt;
}

/* Returns an active connection's record; NULL: idle, not followed, or the record is being made. */
static __always_inline struct conn_stats *conn_stats_ready(struct sock *sk)
{
	struct conn_stats *k = conns_find(sk);

	return k && k->idle.flags & STATS_READY ? k : NULL;
}

/* Completes a record that begins at `born`. Other programs then use the record. */
static __always_inline void conn_stats_begin(struct conn_stats *k, __u64 born, __u16 data_segs)
{
	k->data_segs = data_segs;
	k->rtt_min_us = ~0U;
	k->send_una = k->idle.una;
	k->una_time = born;
	k->ca_since = conn_short_time(born);
	/* also a memory barrier: the record is complete before STATS_READY */
	__sync_lock_test_and_set(&k->idle.born, born);
	k->idle.flags |= STATS_READY;
}

/* Maximum of polls for a record that another CPU fills: enough unless that CPU is interrupted. */
#define READY_TRIES_MAX 200

static __always_inline struct conn_stats *conn_stats_wait(struct conn_stats *k)
{
	volatile __u16 *flags = &k->idle.flags;

	for (int i = 0; i < READY_TRIES_MAX; i++)
		if (*flags & STATS_READY)
			return k;
	conn_count_lost(LOST_NO_MEMORY);
	return NULL;
}

#define BEING_MADE 1 /* value of `born` while a CPU fills the record */

/*
 * Makes the full record at an idle connection's first activity. Returns NULL if the connection is
 * not followed, or without memory. One of several CPUs makes the record, and only then removes the
 * idle record.
 */
static __noinline struct conn_stats *conn_wake(struct sock *sk, __u16 data_segs)
{
	struct conn_idle *q = idle_conns_find(sk), was;
	struct conn_stats *k;
	__u64 born;
	long gone;

	if (!q) { /* another CPU may have made the full record already */
		k = conns_find(sk);
		return k ? conn_stats_wait(k) : NULL;
	}
	k = conns_make(sk);
	if (!k) /* another CPU is making the record */
		k = conns_find(sk);
	if (!k) {
		conn_count_lost(LOST_NO_MEMORY);
		return NULL;
	}
	if (__sync_val_compare_and_swap(&k->idle.born, 0, BEING_MADE))
		return conn_stats_wait(k);
	was = *q;
	was.born = BEING_MADE;
	k->idle = was;
	born = q->born;
	conn_stats_begin(k, born, data_segs);
	gone = idle_conns_drop(sk);
	if (!gone)
		__sync_fetch_and_add(&removed, 1);
	/*
	 * The connection may have closed meanwhile, and conn_end() has reported that. In socket
	 * storage, RCU keeps the idle record `q` valid. Hash tables reuse memory at once, but there
	 * conn_end() removes the idle record first.
	 */
	if (in_tables ? gone : q->flags & STATS_CLOSED) {
		conns_drop(sk);
		return NULL;
	}
	return k;
}

/* Returns the record of an active connection, made if needed; NULL: not followed, or no memory. */
static __always_inline struct conn_stats *conn_stats_get(struct sock *sk)
{
	struct conn_stats *k = conn_stats_ready(sk);
	struct tcp_sock *tp;

	if (k)
		return k;
	tp = bpf_skc_to_tcp_sock(sk);
	return tp ? conn_wake(sk, tp->data_segs_in) : NULL;
}

/* Returns the record of an active or idle connection; NULL: the connection is not followed. */
static __always_inline struct conn_idle *conn_idle_get(struct sock *sk)
{
	struct conn_stats *k = conn_stats_ready(sk);

	return k ? &k->idle : idle_conns_find(sk);
}

static __always_inline void conn_mark_active(struct sock *sk, enum conn_use what)
{
	struct conn_stats *k = conn_is_mark_due(what) ? conn_stats_get(sk) : NULL;

	if (!k)
		return;
	conn_mark_changed(k);
	conn_warm_up(sk, k);
}

/* ---- begin of a connection ---- */

/*
 * Drops records of an earlier socket at this address whose end was missed because the kernel
 * skipped a program. Needed only for tables: the kernel frees storage with its socket.
 */
static __noinline int conn_drop_stale(struct sock *sk)
{
	/* 0: the socket has no cookie yet, hence no record */
	__u64 cookie = sk->__sk_common.skc_cookie.counter;
	struct conn_idle *q = conn_idle_get(sk);

	if (!q || q->cookie == cookie)
		return 0;
	conn_unfollow(q);
	conn_count_lost(LOST_RING);
	conns_drop(sk);
	idle_conns_drop(sk);
	rtts_drop(sk);
	conn_drop_other_records(sk);
	return 0;
}

/* Addresses of TCP's timer functions, learned from a socket: no symbol table is needed. */
void *delack_function, *write_function;

static __always_inline void conn_learn_timers(struct tcp_sock *tp)
{
	if (delack_function)
		return;
	write_function = tp->inet_conn.icsk_retransmit_timer.function;
	delack_function = tp->inet_conn.icsk_delack_timer.function;
}

static __always_inline void conn_begin(struct sock *sk, struct tcp_sock *tp, struct conn_idle *q,
				       __u64 now, __u16 flags)
{
	__u32 tick = bpf_jiffies64();

	conn_timers_forget(sk); /* drop the entry of an earlier socket at this address */
	__sync_fetch_and_add(&members[LEVEL_REST], 1);
	q->cookie = bpf_get_socket_cookie(sk);
	q->netns = sk->__sk_common.skc_net.net->ns.inum;
	q->bytes_sent = tp->bytes_sent;
	q->bytes_acked = tp->bytes_acked;
	q->bytes_received = tp->bytes_received;
	q->bytes_retrans = tp->bytes_retrans;
	for (int i = 0; i < 3; i++)
		q->chrono[i] = tcp_chrono_ticks(tp, i, tick);
	q->dsack_dups = tp->dsack_dups;
	q->total_rto = tcp_total_rto(tp);
	q->una = tp->snd_una;
	q->ca = tcp_ca_state(tp);
	q->delivered = tp->delivered;
	q->cwnd = tp->snd_cwnd > 65535 ? 65535 : tp->snd_cwnd;
	flags |=
		/* conn_ops may have set these flags before */
		q->flags & (STATS_SET_RTT | STATS_SET_RTO);
	if (tp->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_RTT_CB_FLAG)
		flags |= STATS_RTT;
	q->flags = flags;
	q->reported_seq = conn_seq_sum(tp);
	conn_learn_timers(tp);
	q->born = now;
}

#endif
