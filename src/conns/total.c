// SPDX-License-Identifier: Apache-2.0
#include "conns/total.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bug.h"
#include "conns/rtt.h"
#include "event/conn_times.h"

bool total_is_valid(const struct event_conn *e)
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

/* -- what is counted ------------------------------------------------------------------------ */

#define AT(member) offsetof(struct event_conn, member)

struct counter {
	uint16_t at;
	uint16_t n;        /* fields, one after the other */
	uint32_t known;    /* the bit that goes when it runs over; 0: none */
};

static const struct counter wide[] = {
	{ AT(sender_app_ns), 5, CONN_KNOWS_TIMES }, { AT(unknown_ns), 1, CONN_KNOWS_TIMES },
	{ AT(bytes_sent), 2, 0 }, { AT(bytes_acked), 2, 0 },
	{ AT(busy_ns), 3, CONN_KNOWS_CHRONO },
	{ AT(recovery_ns), 3, CONN_KNOWS_LOSSES },
	{ AT(send_bytes), 2, CONN_KNOWS_CALLS },
	{ AT(rtt_sum_us), 1, CONN_KNOWS_RTT },
	{ AT(sampled_ns), CONN_STATES + 5, CONN_KNOWS_TIMES },
};

static const struct counter narrow[] = {
	{ AT(fast_retransmit), 1, CONN_KNOWS_LOSSES }, { AT(rto), 1, CONN_KNOWS_RTO },
	{ AT(tlp), 1, CONN_KNOWS_LOSSES }, { AT(spurious), 1, CONN_KNOWS_SPURIOUS },
	{ AT(delayed_acks), 1, CONN_KNOWS_DELACKS },
	{ AT(delayed_acks_harmful), 1, CONN_KNOWS_PEER_DELACKS },
	{ AT(rtt_samples), 1, CONN_KNOWS_RTT },
	{ AT(peer_delayed_acks), 1, CONN_KNOWS_PEER_DELACKS },
	{ AT(recoveries), 2, CONN_KNOWS_LOSSES }, { AT(send_calls), 4, CONN_KNOWS_CALLS },
	{ AT(idle_bursts), 3, CONN_KNOWS_CALLS },
	{ AT(zero_windows), 3 + CONN_STATES, CONN_KNOWS_TIMES },
	{ AT(send_sizes), 2 * CONN_SIZES, CONN_KNOWS_CALLS },
};

/* Most intervals have none. */
static const struct counter rtts = { AT(rtts), CONN_RTTS, CONN_KNOWS_RTTS };

_Static_assert(AT(delayed_ack_ns) - AT(sender_app_ns) == 32, "the five times");
_Static_assert(AT(stall_ns) - AT(recovery_ns) == 16 && AT(kernel_sndbuf_ns) - AT(busy_ns) == 16 &&
	       AT(recv_bytes) - AT(send_bytes) == 8 && AT(bytes_received) - AT(bytes_sent) == 8 &&
	       AT(bytes_retransmitted) - AT(bytes_acked) == 8 &&
	       AT(unclear_ns) - AT(sampled_ns) == 8 * (CONN_STATES + 4), "runs of 64 bits");
_Static_assert(AT(stalls) - AT(recoveries) == 4 && AT(send_blocked) - AT(send_calls) == 12 &&
	       AT(idle_restarts) - AT(idle_bursts) == 8 && AT(sampled) - AT(zero_windows) == 12 &&
	       AT(recv_sizes) - AT(send_sizes) == 4 * CONN_SIZES, "runs of 32 bits");

static void add_wide(struct event_conn *sum, const struct event_conn *e, const struct counter *k)
{
	for (uint16_t i = 0; i < k->n; i++) {
		uint64_t *to = (uint64_t *)(void *)((char *)sum + k->at) + i;
		const uint64_t *from =
			(const uint64_t *)(const void *)((const char *)e + k->at) + i;

		if (__builtin_add_overflow(*to, *from, to)) {
			*to = UINT64_MAX;
			sum->known &= ~k->known;
		}
	}
}

static void add_narrow(struct event_conn *sum, const struct event_conn *e, const struct counter *k)
{
	for (uint16_t i = 0; i < k->n; i++) {
		uint32_t *to = (uint32_t *)(void *)((char *)sum + k->at) + i;
		const uint32_t *from =
			(const uint32_t *)(const void *)((const char *)e + k->at) + i;

		if (__builtin_add_overflow(*to, *from, to)) {
			*to = UINT32_MAX;
			sum->known &= ~k->known;
		}
	}
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t first_of(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static void add_extremes(struct event_conn *sum, const struct event_conn *e)
{
	const bool had = sum->rtt_samples;

	if (e->rtt_samples && (!had || e->rtt_min_us < sum->rtt_min_us))
		sum->rtt_min_us = e->rtt_min_us;
	if (e->rtt_samples && (!had || e->rtt_max_us > sum->rtt_max_us))
		sum->rtt_max_us = e->rtt_max_us;
	sum->longest_stall_ns = max_of(sum->longest_stall_ns, e->longest_stall_ns);
	sum->longest_pause_ns = max_of(sum->longest_pause_ns, e->longest_pause_ns);
	if (!sum->loss_first && e->write_first) /* the last burst before the first loss */
		sum->write_first = e->write_first;
	sum->loss_first = first_of(sum->loss_first, e->loss_first);
	sum->loss_last = max_of(sum->loss_last, e->loss_last);
	sum->lost_reply = first_of(sum->lost_reply, e->lost_reply);
}

/* -- what stands ---------------------------------------------------------------------------- */

#define STATES (CONN_KNOWS_RCV_WND | CONN_KNOWS_GAUGES)
#define ONCE (CONN_CLOSED | CONN_BEGAN)

static void take_state(struct event_conn *sum, const struct event_conn *e)
{
	const uint32_t counted = sum->known & e->known & ~(uint32_t)STATES;
	const uint32_t once = (sum->flags | e->flags) & ONCE;
	const uint32_t thinned = sum->thinned_one_in;

	memcpy((char *)sum + AT(known), (const char *)e + AT(known),
	       AT(sampled_ns) - AT(known));
	sum->known = counted | (e->known & STATES);
	sum->flags = (e->flags & ~(uint32_t)ONCE) | once;
	/* who was left out at any time has no log of it */
	if (thinned > e->thinned_one_in)
		sum->thinned_one_in = thinned;
	sum->flow = e->flow;
	sum->app = e->app ? e->app : sum->app;
	sum->pid = e->pid ? e->pid : sum->pid;
	sum->rtt_us = e->rtt_us ? e->rtt_us : sum->rtt_us;
	sum->cwnd = e->cwnd ? e->cwnd : sum->cwnd;
}

void total_add(struct event_conn *sum, const struct event_conn *e)
{
	struct event_conn later = *e;

	/* a task's names go together */
	if (!later.pid) {
		later.comm = sum->comm;
		later.cgroup = sum->cgroup;
		later.unit = sum->unit;
	}
	add_extremes(sum, &later);
	take_state(sum, &later);
	for (size_t i = 0; i < ARRAY_LEN(wide); i++)
		add_wide(sum, &later, &wide[i]);
	for (size_t i = 0; i < ARRAY_LEN(narrow); i++)
		add_narrow(sum, &later, &narrow[i]);
	if (later.rtt_samples)
		add_narrow(sum, &later, &rtts);
	sum->from = sum->from < later.from ? sum->from : later.from;
	sum->to = max_of(sum->to, later.to);
}

void total_extend(struct event_conn *sum, const struct event_conn *next)
{
	total_add(sum, next);
	if (conn_is_weighted(sum) && sum->known & CONN_KNOWS_TIMES)
		conn_times(sum);
}
