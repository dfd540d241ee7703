/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds events to the analysis. A source has checked that each payload has the size and shape of
 * its kind; this file checks the values.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conns/calls.h"
#include "conns/incast.h"
#include "conns/join.h"
#include "conns/proxy.h"
#include "conns/rules.h"
#include "conns/service.h"
#include "conns/state.h"
#include "conns/conn_accumulate.h"
#include "conns/window.h"

struct conns *conns_new(const struct conns_options *options)
{
	struct conns *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->options = *options;
	vec_init(&c->all, CONNS_MAX);
	vec_init(&c->flows, CONNS_FLOWS_MAX);
	vec_init(&c->interval_records, CONNS_MAX);
	vec_init(&c->found, (size_t)RULES_MAX * (CONNS_MAX + 1));
	vec_init(&c->bursts, CONNS_MAX);
	vec_init(&c->lost_before, CONNS_MAX);
	vec_init(&c->ended, CONNS_MAX);
	vec_init(&c->counts, CONNS_COUNTS_MAX);
	vec_init(&c->missing, CONNS_MISSING_MAX);
	vec_init(&c->sentences, CONNS_SENTENCES_MAX);
	vec_init(&c->series, CONNS_SERIES_MAX);
	vec_init(&c->followed, CONNS_FOLLOWED_MAX);
	vec_init(&c->calls, CONNS_CALLS_MAX);
	for (int span = 0; span < CONNS_SPANS; span++)
		vec_init(&c->crosses[span], CONNS_CROSSES_MAX);
	c->names = event_dict_new();
	if (!c->names) {
		conns_free(c);
		return NULL;
	}
	return c;
}

void conns_free(struct conns *c)
{
	if (!c)
		return;
	vec_for_each(&c->all, conn)
		free(conn->packed);
	vec_for_each(&c->missing, what)
		free(*what);
	vec_for_each(&c->sentences, sentence)
		free(*sentence);
	vec_release(&c->all);
	vec_release(&c->flows);
	vec_release(&c->interval_records);
	vec_release(&c->found);
	vec_release(&c->bursts);
	vec_release(&c->lost_before);
	vec_release(&c->ended);
	vec_release(&c->counts);
	vec_release(&c->missing);
	vec_release(&c->sentences);
	vec_release(&c->series);
	vec_release(&c->followed);
	vec_release(&c->calls);
	for (int span = 0; span < CONNS_SPANS; span++)
		vec_release(&c->crosses[span]);
	free(c->by_key);
	free(c->by_tuple);
	free(c->by_flow);
	free(c->budget_low);
	free(c->budget_high);
	event_dict_free(c->names);
	free(c);
}

uint64_t conns_seen(const struct conns *c, bool *unseen)
{
	const struct conns_period *p = &c->periods[CONNS_TOTAL];

	*unseen = p->intervals && p->unseen == p->intervals;
	return c->n;
}

void conns_set_damage(struct conns *c, const struct event_damage *damage)
{
	c->damage = *damage;
}

void conns_set_window(struct conns *c, const struct conns_window *window)
{
	c->window = *window;
}

static void conns_begin_interval(struct conns *c)
{
	vec_for_each(&c->interval_records, record)
		c->all.items[record->conn].interval_record = 0;
	c->swept = false;
	/* Frees most memory of the first interval, in which all connections have a record. */
	vec_clear_most(&c->interval_records,
		       CONNS_INTERVAL_RECORDS_MIN);
	vec_clear_most(&c->found, CONNS_INTERVAL_RECORDS_MIN);
	vec_clear(&c->bursts);
	vec_clear(&c->crosses[CONNS_INTERVAL]);
	vec_for_each(&c->counts, count)
		count->count[CONNS_INTERVAL] = 0;
	c->periods[CONNS_INTERVAL] = (struct conns_period){ 0 };
	c->closed = false;
}

/* ---- records ---- */

static int conns_feed_fact(struct conns *c, const struct event *event)
{
	const char *key, *value;
	char *copy, **one;
	int err;

	event_fact_get(event, &key, &value);
	one = !strcmp(key, CONNS_FACT_BUDGET_LOW) ? &c->budget_low :
	      !strcmp(key, CONNS_FACT_BUDGET_HIGH) ? &c->budget_high : NULL;
	if (!one && strcmp(key, CONNS_FACT_MISSING) != 0)
		return 0;
	vec_for_each(&c->missing, known)
		if (!one && !strcmp(*known, value))
			return 0;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	if (one) {
		free(*one);
		*one = copy;
		return 0;
	}
	err = vec_push(&c->missing, copy);
	if (err)
		free(copy);
	return err;
}

static int conns_feed_flow(struct conns *c, const struct event *event)
{
	struct event_flow flow;

	event_copy(event, &flow, sizeof(flow));
	return flow.id ? conns_flow_set(c, &flow) : -EBADMSG;
}

static int conns_feed_count(struct conns *c, const struct event *event)
{
	struct event_count delta;
	int err;

	event_copy(event, &delta, sizeof(delta));
	if (delta.what >= COUNT_MAX)
		return -EBADMSG;
	if (delta.what != COUNT_LOSS && delta.what != COUNT_EXCLUDED)
		return 0;
	vec_for_each(&c->counts, count) {
		if (count->what != delta.what || count->reason != delta.reason)
			continue;
		for (int span = 0; span < CONNS_SPANS; span++)
			count->count[span] += delta.count;
		return 0;
	}
	err = vec_push(&c->counts, (struct conn_count){
		.what = delta.what, .reason = delta.reason,
		.count = { delta.count, delta.count } });
	return err;
}

static int conns_feed_loss(struct conns *c, const struct event *event)
{
	const struct event_loss *loss = event->payload;

	for (int span = 0; span < CONNS_SPANS; span++) {
		struct conns_period *p = &c->periods[span];

		*(loss->why == LOSS_DICT_FULL ? &p->names_lost : &p->lost_records) += loss->records;
	}
	return 0;
}

/*
 * Joins the two ends of connections and judges the interval's records, before the next interval
 * replaces the records.
 */
static int conns_judge_interval(struct conns *c)
{
	struct conn_services services;
	struct conn_view_buf room;
	int err;

	vec_for_each(&c->interval_records, record)
		conns_join(c, record->conn);
	err = service_gather(c, CONNS_INTERVAL, &services);
	vec_for_each(&c->interval_records, record) {
		if (err || !conns_view(c, CONNS_INTERVAL, record->conn, &room))
			continue;
		room.view.service = service_of(&services, record->conn);
		err = rules_judge_into(&room.view, &c->found, &record->judged);
		if (!err)
			c->all.items[record->conn].problem_intervals += !!record->judged.harmful;
	}
	service_release(&services);
	if (!err)
		err = incast_find(c);
	return err ? err : proxy_tick(c);
}

static int conns_feed_interval(struct conns *c, const struct event *event)
{
	struct event_interval e;
	int err;

	event_copy(event, &e, sizeof(e));
	if (e.to_ns < e.from_ns || e.to_ns > INT64_MAX)
		return -EBADMSG;
	if (!window_apply(&c->window, &e.from_ns, &e.to_ns))
		return CONNS_MORE;
	c->tick_to_ns[c->tick++ % CONNS_TICKS] = e.to_ns;
	for (int span = 0; span < CONNS_SPANS; span++) {
		struct conns_period *p = &c->periods[span];

		if (!p->intervals++)
			p->from_ns = e.from_ns;
		p->to_ns = e.to_ns;
		p->own_user_ns += e.own_user_ns;
		p->own_bpf_ns += e.own_bpf_ns;
		p->bpf_cost_unknown |= e.flags & INTERVAL_NO_BPF_COST;
		p->bpf_cost_estimated |= e.flags & INTERVAL_BPF_ESTIMATE;
		p->partial |= e.flags & INTERVAL_PARTIAL;
		p->unseen += !!(e.flags & INTERVAL_UNSEEN);
		p->late += !!(e.flags & INTERVAL_LATE);
		p->shed |= e.flags & INTERVAL_SHED;
	}
	if (!(e.flags & INTERVAL_UNSEEN))
		c->seen_to_ns = e.to_ns;
	c->closed = true;
	err = conns_judge_interval(c);
	return err ? err : CONNS_CLOSED;
}

/*
 * Handlers of the records that this analysis reads. `delta`: the record counts events of one
 * interval; the first such record after an EV_INTERVAL begins the next interval.
 */
static const struct {
	int (*feed)(struct conns *c, const struct event *event);
	bool delta;
} kinds[EV_RECORD_MAX] = {
	[EV_FACT] = { conns_feed_fact, false },
	[EV_FLOW] = { conns_feed_flow, false },
	[EV_COUNT] = { conns_feed_count, true },
	[EV_LOSS] = { conns_feed_loss, true },
	[EV_INTERVAL] = { conns_feed_interval, true },
};

static int conns_feed_record(struct conns *c, const struct event *event)
{
	int err;

	if (event->kind == EV_NAME) {
		err = event_dict_set(c->names, event);
		return err == -EINVAL ? -EBADMSG : err;
	}
	if (event->kind >= EV_RECORD_MAX || !kinds[event->kind].feed)
		return 0;
	if (kinds[event->kind].delta && c->closed)
		conns_begin_interval(c);
	return kinds[event->kind].feed(c, event);
}

/* ---- connections ---- */

static int conns_add_to_interval(struct conns *c, struct conn *conn, const struct event_conn *e)
{
	struct conn_interval_record *record;
	int err;

	conn->tick = (uint32_t)c->tick;
	if (conn->interval_record) {
		conn_accumulate_next(&c->interval_records.items[conn->interval_record - 1].c, e);
		return 0;
	}
	err = vec_reserve(&c->interval_records, c->interval_records.len + 1);
	if (err)
		return err;
	record = &c->interval_records.items[c->interval_records.len++];
	record->c = *e;
	record->conn = (uint32_t)(conn - c->all.items);
	record->judged = (struct conn_judged){ 0 };
	conn->interval_record = (uint32_t)c->interval_records.len;
	return 0;
}

/*
 * Adds a record of the connection of --follow; if their list is full, drops its oldest half. The
 * record is judged without the other end's record, whose intervals differ.
 */
static int conns_add_to_followed(struct conns *c, const struct conn *conn,
				 const struct event_conn *e)
{
	const size_t half = c->followed.max / 2;
	struct conn_problem problems[RULES_MAX];
	struct conn_view view = { .c = e };

	if (!c->options.follows || e->cookie != c->options.follow)
		return 0;
	if (c->followed.len == c->followed.max) {
		memmove(c->followed.items, c->followed.items + half,
			(c->followed.len - half) * sizeof(c->followed.items[0]));
		c->followed.len -= half;
		c->followed_dropped += half;
	}
	rules_judge(&view, problems);
	return vec_push(&c->followed, (struct conn_interval_record){
		.c = *e, .conn = (uint32_t)(conn - c->all.items),
		.judged = view.judged });
}

static int conns_add_to_total(struct conn *conn, const struct event_conn *e)
{
	struct event_conn sum;
	int err;

	if (conn->used) {
		conn_unpack(conn, &sum);
		conn_accumulate_next(&sum, e);
	} else {
		sum = *e;
	}
	err = conn_pack(conn, &sum);
	conn->used |= !err;
	return err;
}

static int conns_feed_conn(struct conns *c, const struct event_conn *e)
{
	struct conn *conn;
	int err;

	if (c->closed)
		conns_begin_interval(c);
	if (!conn_accumulate_accepts(e))
		return -EBADMSG;
	if (e->flags & CONN_SELF) {
		for (int span = 0; span < CONNS_SPANS; span++)
			c->periods[span].own++;
		return 0;
	}
	conn = conns_get(c, e, &err);
	if (!conn)
		return err;
	c->from_diag |= !!(e->flags & CONN_FROM_DIAG);
	err = conns_add_to_total(conn, e);
	if (!err && (e->flags & CONN_CLOSED))
		err = conns_note_closed(c, conn);
	if (!err)
		err = incast_add(c, conn, e);
	if (!err)
		err = conns_add_to_interval(c, conn, e);
	return err ? err : conns_add_to_followed(c, conn, e);
}

/* ---- blocks ---- */

/* Counts a refused event. Only -ENOMEM ends the analysis: other errors become CONNS_MORE. */
static int conns_note_refused(struct conns *c, int result)
{
	for (int span = 0; result < 0 && span < CONNS_SPANS; span++) {
		c->periods[span].refused += result == -EBADMSG;
		c->periods[span].beyond += result == -E2BIG;
	}
	return result == -E2BIG || result == -EBADMSG ? CONNS_MORE : result;
}

static int conns_feed_conns(struct conns *c, const struct event_block *block, size_t *at)
{
	int err = 0;

	for (; !err && *at < block->count; ++*at) {
		struct event_conn moved;
		const struct event_conn *e = event_block_record(block, (uint32_t)*at, &moved,
								sizeof(moved));

		if (c->window.to) {
			if (e != &moved)
				moved = *e;
			if (!window_apply_conn(&c->window, &moved))
				continue;
			e = &moved;
		}
		err = conns_note_refused(c, conns_feed_conn(c, e));
	}
	return err;
}

static int conns_feed_calls(struct conns *c, const struct event_block *block, size_t *at)
{
	struct event_call call;
	int err = 0;

	for (; !err && c->options.follows && *at < block->count; ++*at) {
		event_block_copy(block, (uint32_t)*at, &call, sizeof(call));
		err = calls_add(c, &call);
	}
	return err;
}

int conns_feed_block(struct conns *c, const struct event_block *block, size_t *at)
{
	struct event event;
	int result = CONNS_MORE;

	if (block->kind == EV_CONN)
		return conns_feed_conns(c, block, at);
	if (block->kind == EV_CALL)
		return conns_feed_calls(c, block, at);
	if (block->record_size)
		return CONNS_MORE;
	while (result == CONNS_MORE && event_block_next(block, at, &event))
		result = conns_note_refused(c, conns_feed_record(c, &event));
	return result;
}
