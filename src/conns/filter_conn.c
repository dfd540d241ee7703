/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/filter_conn.h"

#include <string.h>

#include "base/bug.h"
#include "conns/filter.h"
#include "conns/view.h"

#define MILLIONTHS 1000000 /* unit of CONN_NUMBER_* shares */

static void filter_conn_put_number(struct filter_view *v, bool known, enum conn_number which,
				   uint64_t value)
{
	if (known)
		v->known |= 1ULL << which;
	v->number[which] = value;
}

static void filter_conn_put_flow(struct filter_view *v, const struct event_flow *flow)
{
	if (!flow)
		return;
	v->family = flow->family;
	memcpy(v->local, flow->local, sizeof(v->local));
	memcpy(v->remote, flow->remote, sizeof(v->remote));
	v->local_port = flow->local_port;
	v->remote_port = flow->remote_port;
}

static void filter_conn_put_counters(struct filter_view *v, const struct event_conn *c)
{
	const uint32_t any = CONN_KNOWS_LOSSES | CONN_KNOWS_RTO;

	filter_conn_put_number(v, c->pid, CONN_NUMBER_PID, c->pid);
	filter_conn_put_number(v, true, CONN_NUMBER_AGE, c->to - c->from);
	filter_conn_put_number(v, conn_knows(c, any), CONN_NUMBER_RETRANS,
			       (uint64_t)c->fast_retransmit + c->rto + c->tlp);
#define PUT_ROW(field, value, bits, ...)                                                           \
	filter_conn_put_number(v, conn_knows(c, bits), CONN_NUMBER_OF_##field, c->field);
	CONN_COUNTERS_EACH(PUT_ROW)
}

static void filter_conn_put_gauges(struct filter_view *v, const struct event_conn *c)
{
	bool known = conn_knows(c, CONN_KNOWS_GAUGES);

	v->tcp_state = (uint8_t)c->tcp_state;
	filter_conn_put_number(v, known, CONN_NUMBER_RTT, c->rtt_us * 1000ULL);
	filter_conn_put_number(v, known, CONN_NUMBER_MIN_RTT, c->min_rtt_us * 1000ULL);
	filter_conn_put_number(v, known, CONN_NUMBER_UNSENT, c->unsent);
	filter_conn_put_number(v, known, CONN_NUMBER_UNACKED, c->unacked);
	filter_conn_put_number(v, known, CONN_NUMBER_SNDBUF, c->sndbuf);
	filter_conn_put_number(v, known, CONN_NUMBER_RCVBUF, c->rcvbuf);
	filter_conn_put_number(v, known, CONN_NUMBER_CWND, c->cwnd);
	filter_conn_put_number(v, known, CONN_NUMBER_MSS, c->mss);
}

/* Stores each limit's share of the known time, which filters can compare. */
static void filter_conn_put_shares(struct filter_view *v, const struct event_conn *c)
{
	const uint64_t times[] = {
		c->sender_app_ns, c->send_buffer_ns, c->congestion_ns, c->receiver_window_ns,
		c->delayed_ack_ns,
	};
	uint64_t all = 0;

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		all += times[i];
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		filter_conn_put_number(
			v, conn_knows(c, CONN_KNOWS_TIMES) && all, CONN_NUMBER_SENDER_APP + i,
			all ? (uint64_t)((unsigned __int128)times[i] * MILLIONTHS / all) : 0);
}

bool filter_conn_match(const struct conn_view *view, void *filter)
{
	struct filter_view v = {
		.text = {
			[CONN_TEXT_APP] = view->app, [CONN_TEXT_COMM] = view->comm,
			[CONN_TEXT_CGROUP] = view->cgroup, [CONN_TEXT_UNIT] = view->unit,
			[CONN_TEXT_NETNS] = view->netns,
			[CONN_TEXT_CONTROL] = view->congestion_control,
		},
	};
	const char *classes[CONN_CLASSES];

	filter_conn_put_flow(&v, view->flow);
	if (!view->c) /* no record yet: only addresses and names are known */
		return filter_match(filter, &v);
	filter_conn_put_counters(&v, view->c);
	filter_conn_put_gauges(&v, view->c);
	filter_conn_put_shares(&v, view->c);
	v.classes = classes;
	for (unsigned int i = 0; i < CONN_CLASSES; i++)
		if (view->judged.problems & 1U << i)
			classes[v.n_classes++] = conn_class_name(i);
	return filter_match(filter, &v);
}
