// SPDX-License-Identifier: Apache-2.0
#include "conns/other_end.h"

#include "conns/bottleneck.h"
#include "conns/words.h"

static void add_who(struct object *o, const struct conn_view *v, struct report *r)
{
	object_add(o, "cookie", words_cookie(r, v->c->cookie));
	object_add(o, "netns", words_netns(v, r));
	object_add(o, "app", value_string(words_app(v)));
	object_add(o, "comm", value_string(v->comm));
	object_add(o, "unit", value_string(v->unit));
	object_add(o, "pid", v->c->pid ? value_u64(v->c->pid) : value_null());
}

struct value other_end_value(const struct conns *c, const struct conns_shown *s,
			     const struct shown *one, struct report *r)
{
	struct conn_view_buf room;
	const struct conn_view *v = &room.view;
	const struct event_conn *e;
	struct object *o;
	const char *limit;
	double share;

	if (!shown_view_other(c, s, one, &room))
		return value_null();
	e = v->c;
	limit = words_limit(e, &share);
	o = object_new(r);
	object_add(o, "host", value_string(c->peer_recording->there.name));
	object_add(o, "common_ns", value_ns(v->common_ns));
	add_who(o, v, r);
	object_add(o, "from_ns", value_ns(e->from));
	object_add(o, "to_ns", value_ns(e->to));
	object_add(o, "closed", value_bool(e->flags & CONN_CLOSED));
	object_add(o, "time_ns", value_object(words_times(e, r)));
	object_add(o, "unknown_ns", words_known(e, CONN_KNOWS_TIMES, value_ns(e->unknown_ns)));
	object_add(o, "limit", value_string(limit));
	object_add(o, "limit_share", limit ? value_fraction(share) : value_null());
	object_add(o, "side", value_string(bottleneck_name(bottleneck_find(v).side)));
	object_add(o, "events", value_object(words_events(e, r)));
	object_add(o, "bytes", value_object(words_bytes(e, r)));
	object_add(o, "problems", value_list(words_classes(v->problems, r)));
	object_add(o, "harmful", value_list(words_classes(v->harmful, r)));
	return value_object(o);
}
