/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Records sent messages for `record`: each send call when it ends, and each packet when its times
 * are final. User space joins them by sequence number: a packet may carry bytes of several calls,
 * and a call may need many packets (src/probe/packet/sends.h).
 */
#ifndef HOSTLAT_BPF_MSG_SEND_H
#define HOSTLAT_BPF_MSG_SEND_H

#include "bpf/requests.bpf.h"
#include "bpf/tcp.bpf.h"
#include "bpf/msg_event.bpf.h"

const volatile __u32 record_sends = 0;

__u64 msg_calls_unknown; /* send calls not recorded, as their begin was not seen */

/* Times of packets in transmission, parallel to tx_sets: two entries for each set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the loader sets 2 x TX_SETS if sends are recorded */
	__type(key, __u32);
	__type(value, struct tx_times);
} tx_times_of SEC(".maps");

/* ---- calls ---- */

static __always_inline struct msg_send *msg_new_send(const struct sock *sk, __u32 proto)
{
	struct msg_send *m = bpf_ringbuf_reserve(&msg_ringbuf, sizeof(*m), 0);

	if (!m) {
		__sync_fetch_and_add(&msg_lost, 1);
		return NULL;
	}
	__builtin_memset(m, 0, sizeof(*m));
	m->type = MSG_TYPE_SEND;
	m->sk = (__u64)sk;
	msg_set_flow(&m->flow, sk, proto);
	return m;
}

struct msg_call {
	__u64 since, until, born, caller;
	__u32 seq, end, core, paced, late;
};

static __noinline int msg_put_call(struct sock *sk, const struct msg_call *call)
{
	struct msg_send *m;

	if (!sk || !call || call->seq == call->end)
		return 0;
	if (!call->since) {
		__sync_fetch_and_add(&msg_calls_unknown, 1);
		return 0;
	}
	m = msg_new_send(sk, ROW_TCP);
	if (!m)
		return 0;
	m->core = call->core;
	m->born = call->born;
	m->since = call->since;
	m->until = call->until;
	m->seq = call->seq;
	m->bytes = call->end - call->seq;
	m->pid = call->caller >> 32;
	m->tid = call->caller;
	m->paced = call->paced;
	m->late = call->late;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline struct msg_call msg_call_of(const struct tx_writer *w, __u32 end, __u64 now)
{
	return (struct msg_call){
		.since = w->began, .until = now, .born = w->born, .caller = w->msg_caller,
		.seq = w->begin, .end = end, .core = w->core, .paced = w->paced_begin,
		.late = w->late_begin,
	};
}

/* include/net/sock.h: TCP paces itself; else the qdisc paces, or nobody */
#define SK_PACING_NEEDED 1

/*
 * Adds to `paced` the time up to `time` in which pacing held the socket: from the last departure to
 * the expiry of the pacing timer nothing leaves. A timer that was not set has an older expiry. Runs
 * under the socket's lock.
 */
static __always_inline void tx_add_paced(struct sock *sk, struct tx_writer *w, __u64 time)
{
	__u64 until;

	if (!w->paced_to || sk->sk_pacing_status != SK_PACING_NEEDED)
		return;
	until = BPF_CORE_READ((struct tcp_sock *)sk, pacing_timer._softexpires);
	if (until > time)
		until = time;
	if (until <= w->paced_to)
		return;
	w->paced += until - w->paced_to;
	w->paced_to = until;
}

/* Maximum lateness in ns: a larger value is no lateness of a timer, and exceeds 32 bits. */
#define LATE_MAX_NS 4000000000ULL

/* include/linux/hrtimer.h */
#define HRTIMER_ENQUEUED 1

/*
 * Returns true if only the pacing timer's lateness held the packet that leaves now: the timer's
 * function is running or has not run yet, or it ran while a send call had the socket, which defers
 * its work.
 */
static __always_inline bool tx_timer_holds(struct tcp_sock *tp, const struct tx_writer *w,
					   __u64 expires)
{
	const struct hrtimer *timer = (const void *)tp + bpf_core_field_offset(tp->pacing_timer);

	if (BPF_CORE_READ(tp, pacing_timer.base, running) == timer)
		return true;
	if (bpf_core_field_exists(timer->state) &&
	    BPF_CORE_READ(tp, pacing_timer.state) & HRTIMER_ENQUEUED)
		return true;
	return w->msg_caller && w->began && w->began <= expires;
}

/* Returns the pacing timer's lateness in ns at departure `time`. Call before tx_add_paced(). */
static __always_inline __u32 tx_add_late(struct sock *sk, struct tx_writer *w, __u64 time)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 expires;

	if (!w->paced_to || sk->sk_pacing_status != SK_PACING_NEEDED)
		return 0;
	expires = BPF_CORE_READ(tp, pacing_timer._softexpires);
	if (expires < w->paced_to || expires >= time || time - expires > LATE_MAX_NS ||
	    !tx_timer_holds(tp, w, expires))
		return 0;
	w->late += time - expires;
	return time - expires;
}

/*
 * Handles the begin or continuation of a send call, under the socket's lock. Ends the recording of
 * another task's call: that call's end is seen late, or the call waits for buffer space. Its rest
 * then has an unknown begin, and is only counted (msg_calls_unknown).
 */
static __always_inline void msg_call_begins(struct sock *sk, struct tx_writer *w, __u64 caller,
					    __u32 seq, __u32 sent, __u64 now)
{
	__u64 before = w->msg_caller;
	struct msg_call call;

	if (before == caller)
		return;
	if (before) {
		call = msg_call_of(w, seq, now);
		if (__sync_val_compare_and_swap(&w->msg_caller, before, 0) == before) {
			w->cut = before;
			msg_put_call(sk, &call);
		}
	}
	if (!w->born)
		w->born = now;
	w->began = (!w->known && sent != seq) || w->cut == caller ? 0 : now;
	tx_add_paced(sk, w, now);
	w->paced_begin = w->paced;
	w->late_begin = w->late;
	w->begin = seq;
	w->core = bpf_get_smp_processor_id();
	w->msg_caller = caller;
}

/* Handles the end of a send call; another task may hold the socket's lock again. */
static __noinline int msg_call_ends(struct sock *sk, struct tx_writer *w)
{
	__u64 caller = bpf_get_current_pid_tgid();
	struct msg_call call;

	if (!sk || !w)
		return 0;
	if (w->cut == caller)
		w->cut = 0;
	call = msg_call_of(w, tcp_number(sk, write_seq, FAST_PATH_NONE), bpf_ktime_get_ns());
	if (call.caller != caller ||
	    __sync_val_compare_and_swap(&w->msg_caller, caller, 0) != caller)
		return 0;
	if (requests)
		requests_sent(sk, call.seq, call.end - call.seq, call.since, call.core);
	msg_put_call(sk, &call);
	return 0;
}

/* ---- packets ---- */

/* Returns the times of the packet with index `place` in the table of packets. */
static __always_inline struct tx_times *tx_times_at(__u32 place)
{
	return bpf_map_lookup_elem(&tx_times_of, &place);
}

static __noinline int msg_put_packet(__u32 place, __u64 sent)
{
	struct tx_times *times = tx_times_at(place);
	struct msg_packet *m;

	if (!times || !times->sk)
		return 0;
	/* TCP packet that the driver never got: a retransmission will report these bytes */
	if (!times->given && times->born) {
		times->sk = 0;
		return 0;
	}
	m = bpf_ringbuf_reserve(&msg_ringbuf, sizeof(*m), 0);
	if (!m) {
		__sync_fetch_and_add(&msg_lost, 1);
		times->sk = 0;
		return 0;
	}
	m->type = MSG_TYPE_PACKET;
	m->sent_core = bpf_get_smp_processor_id();
	m->pad = 0;
	m->sent = sent;
	m->times = *times;
	times->sk = 0;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
