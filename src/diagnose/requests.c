/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/requests.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "report/human.h"

const char *request_part_name(enum request_part part)
{
	static const char *const names[REQUEST_PARTS] = {
		[REQUEST_CLIENT] = "client", [REQUEST_NETWORK] = "network",
		[REQUEST_SERVER] = "server", [REQUEST_UNEXPLAINED] = "unexplained",
	};

	return names[part];
}

/* ---- the load's side ---- */

struct samples VEC_OF(struct event_sample);

struct load_side {
	struct samples samples;
	struct flows flows;
	uint64_t beyond;
};

static int take_sample(struct load_side *load, const struct event_block *block, uint32_t i)
{
	struct event_sample sample;
	int err;

	event_block_copy(block, i, &sample, sizeof(sample));
	if (sample.flags & (SAMPLE_FAILED | SAMPLE_WARMUP | SAMPLE_UNSENT) ||
	    sample.intended > sample.sent || sample.sent > sample.done)
		return 0;
	err = vec_push(&load->samples, sample);
	if (err != -E2BIG)
		return err;
	load->beyond++;
	return 0;
}

static int take_block(struct load_side *load, const struct event_block *block)
{
	struct event event;
	size_t at = 0;
	int err = 0;

	if (block->kind == EV_SAMPLE)
		for (uint32_t i = 0; i < block->count && !err; i++)
			err = take_sample(load, block, i);
	if (block->record_size)
		return err;
	while (!err && event_block_next(block, &at, &event))
		if (event.kind == EV_FLOW)
			err = vec_push(&load->flows,
				       *(const struct event_flow *)event.payload);
	return err == -E2BIG ? 0 : err;
}

static int read_load(struct load_side *load, struct event_reader *reader)
{
	struct event_source *source = event_reader_source(reader);
	struct event_block block;
	int err = event_source_rewind(source);

	vec_init(&load->samples, REQUESTS_MAX);
	vec_init(&load->flows, FLOWS_MAX);
	while (!err && (err = event_source_next(source, &block)) > 0)
		err = take_block(load, &block);
	flows_sort(&load->flows);
	return err;
}

/* ---- the server's side ---- */

/* What happened on one flow at a time: a message's arrival, or a send. */
struct mark {
	uint32_t flow;
	bool sends;
	uint64_t at;
	uint32_t place;  /* of the message */
};

struct marks VEC_OF(struct mark);

static int by_flow_and_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int mark_server(struct marks *marks, const struct recorded *server)
{
	const struct messages *all = &server->messages;
	int err;

	vec_init(marks, all->all.len + all->sends.len + 1);
	err = vec_reserve(marks, all->all.len + all->sends.len + 1);
	if (err)
		return err;
	for (uint32_t i = 0; i < all->all.len; i++)
		vec_push(marks, (struct mark){ .flow = all->all.items[i].flow,
					       .at = all->all.items[i].first, .place = i });
	vec_for_each(&all->sends, s)
		vec_push(marks, (struct mark){ .flow = s->flow, .at = s->at, .sends = true });
	qsort(marks->items, marks->len, sizeof(*marks->items), by_flow_and_time);
	return 0;
}

static bool are_ends(const struct event_flow *a, const struct event_flow *b)
{
	return a->local_port == b->remote_port && a->remote_port == b->local_port &&
	       a->family == b->family && !memcmp(a->local, b->remote, sizeof(a->local)) &&
	       !memcmp(a->remote, b->local, sizeof(a->remote));
}

/* The first mark of a flow that is not before `time`. */
static size_t first_mark(const struct marks *marks, uint32_t flow, uint64_t time)
{
	const struct mark key = { .flow = flow, .at = time };
	size_t low = 0, high = marks->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_flow_and_time(&marks->items[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What the server has of one request. */
struct found {
	const struct message *message;
	uint64_t reply;      /* when its reply was sent; 0 = not known */
	const char *why;
};

/*
 * The messages that came on its flow while the request was out: exactly one must have, or which of
 * them it was can't be told.
 */
static void look_on(const struct marks *marks, const struct recorded *server, uint32_t flow,
		    const struct event_sample *s, struct found *found)
{
	for (size_t i = first_mark(marks, flow, s->sent); i < marks->len; i++) {
		const struct mark *mark = &marks->items[i];

		if (mark->flow != flow || mark->at > s->done)
			return;
		if (mark->sends) {
			if (found->message && !found->reply)
				found->reply = mark->at;
			continue;
		}
		if (found->message) {
			found->message = NULL;
			found->why = "several messages came on its connection meanwhile";
			return;
		}
		found->message = &server->messages.all.items[mark->place];
		found->why = NULL;
	}
}

static struct found find(const struct marks *marks, const struct recorded *server,
			 const struct load_side *load, const struct event_sample *s)
{
	struct found found = { .why = "no message came on its connection meanwhile" };
	const struct event_flow *ours = flows_find(&load->flows, s->flow);

	if (!ours) {
		found.why = "its connection's addresses were not recorded";
		return found;
	}
	/* a flow may have several numbers */
	vec_for_each(&server->flows, theirs)
		if (are_ends(ours, theirs) && !found.message)
			look_on(marks, server, theirs->id, s, &found);
	return found;
}

/* ---- the parts ---- */

/* A stamp that contradicts the others counts as unknown. */
static void split(const struct event_sample *s, const struct found *found, struct request *out)
{
	const uint64_t handed = s->snd_ns ? s->sent + s->snd_ns : 0;
	const uint64_t received = s->rx_ns ? s->done - s->rx_ns : 0;
	const struct message *m = found->message;
	uint64_t at = s->intended;
	const struct {
		uint64_t time;
		enum request_part part;
	} stamps[] = {
		{ s->sent, REQUEST_CLIENT },
		{ handed, REQUEST_CLIENT },
		{ m ? m->first : 0, handed ? REQUEST_NETWORK : REQUEST_UNEXPLAINED },
		{ found->reply, m ? REQUEST_SERVER : REQUEST_UNEXPLAINED },
		{ received, found->reply ? REQUEST_NETWORK : REQUEST_UNEXPLAINED },
		{ s->done, received ? REQUEST_CLIENT : REQUEST_UNEXPLAINED },
	};

	for (size_t i = 0; i < ARRAY_LEN(stamps); i++) {
		/* on the same host a packet may be there before its sender's driver is done */
		const uint64_t time = stamps[i].time < at ? at : stamps[i].time;

		if (!stamps[i].time || time > s->done)
			continue;
		out->parts[stamps[i].part] += time - at;
		at = time;
	}
}

/* ---- the slowest ---- */

static int slowest_first(const void *a, const void *b)
{
	const struct event_sample *x = a, *y = b;
	const uint64_t lx = x->done - x->intended, ly = y->done - y->intended;

	if (lx != ly)
		return lx > ly ? -1 : 1;
	return x->intended < y->intended ? -1 : x->intended > y->intended;
}

static int join_slowest(struct requests *out, struct load_side *load, const struct marks *marks,
			const struct recorded *server, double share)
{
	size_t n = (size_t)ceil((double)load->samples.len * share);
	int err = 0;

	if (n > REQUESTS_SHOWN)
		n = REQUESTS_SHOWN;
	if (load->samples.len)
		qsort(load->samples.items, load->samples.len, sizeof(*load->samples.items),
		      slowest_first);
	for (size_t i = 0; i < n && !err; i++) {
		const struct event_sample *s = &load->samples.items[i];
		const struct found found = find(marks, server, load, s);
		struct request request = { .intended = s->intended,
					   .latency = s->done - s->intended,
					   .message = found.message ? found.message->id : 0,
					   .why = found.why };

		split(s, &found, &request);
		out->at = request.latency;
		err = vec_push(&out->slowest, request);
	}
	return err;
}

int requests_join(struct requests *out, struct event_reader *load, const struct recorded *server,
		  double share)
{
	struct load_side side = { 0 };
	struct marks marks = { 0 };
	int err;

	*out = (struct requests){ 0 };
	vec_init(&out->slowest, REQUESTS_SHOWN);
	hist_init(&out->latency, LATENCY_SCHEMA);
	err = read_load(&side, load);
	if (!err)
		err = mark_server(&marks, server);
	for (size_t i = 0; i < side.samples.len && !err; i++)
		err = hist_record(&out->latency, side.samples.items[i].done -
				  side.samples.items[i].intended);
	out->count = side.samples.len + side.beyond;
	out->beyond = side.beyond;
	if (!err)
		err = join_slowest(out, &side, &marks, server, share);
	vec_release(&marks);
	vec_release(&side.samples);
	vec_release(&side.flows);
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

static void say(const struct requests *requests, const uint64_t parts[REQUEST_PARTS],
		struct report *r)
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
	say(requests, parts, r);
	object_add(o, "count", value_u64(requests->count));
	object_add(o, "slowest", value_u64(requests->slowest.len));
	object_add(o, "joined", value_u64(joined));
	object_add(o, "latency", value_distribution(r, &requests->latency));
	for (int i = 0; i < REQUEST_PARTS; i++)
		object_add(sums, report_format(r, "%s_ns", request_part_name(i)),
			   value_ns(parts[i]));
	object_add(o, "parts", value_object(sums));
	object_add(o, "each", value_table(t));
	object_add(&r->body, "requests", value_object(o));
}
