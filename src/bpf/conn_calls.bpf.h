/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Log of single send and receive calls for `conns`; without --calls, the verifier removes it. */
#ifndef HOSTLAT_BPF_CONN_CALLS_H
#define HOSTLAT_BPF_CONN_CALLS_H

#include "bpf/abi_calls.h"
#include "bpf/abi_conns.h"
#include "bpf/conn_poll.bpf.h"
#include "bpf/conn_records.bpf.h"
#include "bpf/conn_state.bpf.h"
#include "bpf/kernel/types.h"
#include "event/layout.h"

const volatile __u32 calls_of = CALLS_OF_NONE;
/* Calls that may still be logged until user space reads the ring and begins a new period. */
volatile __s64 calls_granted = 0;
volatile __u32 calls_period = 1;
/* The last period in which calls were not logged because calls_granted was used up. */
volatile __u32 calls_dry = 0;
/* Number of cookies in map `chosen`, including cookies of connections whose end was missed. */
volatile __s32 calls_waiting = 0;

struct calls_left_out calls_left_out[CONN_CPUS] = {};

/*
 * Filter in front of the look-up of a connection's log. An entry is the hash of the only connection
 * with a log at this index, MARK_SEVERAL, or 0 for none. Entries are never cleared.
 */
__u32 calls_marks[CALLS_MARKS] = {};

#define MARK_SEVERAL 1

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CALLS_RING);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CALLS_CHOSEN);
	__type(key, __u64); /* cookie */
	__type(value, __u8);
} chosen SEC(".maps");

/*
 * Returns a socket's value in calls_marks[]: the socket's 32-bit hash. Once calls_granted is used
 * up, calls of an unlogged socket with the same hash are counted, too, as calls not logged.
 */
static __always_inline __u32 calls_mark_value(struct sock *sk)
{
	return sk->__sk_common.skc_hash | 2;
}

static __always_inline __u32 *calls_mark_place(struct sock *sk)
{
	return &calls_marks[conn_thin_hash(sk) & (CALLS_MARKS - 1)];
}

static __always_inline void calls_mark(struct sock *sk)
{
	__u32 *place = calls_mark_place(sk), own = calls_mark_value(sk);
	__u32 old = __sync_val_compare_and_swap(place, 0, own);

	if (old && old != own)
		*place = MARK_SEVERAL;
}

static __always_inline bool calls_is_chosen(__u64 cookie)
{
	return calls_waiting > 0 && bpf_map_lookup_elem(&chosen, &cookie);
}

static __always_inline void calls_end_choice(struct conn_idle *q)
{
	__u64 cookie = q->cookie;

	if (calls_of == CALLS_OF_CHOSEN && calls_is_chosen(cookie) &&
	    !bpf_map_delete_elem(&chosen, &cookie))
		__sync_fetch_and_add(&calls_waiting, -1);
}

/* Begins the call log of a new or visited connection, if it is selected and has no log yet. */
static __always_inline void calls_begin_log(struct sock *id, struct sock *sk, struct conn_idle *q)
{
	struct call_log *log;

	if (calls_of == CALLS_OF_NONE || q->flags & STATS_LOGGED ||
	    (calls_of == CALLS_OF_CHOSEN && !calls_is_chosen(q->cookie)))
		return;
	log = logged_make(id);
	if (!log)
		return;
	log->period = calls_period;
	calls_mark(sk);
	q->flags |= STATS_LOGGED;
	calls_end_choice(q);
}

static __always_inline void calls_count_left_out(void)
{
	__u32 cpu = bpf_get_smp_processor_id() & (CONN_CPUS - 1);

	__sync_fetch_and_add(&calls_left_out[cpu].n, 1);
}

static __always_inline void calls_run_dry(void)
{
	if (calls_dry != calls_period)
		calls_dry = calls_period;
	calls_count_left_out();
}

static __always_inline void calls_put_event(struct sock *sk, struct tcp_sock *tp,
					    struct call_log *log, struct event_call *e, __u64 now)
{
	__u64 task = bpf_get_current_pid_tgid();

	e->time = now;
	e->cookie = bpf_get_socket_cookie(sk);
	e->flow = 0;
	e->netns = sk->__sk_common.skc_net.net->ns.inum;
	e->pid = task >> 32;
	e->tid = task;
	e->unsent = conn_bytes_between(tp->snd_nxt, tp->write_seq);
	e->unacked = conn_bytes_between(tp->snd_una, tp->snd_nxt);
	e->unread = conn_bytes_between(tp->copied_seq, tp->rcv_nxt);
	e->state = poll_state(sk, tp, conn_stats_get(sk), now);
	e->flags = calls_dry >= log->period ? CALL_AFTER_UNKNOWN : 0;
	log->period = calls_period;
}

static __always_inline void calls_log_event(struct sock *sk, struct call_log *log, int ret,
					    __u8 direction)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 seq = __sync_fetch_and_add(&log->seq, 1) + 1;
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct event_call *e = tp ? bpf_ringbuf_reserve(&calls, sizeof(*e), 0) : NULL;

	if (!e) {
		calls_count_left_out();
		return;
	}
	__sync_fetch_and_add(&calls_granted, -1);
	calls_put_event(sk, tp, log, e, now);
	e->result = ret;
	e->seq = seq;
	e->direction = direction;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/*
 * Logs a call. Looking up the log is most of the cost, so calls beyond calls_granted and calls of
 * unsampled connections are only counted, in one sum. Connections that user space chose are few and
 * never unsampled.
 */
static __always_inline void calls_log(struct sock *sk, int ret, __u8 direction)
{
	bool several = false;
	struct call_log *log;
	__u32 place;

	if (calls_of == CALLS_OF_NONE)
		return;
	if (calls_of == CALLS_OF_CHOSEN) {
		place = *calls_mark_place(sk);
		several = place == MARK_SEVERAL;
		if (!several && place != calls_mark_value(sk))
			return;
	} else if (conn_is_thinned(sk)) {
		calls_count_left_out();
		return;
	}
	if (calls_granted <= 0 && !several) {
		calls_run_dry();
		return;
	}
	log = logged_find(sk);
	if (log && calls_granted <= 0)
		calls_run_dry();
	else if (log)
		calls_log_event(sk, log, ret, direction);
	/* there was no memory for the connection's log */
	else if (calls_of == CALLS_OF_ALL && conn_stats_get(sk))
		calls_count_left_out();
}

#endif
