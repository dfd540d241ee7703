// SPDX-License-Identifier: Apache-2.0
#include "conns/words.h"

#include <inttypes.h>

#include "base/bug.h"
#include "conns/problem.h"
#include "report/human.h"

struct value words_cookie(struct report *r, uint64_t cookie)
{
	return value_string(report_format(r, "%" PRIu64, cookie));
}

static struct value address(struct report *r, int family, const void *bytes, uint16_t port)
{
	char buf[HUMAN_ADDRESS_MAX];
	const char *text = human_address(buf, family, bytes, port);

	return text ? value_string(report_format(r, "%s", text)) : value_null();
}

struct value words_local(struct report *r, const struct event_flow *flow)
{
	return flow ? address(r, flow->family, flow->local, flow->local_port) : value_null();
}

struct value words_remote(struct report *r, const struct event_flow *flow)
{
	return flow ? address(r, flow->family, flow->remote, flow->remote_port) : value_null();
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

/* -- times and events ----------------------------------------------------------------------- */

#define TIMES 5

static const char *const time_names[TIMES] = {
	"sender-app", "send-buffer", "congestion", "receiver-window", "delayed-ack",
};

static void times_of(const struct event_conn *e, uint64_t *out)
{
	out[0] = e->sender_app_ns;
	out[1] = e->send_buffer_ns;
	out[2] = e->congestion_ns;
	out[3] = e->receiver_window_ns;
	out[4] = e->delayed_ack_ns;
}

struct object *words_times(const struct event_conn *e, struct report *r)
{
	struct object *o = object_new(r);
	uint64_t times[TIMES];

	times_of(e, times);
	for (int i = 0; i < TIMES; i++)
		object_add(o, time_names[i], conn_knows(e, CONN_KNOWS_TIMES) ? value_ns(times[i])
									    : value_null());
	return o;
}

const char *words_limit(const struct event_conn *e, double *share)
{
	uint64_t times[TIMES];
	int most = 0;

	*share = 0;
	if (!conn_knows(e, CONN_KNOWS_TIMES) || !conn_known_ns(e))
		return NULL;
	times_of(e, times);
	for (int i = 1; i < TIMES; i++)
		if (times[i] > times[most])
			most = i;
	*share = conn_share(e, times[most]);
	return time_names[most];
}

struct object *words_events(const struct event_conn *e, struct report *r)
{
	const struct {
		const char *name;
		uint32_t known, n;
	} events[] = {
		{ "fast_retransmit", CONN_KNOWS_LOSSES, e->fast_retransmit },
		{ "rto", CONN_KNOWS_RTO, e->rto },
		{ "tlp", CONN_KNOWS_LOSSES, e->tlp },
		{ "spurious", CONN_KNOWS_SPURIOUS, e->spurious },
		{ "delayed_acks", CONN_KNOWS_DELACKS, e->delayed_acks },
		{ "delayed_acks_harmful", CONN_KNOWS_PEER_DELACKS, e->delayed_acks_harmful },
	};
	struct object *o = object_new(r);

	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		object_add(o, events[i].name, conn_knows(e, events[i].known) ?
			   value_u64(events[i].n) : value_null());
	return o;
}

/* -- classes -------------------------------------------------------------------------------- */

struct list *words_classes(uint32_t classes, struct report *r)
{
	struct list *l = list_new(r);

	for (unsigned int class = 0; class < CONN_CLASSES; class++)
		if (classes >> class & 1)
			list_add(l, "%s", conn_class_name(class));
	return l;
}

const char *words_class_line(uint32_t classes, struct report *r)
{
	const char *line = "";

	for (unsigned int class = 0; class < CONN_CLASSES && line; class++)
		if (classes >> class & 1)
			line = report_format(r, "%s%s%s", line, *line ? ", " : "",
					     conn_class_name(class));
	return line;
}
