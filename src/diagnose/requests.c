/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/requests.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/sort.h"
#include "diagnose/conn_queue.h"
#include "report/human.h"

static const char *const part_names[REQUEST_PARTS] = {
	[REQUEST_CLIENT] = "client", [REQUEST_NETWORK] = "network",
	[REQUEST_SERVER] = "server", [REQUEST_UNEXPLAINED] = "unexplained",
};

/* ---- samples of the load ---- */

/*
 * Requests of the load, even failed and warm-up ones: they occupy their connection from `sent` to
 * `done`.
 */
struct samples VEC_OF(struct event_sample);

struct load_side {
	struct samples samples; /* requests by flow, then by the time at which they were sent */
	bool *queued;           /* by sample: the request waited for a slot on a connection */
	struct flows flows;
	uint64_t connections, outstanding; /* number of connections; requests that each may have
					    * outstanding; 0: unknown */
	uint64_t beyond;
};

static bool requests_sample_counts(const struct event_sample *s)
{
	return !(s->flags & (SAMPLE_FAILED | SAMPLE_WARMUP));
}

bool request_counts(const struct event_sample *sample)
{
	return requests_sample_counts(sample) && !(sample->flags & SAMPLE_UNSENT) &&
	       sample->intended <= sample->sent && sample->sent <= sample->done;
}

static int requests_add_sample(struct load_side *load, const struct event_block *block, uint32_t i)
{
	struct event_sample sample;
	int err;

	event_block_copy(block, i, &sample, sizeof(sample));
	if (sample.flags & SAMPLE_UNSENT || sample.intended > sample.sent ||
	    sample.sent > sample.done)
		return 0;
	err = vec_push(&load->samples, sample);
	if (err != -E2BIG)
		return err;
	load->beyond += requests_sample_counts(&sample);
	return 0;
}

static void requests_add_fact(struct load_side *load, const struct event *event)
{
	const char *key, *value;

	event_fact_get(event, &key, &value);
	if (!strcmp(key, "load.connections"))
		parse_u64(value, &load->connections);
	else if (!strcmp(key, "load.outstanding"))
		parse_u64(value, &load->outstanding);
}

static int requests_add_block(struct load_side *load, const struct event_block *block)
{
	struct event event;
	size_t at = 0;
	int err = 0;

	if (block->kind == EV_SAMPLE)
		for (uint32_t i = 0; i < block->count && !err; i++)
			err = requests_add_sample(load, block, i);
	if (block->record_size)
		return err;
	while (!err && event_block_next(block, &at, &event)) {
		if (event.kind == EV_FLOW)
			err = vec_push(&load->flows,
				       *(const struct event_flow *)event.payload);
		else if (event.kind == EV_FACT)
			requests_add_fact(load, &event);
	}
	return err == -E2BIG ? 0 : err;
}

static int requests_order_by_sent(const void *a, const void *b)
{
	const struct event_sample *x = a, *y = b;

	return sort_order(x->flow, y->flow) ?: sort_order(x->sent, y->sent) ?:
	       sort_order(x->tx_offset, y->tx_offset);
}

static int requests_read_load(struct load_side *load, struct event_reader *reader)
{
	struct event_source *source = event_reader_source(reader);
	struct event_block block;
	int err = event_source_rewind(source);

	while (!err && (err = event_source_next(source, &block)) > 0)
		err = requests_add_block(load, &block);
	recorded_flows_sort(&load->flows);
	if (load->samples.len)
		qsort(load->samples.items, load->samples.len, sizeof(*load->samples.items),
		      requests_order_by_sent);
	if (err)
		return err;
	load->queued = calloc(load->samples.len + 1, sizeof(*load->queued));
	if (!load->queued)
		return -ENOMEM;
	if (!load->connections || !load->outstanding)
		return 0;
	return conn_queue_find(load->samples.items, load->samples.len,
			       load->connections * load->outstanding, load->queued);
}

/* ---- messages of the server ---- */

/* An event on a flow: the arrival of a message, or a send call. */
struct mark {
	uint32_t flow;
	bool sends;
	uint64_t at;
	uint32_t place;  /* index of the message that arrived */
};

struct marks VEC_OF(struct mark);

struct server_side {
	const struct recorded *recorded;
	struct marks marks;
	struct flows flows;  /* sorted by the client's port */
};

static int requests_order_by_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return sort_order(x->flow, y->flow) ?: sort_order(x->at, y->at) ?:
	       sort_order(x->place, y->place);
}

static int requests_order_by_port(const void *a, const void *b)
{
	const struct event_flow *x = a, *y = b;

	return sort_order(x->remote_port, y->remote_port) ?: sort_order(x->id, y->id);
}

static int requests_read_server(struct server_side *server, const struct recorded *recorded)
{
	const struct messages *all = &recorded->messages;
	struct marks *marks = &server->marks;
	int err;

	server->recorded = recorded;
	vec_init(marks, all->all.len + all->sends.len + 1);
	vec_init(&server->flows, FLOWS_MAX);
	err = vec_reserve(marks, all->all.len + all->sends.len + 1);
	if (!err)
		err = vec_reserve(&server->flows, recorded->flows.len);
	if (err)
		return err;
	for (uint32_t i = 0; i < all->all.len; i++)
		vec_push(marks, (struct mark){ .flow = all->all.items[i].flow,
					       .at = all->all.items[i].first, .place = i });
	vec_for_each(&all->sends, s)
		vec_push(marks, (struct mark){ .flow = s->flow, .at = s->at, .sends = true });
	if (marks->len)
		qsort(marks->items, marks->len, sizeof(*marks->items), requests_order_by_time);
	vec_for_each(&recorded->flows, flow)
		vec_push(&server->flows, *flow);
	if (server->flows.len)
		qsort(server->flows.items, server->flows.len, sizeof(*server->flows.items),
		      requests_order_by_port);
	return 0;
}

static bool requests_are_ends(const struct event_flow *a, const struct event_flow *b)
{
	return a->local_port == b->remote_port && a->remote_port == b->local_port &&
	       a->family == b->family && !memcmp(a->local, b->remote, sizeof(a->local)) &&
	       !memcmp(a->remote, b->local, sizeof(a->remote));
}

/* Returns the index of the flow's first event (arrival or send call) at or after `time`. */
static size_t requests_first_mark(const struct marks *marks, uint32_t flow, uint64_t time)
{
	const struct mark key = { .flow = flow, .at = time };

	return sort_first(i, 0, marks->len, requests_order_by_time(&marks->items[i], &key) >= 0);
}

/* Times of one request on the server. */
struct found_message {
	const struct message *message;
	uint64_t reply; /* time at which the reply to the request was sent, in ns; 0: unknown */
	bool several;
	const char *why;
};

static const char several_came[] = "several messages arrived on the connection while the request "
				   "was outstanding";

/*
 * Finds the only message that arrived on the flow while the request was outstanding. With several
 * it is unknown which one is the request.
 */
static void requests_look_on(const struct server_side *server, uint32_t flow,
			     const struct event_sample *s, struct found_message *found)
{
	const struct marks *marks = &server->marks;

	for (size_t i = requests_first_mark(marks, flow, s->sent); i < marks->len; i++) {
		const struct mark *mark = &marks->items[i];

		if (mark->flow != flow || mark->at > s->done)
			return;
		if (mark->sends) {
			if (found->message && !found->reply)
				found->reply = mark->at;
			continue;
		}
		if (found->message) {
			/*
			 * With several messages, the reply may answer another request than this
			 * one.
			 */
			*found = (struct found_message){ .several = true, .why = several_came };
			return;
		}
		found->message = &server->recorded->messages.all.items[mark->place];
		found->why = NULL;
	}
}

/* Returns the index of the first flow with that remote port or a higher one. */
static size_t requests_first_flow(const struct flows *flows, uint16_t port)
{
	return sort_first(i, 0, flows->len, flows->items[i].remote_port >= port);
}

static struct found_message requests_find_message(const struct server_side *server,
						  const struct load_side *load,
						  const struct event_sample *s)
{
	struct found_message found = { .why = "no message arrived on the connection while the "
					      "request was outstanding" };
	const struct event_flow *ours = recorded_flows_find(&load->flows, s->flow), *theirs;

	if (!ours) {
		found.why = "the connection's addresses were not recorded";
		return found;
	}
	/*
	 * All flows with the connection's port are searched: a connection may have several flow
	 * numbers.
	 */
	for (size_t i = requests_first_flow(&server->flows, ours->local_port);
	     i < server->flows.len && !found.message && !found.several; i++) {
		theirs = &server->flows.items[i];
		if (theirs->remote_port != ours->local_port)
			break;
		if (requests_are_ends(ours, theirs))
			requests_look_on(server, theirs->id, s, &found);
	}
	return found;
}

/* ---- parts of a request ---- */

/* Adds to parts[part] the ns in which begin..end and from..to overlap. */
static void requests_charge(uint64_t parts[REQUEST_PARTS], enum request_part part, uint64_t begin,
			    uint64_t end, uint64_t from, uint64_t to)
{
	if (begin < from)
		begin = from;
	if (end > to)
		end = to;
	if (begin < end)
		parts[part] += end - begin;
}

/*
 * Divides from..to, which lies between the sending of a request and its completion, at the times
 * that client and server recorded. A time that contradicts the others counts as unknown.
 */
static void requests_divide(const struct event_sample *s, const struct found_message *found,
			    uint64_t from, uint64_t to, uint64_t parts[REQUEST_PARTS])
{
	const uint64_t handed = s->snd_ns ? s->sent + s->snd_ns : 0;
	const uint64_t received = s->rx_ns ? s->done - s->rx_ns : 0;
	const struct message *m = found->message;
	uint64_t at = s->sent;
	const struct {
		uint64_t time;
		enum request_part part;
	} stamps[] = {
		{ handed, REQUEST_CLIENT },
		{ m ? m->first : 0, handed ? REQUEST_NETWORK : REQUEST_UNEXPLAINED },
		{ found->reply, m ? REQUEST_SERVER : REQUEST_UNEXPLAINED },
		{ received, found->reply ? REQUEST_NETWORK : REQUEST_UNEXPLAINED },
		{ s->done, received ? REQUEST_CLIENT : REQUEST_UNEXPLAINED },
	};

	for (size_t i = 0; i < ARRAY_LEN(stamps); i++) {
		/*
		 * On one host a packet may arrive before its sender's driver is done: then the
		 * later time counts.
		 */
		const uint64_t time = stamps[i].time < at ? at : stamps[i].time;

		if (!stamps[i].time || time > s->done)
			continue;
		requests_charge(parts, stamps[i].part, at, time, from, to);
		at = time;
	}
}

/*
 * Divides the time from `intended` to `sent`. A request that waited for a connection is charged
 * like the requests that the connection carried meanwhile.
 */
static void requests_divide_wait(const struct server_side *server, const struct load_side *load,
				 size_t i, uint64_t parts[REQUEST_PARTS])
{
	const struct event_sample *s = &load->samples.items[i];
	uint64_t to = s->sent;

	for (size_t j = i; load->queued[i] && to > s->intended && j > 0; j--) {
		const struct event_sample *before = &load->samples.items[j - 1];
		const uint64_t from = before->sent > s->intended ? before->sent : s->intended;
		const uint64_t end = before->done < to ? before->done : to;
		struct found_message found;

		if (before->flow != s->flow || before->done <= s->intended)
			break;
		if (from >= end)
			continue;
		found = requests_find_message(server, load, before);
		requests_divide(before, &found, from, end, parts);
		parts[REQUEST_CLIENT] += to - end;
		to = from;
	}
	parts[REQUEST_CLIENT] += to - s->intended;
}

/* ---- slowest requests ---- */

static int requests_by_latency(const void *a, const void *b)
{
	const struct event_sample *x = *(const struct event_sample *const *)a;
	const struct event_sample *y = *(const struct event_sample *const *)b;
	const uint64_t lx = x->done - x->intended, ly = y->done - y->intended;

	return sort_order(ly, lx) ?: sort_order(x->intended, y->intended);
}

static struct slow_request requests_join_one(const struct server_side *server,
					     const struct load_side *load,
					     const struct event_sample *s)
{
	const struct found_message found = requests_find_message(server, load, s);
	struct slow_request request = { .intended = s->intended,
				   .latency = s->done - s->intended,
				   .message = found.message ? found.message->id : 0,
				   .why = found.why };

	requests_divide_wait(server, load, (size_t)(s - load->samples.items), request.parts);
	requests_divide(s, &found, s->sent, s->done, request.parts);
	return request;
}

static int requests_join_slowest(struct requests *out, const struct load_side *load,
				 const struct server_side *server, double share)
{
	const struct event_sample **order = calloc(load->samples.len + 1, sizeof(*order));
	size_t n = 0, most;
	int err = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < load->samples.len && !err; i++)
		if (requests_sample_counts(&load->samples.items[i]))
			order[n++] = &load->samples.items[i];
	if (n)
		qsort(order, n, sizeof(*order), requests_by_latency);
	most = (size_t)ceil((double)n * share);
	if (most > REQUESTS_SHOWN)
		most = REQUESTS_SHOWN;
	for (size_t i = 0; i < most && !err; i++) {
		const struct slow_request request = requests_join_one(server, load, order[i]);

		out->at = request.latency;
		err = vec_push(&out->slowest, request);
	}
	free(order);
	return err;
}

static int requests_note_latency(struct requests *out, const struct load_side *load)
{
	int err = 0;

	out->count = out->beyond = load->beyond;
	for (size_t i = 0; i < load->samples.len && !err; i++) {
		const struct event_sample *s = &load->samples.items[i];

		if (!requests_sample_counts(s))
			continue;
		out->count++;
		err = hist_record(&out->latency, s->done - s->intended);
	}
	return err;
}

int requests_join(struct requests *out, struct event_reader *load, const struct recorded *server,
		  double share)
{
	struct server_side theirs = { 0 };
	struct load_side ours = { 0 };
	int err;

	*out = (struct requests){ 0 };
	vec_init(&out->slowest, REQUESTS_SHOWN);
	hist_init(&out->latency, LATENCY_SCHEMA);
	vec_init(&ours.samples, REQUESTS_MAX);
	vec_init(&ours.flows, FLOWS_MAX);
	err = requests_read_load(&ours, load);
	if (!err)
		err = requests_read_server(&theirs, server);
	if (!err)
		err = requests_note_latency(out, &ours);
	if (!err)
		err = requests_join_slowest(out, &ours, &theirs, share);
	vec_release(&theirs.marks);
	vec_release(&theirs.flows);
	vec_release(&ours.samples);
	vec_release(&ours.flows);
	free(ours.queued);
	return err;
}

void requests_release(struct requests *requests)
{
	vec_release(&requests->slowest);
	hist_release(&requests->latency);
}

/* ---- the report ---- */

static const struct column request_columns[] = {
	{ "intended_ns", NULL, 0, 0 }, { "latency_ns", NULL, 0, 0 },
	{ "client_ns", NULL, 0, 0 },   { "network_ns", NULL, 0, 0 },
	{ "server_ns", NULL, 0, 0 },   { "unexplained_ns", NULL, 0, 0 },
	{ "message", NULL, 0, 0 },     { "why", NULL, 0, 0 },
};

static void requests_add_finding(const struct requests *requests,
				 const uint64_t parts[REQUEST_PARTS], struct report *r)
{
	char count[HUMAN_MAX], from[HUMAN_MAX], shares[REQUEST_PARTS][HUMAN_MAX];
	uint64_t all = 0;

	for (int i = 0; i < REQUEST_PARTS; i++)
		all += parts[i];
	for (int i = 0; i < REQUEST_PARTS; i++)
		human_fraction(shares[i], all ? (double)parts[i] / (double)all : 0);
	if (all)
		report_finding(r, "The %s slowest requests, from %s on: server %s, network %s, "
			       "client %s, unexplained %s.",
			       human_count(count, requests->slowest.len),
			       human_ns(from, requests->at), shares[REQUEST_SERVER],
			       shares[REQUEST_NETWORK], shares[REQUEST_CLIENT],
			       shares[REQUEST_UNEXPLAINED]);
}

void requests_report(const struct requests *requests, struct report *r)
{
	struct table *t = table_new(r, request_columns, ARRAY_LEN(request_columns));
	struct object *o = object_new(r), *sums = object_new(r);
	uint64_t parts[REQUEST_PARTS] = { 0 }, joined = 0;

	vec_for_each(&requests->slowest, q) {
		for (int i = 0; i < REQUEST_PARTS; i++)
			parts[i] += q->parts[i];
		joined += q->message != 0;
		TABLE_ADD(t, value_ns(q->intended), value_ns(q->latency),
			  value_ns(q->parts[REQUEST_CLIENT]), value_ns(q->parts[REQUEST_NETWORK]),
			  value_ns(q->parts[REQUEST_SERVER]),
			  value_ns(q->parts[REQUEST_UNEXPLAINED]),
			  q->message ? value_u64(q->message) : value_null(),
			  value_string(q->why));
	}
	requests_add_finding(requests, parts, r);
	object_add(o, "count", value_u64(requests->count));
	object_add(o, "slowest", value_u64(requests->slowest.len));
	object_add(o, "joined", value_u64(joined));
	object_add(o, "latency", value_distribution(r, &requests->latency));
	for (int i = 0; i < REQUEST_PARTS; i++)
		object_add(sums, report_format(r, "%s_ns", part_names[i]),
			   value_ns(parts[i]));
	object_add(o, "parts", value_object(sums));
	object_add(o, "each", value_table(t));
	object_add(&r->body, "requests", value_object(o));
}
