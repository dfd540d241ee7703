/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/words.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/bug.h"
#include "conns/counter.h"
#include "conns/problem.h"
#include "report/human.h"

struct value words_cookie(struct report *r, uint64_t cookie)
{
	return value_string(report_format(r, "%" PRIu64, cookie));
}

static struct value words_address(struct report *r, int family, const void *bytes, uint16_t port)
{
	char buf[HUMAN_ADDRESS_MAX];
	const char *text = human_address(buf, family, bytes, port);

	return text ? value_string(report_format(r, "%s", text)) : value_null();
}

struct value words_local(struct report *r, const struct event_flow *flow)
{
	return flow ? words_address(r, flow->family, flow->local, flow->local_port) : value_null();
}

struct value words_remote(struct report *r, const struct event_flow *flow)
{
	return flow ? words_address(r, flow->family, flow->remote, flow->remote_port)
		    : value_null();
}

struct value words_netns(const struct conn_view *v, struct report *r)
{
	if (v->netns)
		return value_string(v->netns);
	return v->flow && v->flow->netns_cookie ? words_cookie(r, v->flow->netns_cookie)
						 : value_null();
}

const char *words_app(const struct conn_view *v)
{
	return v->app ? v->app : v->comm;
}

/* ---- times and counters ---- */

static const struct {
	const char *name;
	size_t at;
} times[WORDS_TIMES] = {
	{ "sender-app", offsetof(struct event_conn, sender_app_ns) },
	{ "send-buffer", offsetof(struct event_conn, send_buffer_ns) },
	{ "congestion", offsetof(struct event_conn, congestion_ns) },
	{ "receiver-window", offsetof(struct event_conn, receiver_window_ns) },
	{ "delayed-ack", offsetof(struct event_conn, delayed_ack_ns) },
};

const char *words_time_name(unsigned int time)
{
	return times[time].name;
}

uint64_t words_time(const struct event_conn *e, unsigned int time)
{
	return *(const uint64_t *)(const void *)((const char *)e + times[time].at);
}

struct object *words_times(const struct event_conn *e, struct report *r)
{
	struct object *o = object_new(r);

	for (unsigned int i = 0; i < WORDS_TIMES; i++)
		object_add(o, times[i].name, conn_knows(e, CONN_KNOWS_TIMES) ?
			   value_ns(words_time(e, i)) : value_null());
	return o;
}

bool words_divide_congestion(const struct event_conn *e, uint64_t ns[WORDS_HELD])
{
	const uint32_t all = e->sampled[CONN_AT_CWND];
	uint64_t held;

	memset(ns, 0, WORDS_HELD * sizeof(*ns));
	if (conn_knows(e, CONN_KNOWS_LOSSES))
		ns[WORDS_HELD_REPAIR] = e->recovery_ns < e->congestion_ns ? e->recovery_ns
									  : e->congestion_ns;
	held = e->congestion_ns - ns[WORDS_HELD_REPAIR];
	ns[WORDS_HELD_WINDOW] = held;
	if (!conn_knows(e, CONN_COUNTS_cwnd_paced | CONN_COUNTS_cwnd_queued | CONN_KNOWS_LOSSES) ||
	    e->cwnd_paced > all || e->cwnd_queued > all - e->cwnd_paced)
		return false;
	if (!all)
		return true;
	ns[WORDS_HELD_PACING] = (uint64_t)((unsigned __int128)held * e->cwnd_paced / all);
	ns[WORDS_HELD_QUEUE] = (uint64_t)((unsigned __int128)held * e->cwnd_queued / all);
	ns[WORDS_HELD_WINDOW] -= ns[WORDS_HELD_PACING] + ns[WORDS_HELD_QUEUE];
	return true;
}

struct object *words_congestion(const struct event_conn *e, struct report *r)
{
	static const char *const names[WORDS_HELD] = {
		"repair", "window", "pacing", "local-queue",
	};
	struct object *o = object_new(r);
	uint64_t ns[WORDS_HELD];
	const bool apart = words_divide_congestion(e, ns) && conn_knows(e, CONN_KNOWS_TIMES);

	for (int i = 0; i < WORDS_HELD; i++)
		object_add(o, names[i], apart ? value_ns(ns[i]) : value_null());
	return o;
}

const char *words_limit(const struct event_conn *e, double *share)
{
	unsigned int most = 0;
	uint64_t second = 0;

	*share = 0;
	if (!conn_knows(e, CONN_KNOWS_TIMES) || !conn_known_ns(e))
		return NULL;
	for (unsigned int i = 1; i < WORDS_TIMES; i++)
		if (words_time(e, i) > words_time(e, most))
			most = i;
	for (unsigned int i = 0; i < WORDS_TIMES; i++)
		if (i != most && words_time(e, i) > second)
			second = words_time(e, i);
	/* if the unknown time belonged to the second limit, that might be the greatest */
	if (second + e->unknown_ns > words_time(e, most))
		return NULL;
	*share = conn_share(e, words_time(e, most));
	return times[most].name;
}

uint64_t words_age(const struct event_conn *e, uint64_t now)
{
	return now > e->to ? now - e->to : 0;
}

struct object *words_events(const struct event_conn *e, struct report *r)
{
	struct object *o = object_new(r);

	counter_put(o, e, COUNTER_OF_EVENTS);
	return o;
}

struct object *words_bytes(const struct event_conn *e, struct report *r)
{
	struct object *o = object_new(r);

	counter_put(o, e, COUNTER_OF_BYTES);
	return o;
}

struct value words_known(const struct event_conn *e, uint32_t bits, struct value v)
{
	return conn_knows(e, bits) ? v : value_null();
}

/* ---- classes ---- */

struct string_list *words_classes(uint32_t classes, struct report *r)
{
	struct string_list *l = list_new(r);

	for (unsigned int class = 0; class < CONN_CLASSES; class++)
		if (classes >> class & 1)
			list_add(l, "%s", conn_class_name(class));
	return l;
}

const char *words_class_line(uint32_t classes, struct report *r)
{
	const char *line = "";

	for (unsigned int class = 0; class < CONN_CLASSES; class++)
		if (classes >> class & 1)
			line = report_format(r, "%s%s%s", line, *line ? ", " : "",
					     conn_class_name(class));
	return line;
}
