/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * What is sent, for a recording: each send call when it ends, and each packet when nothing more
 * will be heard of it. User space joins them by the bytes: a packet may carry several calls' bytes,
 * and a call may take many packets (src/probe/packet/sends.h).
 */
#ifndef HOSTLAT_BPF_TOLD_SENDS_H
#define HOSTLAT_BPF_TOLD_SENDS_H

#include "bpf/requests.bpf.h"
#include "bpf/tcp.bpf.h"
#include "bpf/told.h"

const volatile __u32 telling_sends = 0;

__u64 told_unknown; /* calls that are not told: they had begun before they were watched */

/* Beside tx_sets: two for each set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* loader: 2 x TX_SETS, if sends are told */
	__type(key, __u32);
	__type(value, struct tx_way);
} tx_ways SEC(".maps");

/* ---- calls ---- */

static __always_inline struct told_send *told_send(const struct sock *sk, __u32 proto)
{
	struct told_send *m = bpf_ringbuf_reserve(&told_ring, sizeof(*m), 0);

	if (!m) {
		__sync_fetch_and_add(&told_lost, 1);
		return NULL;
	}
	__builtin_memset(m, 0, sizeof(*m));
	m->told = TOLD_SEND;
	m->sk = (__u64)sk;
	told_socket(&m->flow, sk, proto);
	return m;
}

struct tx_call_told {
	__u64 since, until, born, caller;
	__u32 seq, end, core, paced, late;
};

static __noinline int tell_call(struct sock *sk, const struct tx_call_told *call)
{
	struct told_send *m;

	if (!sk || !call || call->seq == call->end)
		return 0;
	if (!call->since) {
		__sync_fetch_and_add(&told_unknown, 1);
		return 0;
	}
	m = told_send(sk, ROW_TCP);
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

static __always_inline struct tx_call_told call_of(const struct tx_writer *w, __u32 end, __u64 now)
{
	return (struct tx_call_told){
		.since = w->began, .until = now, .born = w->born, .caller = w->told_caller,
		.seq = w->begin, .end = end, .core = w->core, .paced = w->paced_begin,
		.late = w->late_begin,
	};
}

/* include/net/sock.h: TCP paces itself. Else nobody does, or the queue. */
#define SK_PACING_NEEDED 1

/*
 * Up to `time`: between what left last and the expiry of the timer that lets the next go, nothing
 * leaves, whatever else holds it. A timer that had not to be set has an older expiry. Under the
 * socket's lock.
 */
static __always_inline void tell_paced(struct sock *sk, struct tx_writer *w, __u64 time)
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

/* What is more is no lateness of a timer: it would not fit into 32 bits, either. */
#define LATE_MAX_NS 4000000000ULL

/* include/linux/hrtimer.h */
#define HRTIMER_ENQUEUED 1

/*
 * Nothing but the pacing timer's lateness holds what leaves now: its function is running, or has
 * not run yet; or it ran while a send call had the socket, which puts off what it does until then.
 */
static __always_inline bool timer_holds(struct tcp_sock *tp, const struct tx_writer *w,
					__u64 expires)
{
	const struct hrtimer *timer = (const void *)tp + bpf_core_field_offset(tp->pacing_timer);

	if (BPF_CORE_READ(tp, pacing_timer.base, running) == timer)
		return true;
	if (bpf_core_field_exists(timer->state) &&
	    BPF_CORE_READ(tp, pacing_timer.state) & HRTIMER_ENQUEUED)
		return true;
	return w->told_caller && w->began && w->began <= expires;
}

/* How late the pacing timer was for the packet that leaves at `time`: ns; before tell_paced(). */
static __always_inline __u32 tell_late(struct sock *sk, struct tx_writer *w, __u64 time)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 expires;

	if (!w->paced_to || sk->sk_pacing_status != SK_PACING_NEEDED)
		return 0;
	expires = BPF_CORE_READ(tp, pacing_timer._softexpires);
	if (expires < w->paced_to || expires >= time || time - expires > LATE_MAX_NS ||
	    !timer_holds(tp, w, expires))
		return 0;
	w->late += time - expires;
	return time - expires;
}

/*
 * A call begins, or goes on; under the socket's lock. If another task's hasn't ended, that ends
 * here: either only the news of its end is late, or it waits for room and will go on, which then
 * is a part whose begin is not known any more.
 */
static __always_inline void tell_begins(struct sock *sk, struct tx_writer *w, __u64 caller,
					__u32 seq, __u32 sent, __u64 now)
{
	__u64 before = w->told_caller;
	struct tx_call_told call;

	if (before == caller)
		return;
	if (before) {
		call = call_of(w, seq, now);
		if (__sync_val_compare_and_swap(&w->told_caller, before, 0) == before) {
			w->cut = before;
			tell_call(sk, &call);
		}
	}
	if (!w->born)
		w->born = now;
	w->began = (!w->known && sent != seq) || w->cut == caller ? 0 : now;
	tell_paced(sk, w, now);
	w->paced_begin = w->paced;
	w->late_begin = w->late;
	w->begin = seq;
	w->core = bpf_get_smp_processor_id();
	w->told_caller = caller;
}

/* The lock may be another's again. */
static __noinline int tell_ends(struct sock *sk, struct tx_writer *w)
{
	__u64 caller = bpf_get_current_pid_tgid();
	struct tx_call_told call;

	if (!sk || !w)
		return 0;
	if (w->cut == caller)
		w->cut = 0;
	call = call_of(w, tcp_number(sk, write_seq, FAST_PATH_NONE), bpf_ktime_get_ns());
	if (call.caller != caller ||
	    __sync_val_compare_and_swap(&w->told_caller, caller, 0) != caller)
		return 0;
	if (requests)
		requests_sent(sk, call.seq, call.end - call.seq, call.since, call.core);
	tell_call(sk, &call);
	return 0;
}

/* ---- packets ---- */

/* Of a place in the table of packets: its number. */
static __always_inline struct tx_way *tx_way(__u32 place)
{
	return bpf_map_lookup_elem(&tx_ways, &place);
}

static __noinline int tell_packet(__u32 place, __u64 sent)
{
	struct tx_way *way = tx_way(place);
	struct told_packet *m;

	if (!way || !way->sk)
		return 0;
	if (!way->given && way->born) { /* TCP sends it again */
		way->sk = 0;
		return 0;
	}
	m = bpf_ringbuf_reserve(&told_ring, sizeof(*m), 0);
	if (!m) {
		__sync_fetch_and_add(&told_lost, 1);
		way->sk = 0;
		return 0;
	}
	m->told = TOLD_PACKET;
	m->sent_core = bpf_get_smp_processor_id();
	m->pad = 0;
	m->sent = sent;
	m->way = *way;
	way->sk = 0;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
