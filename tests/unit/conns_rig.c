/* SPDX-License-Identifier: Apache-2.0 */
#include "conns_rig.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/parse.h"
#include "event/kinds.h"

static const struct provenance nobody = { .version = "1", .command = "conns", .schema = 1 };

void rig_init(struct conns_rig *rig, const struct conns_options *options)
{
	const struct conns_options none = { 0 };

	*rig = (struct conns_rig){ .c = conns_new(options ? options : &none),
				   .now = 1000 * NS_PER_S };
	assert_non_null(rig->c);
}

void rig_release(struct conns_rig *rig)
{
	conns_free(rig->c);
}

static int feed(struct conns_rig *rig, const struct event_block *block)
{
	size_t at = 0;
	int result = conns_feed_block(rig->c, block, &at);

	if (result == CONNS_CLOSED)
		assert_int_equal(conns_feed_block(rig->c, block, &at), CONNS_MORE);
	return result;
}

void rig_record(struct conns_rig *rig, uint16_t kind, const void *payload, size_t size)
{
	union {
		struct event_record record;
		unsigned char bytes[1024];
		uint64_t aligned[128];
	} data = { .bytes = { 0 } };
	const struct event_block block = {
		.core = EVENT_CORE_NONE, .count = 1, .size = event_record_size(size),
		.data = data.bytes,
	};

	assert_true(block.size <= sizeof(data));
	data.record = (struct event_record){ .kind = kind, .version = 1, .size = (uint32_t)size };
	memcpy(data.bytes + sizeof(data.record), payload, size);
	assert_int_equal(feed(rig, &block), kind == EV_INTERVAL ? CONNS_CLOSED : CONNS_MORE);
}

void rig_flow(struct conns_rig *rig, uint32_t id, const char *local, uint16_t local_port,
	      const char *remote, uint16_t remote_port, uint64_t netns)
{
	struct event_flow flow = {
		.id = id, .family = AF_INET, .protocol = IPPROTO_TCP, .netns_cookie = netns,
		.local_port = local_port, .remote_port = remote_port,
	};

	assert_int_equal(inet_pton(AF_INET, local, flow.local), 1);
	assert_int_equal(inet_pton(AF_INET, remote, flow.remote), 1);
	rig_record(rig, EV_FLOW, &flow, sizeof(flow));
}

void rig_name(struct conns_rig *rig, uint32_t id, const char *text)
{
	union {
		struct event_name name;
		char bytes[sizeof(struct event_name) + 64];
	} e = { .bytes = { 0 } };

	e.name.dict = DICT_STRING;
	e.name.id = id;
	snprintf(e.name.text, sizeof(e) - sizeof(e.name), "%s", text);
	rig_record(rig, EV_NAME, &e, sizeof(e.name) + strlen(e.name.text) + 1);
}

struct event_conn rig_conn(const struct conns_rig *rig, uint64_t cookie, uint32_t flow)
{
	return (struct event_conn){
		.cookie = cookie, .flow = flow, .from = rig->now, .to = rig->now + NS_PER_S,
		.sender_app_ns = NS_PER_S, .known = RIG_KNOWN,
	};
}

void rig_put(struct conns_rig *rig, const struct event_conn *e)
{
	const struct event_block block = {
		.kind = EV_CONN, .core = EVENT_CORE_NONE, .count = 1, .record_size = sizeof(*e),
		.size = sizeof(*e), .data = e,
	};

	assert_int_equal(feed(rig, &block), CONNS_MORE);
}

void rig_put_end(struct conns_rig *rig, uint64_t cookie, uint32_t flow, uint32_t sent,
		 uint32_t received, uint32_t flags)
{
	struct event_conn e = rig_conn(rig, cookie, flow);

	e.write_seq = e.snd_una = sent;
	e.rcv_nxt = received;
	e.flags = flags;
	rig_put(rig, &e);
}

void rig_put_fitted(struct conns_rig *rig, struct event_conn e)
{
	e.sender_app_ns = e.to - e.from - e.send_buffer_ns - e.congestion_ns -
			  e.receiver_window_ns - e.delayed_ack_ns - e.unknown_ns;
	rig_put(rig, &e);
}

void rig_interval(struct conns_rig *rig)
{
	const struct event_interval e = {
		.from_ns = rig->now, .to_ns = rig->now + NS_PER_S, .ncpus = 1,
		.own_user_ns = 10 * NS_PER_MS, .own_bpf_ns = 5 * NS_PER_MS,
	};

	rig_record(rig, EV_INTERVAL, &e, sizeof(e));
	rig->now += NS_PER_S;
}

/* ---- reports ---- */

void rig_report(struct conns_rig *rig, enum conns_span span, struct report *r)
{
	report_init(r, &nobody);
	assert_int_equal(conns_report(rig->c, span, r), 0);
}

const struct value *rig_field(const struct object *o, const char *name)
{
	for (const struct object_field *f = o->first; f; f = f->next)
		if (f->name && strcmp(f->name, name) == 0)
			return &f->value;
	fail_msg("no field %s", name);
	return NULL;
}

const struct table *rig_table(const struct report *r, const char *name)
{
	const struct value *v = rig_field(&r->body, name);

	assert_int_equal(v->type, VALUE_TABLE);
	return v->table;
}

const struct value *rig_cell(const struct table *t, const struct table_row *row, const char *column)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		if (t->columns[i].name && strcmp(t->columns[i].name, column) == 0)
			return &row->cells[i];
	fail_msg("no column %s", column);
	return NULL;
}

static bool is_of(const struct table *t, const struct table_row *row, uint64_t cookie)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)cookie);
	return strcmp(rig_cell(t, row, "cookie")->string, text) == 0;
}

const struct table_row *rig_connection(const struct report *r, uint64_t cookie)
{
	const struct table *t = rig_table(r, "connections");

	for (const struct table_row *row = t->first; row; row = row->next)
		if (is_of(t, row, cookie))
			return row;
	return NULL;
}

const struct table_row *rig_problem(const struct report *r, uint64_t cookie, enum conn_class class)
{
	const struct table *t = rig_table(r, "problems");

	for (const struct table_row *row = t->first; row; row = row->next)
		if (is_of(t, row, cookie) &&
		    strcmp(rig_cell(t, row, "class")->string, conn_class_name(class)) == 0)
			return row;
	return NULL;
}

bool rig_has(struct conns_rig *rig, enum conns_span span, uint64_t cookie, enum conn_class class)
{
	struct report r;
	bool has;

	rig_report(rig, span, &r);
	has = rig_problem(&r, cookie, class);
	report_release(&r);
	return has;
}
