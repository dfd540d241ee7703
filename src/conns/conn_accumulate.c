/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/conn_accumulate.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bug.h"
#include "conns/rtt.h"
#include "event/conn_times.h"

bool conn_accumulate_accepts(const struct event_conn *e)
{
	const uint64_t times[] = {
		e->sender_app_ns, e->send_buffer_ns, e->congestion_ns, e->receiver_window_ns,
		e->delayed_ack_ns, e->unknown_ns,
	};
	uint64_t sum = 0, samples = 0;

	if (e->from > e->to || e->to > INT64_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		if (times[i] > INT64_MAX)
			return false;
		sum += times[i];
		if (sum > INT64_MAX)
			return false;
	}
	for (int i = 0; i < CONN_STATES; i++)
		samples += e->sampled[i];
	if (samples > e->samples || e->zero_windows > e->samples || e->unread > e->samples)
		return false;
	if (e->rtt_samples && e->rtt_min_us > e->rtt_max_us)
		return false;
	if (rtt_is_known(e) && !rtt_is_valid(e))
		return false;
	return !(e->known & CONN_KNOWS_TIMES) || sum == e->to - e->from;
}

/* ---- counters ---- */

/*
 * Adds `more` to *to, a field of `sum`. If it overflows, it stays at its maximum, and all fields of
 * `sum` that need a bit of `known` (enum conn_known) count as unknown.
 */
static void conn_accumulate_u64(struct event_conn *sum, __u64 *to, __u64 more, uint32_t known)
{
	if (__builtin_add_overflow(*to, more, to)) {
		*to = UINT64_MAX;
		sum->known &= ~known;
	}
}

static void conn_accumulate_u32(struct event_conn *sum, __u32 *to, __u32 more, uint32_t known)
{
	if (__builtin_add_overflow(*to, more, to)) {
		*to = UINT32_MAX;
		sum->known &= ~known;
	}
}

#define ADD(field, bits)                                                                           \
	_Generic(e->field, __u64                                                                   \
		 : conn_accumulate_u64, __u32                                                      \
		 : conn_accumulate_u32)(sum, &sum->field, e->field, bits)

static uint64_t conn_accumulate_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t conn_accumulate_first(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static void conn_accumulate_counters(struct event_conn *sum, const struct event_conn *e)
{
#define ADD_ROW(field, value, bits, ...) ADD(field, bits);
#define MOST_ROW(field, ...) sum->field = conn_accumulate_max(sum->field, e->field);
	CONN_COUNTERS(ADD_ROW, ADD_ROW, ADD_ROW, MOST_ROW, ADD_ROW)
}

/* Adds times, which are computed from counters and samples, and numbers of samples. */
static void conn_accumulate_times(struct event_conn *sum, const struct event_conn *e)
{
	const uint32_t times = CONN_KNOWS_TIMES;

	ADD(sender_app_ns, times);
	ADD(send_buffer_ns, times);
	ADD(congestion_ns, times);
	ADD(receiver_window_ns, times);
	ADD(delayed_ack_ns, times);
	ADD(unknown_ns, times);
	ADD(unsampled_ns, times);
	ADD(unclear_ns, times);
	ADD(zero_window_ns, times);
	ADD(unread_ns, times);
	ADD(squares, times);
	ADD(samples, times);
	for (int i = 0; i < CONN_STATES; i++) {
		ADD(sampled[i], times);
		ADD(sampled_ns[i], times);
	}
}

static void conn_accumulate_sizes(struct event_conn *sum, const struct event_conn *e)
{
	for (int i = 0; i < CONN_SIZES; i++) {
		ADD(send_sizes[i], CONN_KNOWS_CALLS);
		ADD(recv_sizes[i], CONN_KNOWS_CALLS);
	}
	for (int i = 0; e->rtt_samples && i < CONN_RTTS; i++)
		ADD(rtts[i], CONN_KNOWS_RTTS);
}

static void conn_accumulate_extremes(struct event_conn *sum, const struct event_conn *e)
{
	const bool had = sum->rtt_samples;

	if (e->rtt_samples && (!had || e->rtt_min_us < sum->rtt_min_us))
		sum->rtt_min_us = e->rtt_min_us;
	if (e->rtt_samples && (!had || e->rtt_max_us > sum->rtt_max_us))
		sum->rtt_max_us = e->rtt_max_us;
	/* until a packet is lost, each record's burst of writes replaces the earlier one */
	if (!sum->loss_first && e->write_first)
		sum->write_first = e->write_first;
	sum->loss_first = conn_accumulate_first(sum->loss_first, e->loss_first);
	sum->loss_last = conn_accumulate_max(sum->loss_last, e->loss_last);
	sum->lost_reply = conn_accumulate_first(sum->lost_reply, e->lost_reply);
}

/* ---- state ---- */

#define STATES (CONN_KNOWS_RCV_WND | CONN_KNOWS_GAUGES)
#define AT(member) offsetof(struct event_conn, member)
#define ONCE (CONN_CLOSED | CONN_BEGAN)

static void conn_accumulate_state(struct event_conn *sum, const struct event_conn *e)
{
	const uint32_t counted = sum->known & e->known & ~(uint32_t)STATES;
	const uint32_t once = (sum->flags | e->flags) & ONCE;
	const uint32_t thinned = sum->thinned_one_in;
	const uint32_t comm = sum->comm, cgroup = sum->cgroup, unit = sum->unit;

	memcpy((char *)sum + AT(known), (const char *)e + AT(known),
	       AT(sampled_ns) - AT(known));
	sum->known = counted | (e->known & STATES);
	sum->flags = (e->flags & ~(uint32_t)ONCE) | once;
	/* the calls of a connection are incomplete if it was left out by sampling at any time */
	if (thinned > e->thinned_one_in)
		sum->thinned_one_in = thinned;
	if (!e->pid) { /* task unknown: keep comm, cgroup and unit of the earlier record */
		sum->comm = comm;
		sum->cgroup = cgroup;
		sum->unit = unit;
	}
	sum->flow = e->flow;
	sum->app = e->app ? e->app : sum->app;
	sum->pid = e->pid ? e->pid : sum->pid;
	sum->rtt_us = e->rtt_us ? e->rtt_us : sum->rtt_us;
	sum->cwnd = e->cwnd ? e->cwnd : sum->cwnd;
}

void conn_accumulate(struct event_conn *sum, const struct event_conn *e)
{
	conn_accumulate_extremes(sum, e);
	conn_accumulate_state(sum, e);
	conn_accumulate_counters(sum, e);
	conn_accumulate_times(sum, e);
	conn_accumulate_sizes(sum, e);
	sum->from = sum->from < e->from ? sum->from : e->from;
	sum->to = conn_accumulate_max(sum->to, e->to);
}

void conn_accumulate_next(struct event_conn *sum, const struct event_conn *next)
{
	conn_accumulate(sum, next);
	if (conn_is_weighted(sum) && sum->known & CONN_KNOWS_TIMES)
		conn_times(sum);
}
