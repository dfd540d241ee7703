/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/requests.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/sort.h"
#include "diagnose/load_side.h"

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

/*
 * Earlier requests of its connection whose threads' times are stored for one that waited for it, at
 * most: what the threads did behind more of them, thousands in an overload, is taken as alike.
 */
#define WAIT_STEPS 32u
/* Times of threads of one request, at most: 4 for each earlier request, and 4 of its own. */
#define TIMES_MAX  (5u * (WAIT_STEPS + 2))

/* The requests of both sides, while they are divided. */
struct joining {
	const struct load_side *load;
	const struct server_side *server;
	struct requests *out;
	/*
	 * By sample, the sums of the parts of all samples before: each from its own sending until
	 * that of the connection's next sample. NULL until a request waits for over WAIT_STEPS.
	 */
	uint64_t (*sums)[REQUEST_PARTS];
};

/* A request that is divided, and where its threads' stretches go. */
struct dividing {
	struct joining *joining;
	struct slow_request *request;
	uint32_t subject;      /* the request's index in out->chosen */
	uint32_t steps;        /* number of earlier requests that were looked at */
	int err;
};

static void requests_add_time(struct dividing *d, uint32_t tid, enum where where, uint64_t from,
			      uint64_t to)
{
	const struct thread_time time = { .from = from, .to = to, .tid = tid,
					  .subject = d->subject, .where = (uint8_t)where };

	if (from < to && d->steps <= WAIT_STEPS && !d->err)
		d->err = vec_push(&d->joining->out->times, time);
}

static void requests_charge_client(struct dividing *d, const struct event_sample *s, uint64_t from,
				   uint64_t to)
{
	d->request->parts[REQUEST_CLIENT] += to - from;
	requests_add_time(d, load_side_tid(d->joining->load, s->flow), WHERE_CLIENT, from, to);
}

/*
 * Charges the server's time from..to on a message. Of the request's own message, the time up to its
 * read is divided with the messages; other time is that of the thread that read it.
 */
static void requests_charge_server(struct dividing *d, const struct message *m, bool own,
				   uint64_t from, uint64_t to)
{
	const uint64_t begin = own && m->read > from ? m->read : from;

	d->request->parts[REQUEST_SERVER] += to - from;
	if (begin >= to)
		return;
	requests_add_time(d, m->tid, WHERE_APPLICATION, begin, to);
	d->request->read_ns += to - begin;
}

/*
 * Divides from..to, which lies between the sending of a request and its completion, at the times
 * that client and server recorded. A time that contradicts the others counts as unknown. `own`: it
 * is the divided request itself, not an earlier one for whose connection it waited.
 */
static void requests_divide(struct dividing *d, const struct event_sample *s,
			    const struct found_message *found, bool own, uint64_t from,
			    uint64_t to)
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
		const uint64_t begin = at > from ? at : from, end = time < to ? time : to;

		if (!stamps[i].time || time > s->done)
			continue;
		at = time;
		if (begin >= end)
			continue;
		if (stamps[i].part == REQUEST_CLIENT)
			requests_charge_client(d, s, begin, end);
		else if (stamps[i].part == REQUEST_SERVER)
			requests_charge_server(d, m, own, begin, end);
		else
			d->request->parts[stamps[i].part] += end - begin;
	}
}

/* Divides the time from which a sample had its connection, `from`, until the next one had it. */
static void requests_divide_turn(struct dividing *d, const struct event_sample *s, uint64_t from,
				 uint64_t next)
{
	const struct joining *j = d->joining;
	const uint64_t end = s->done < next ? s->done : next;
	struct found_message found;

	d->steps++;
	found = requests_find_message(j->server, j->load, s);
	requests_divide(d, s, &found, false, from, end);
	requests_charge_client(d, s, end, next);
}

/* Fills in `sums`. Returns 0 or -ENOMEM. */
static int requests_sum_turns(struct joining *j)
{
	const struct event_sample *samples = j->load->samples.items;
	const size_t n = j->load->samples.len;

	j->sums = j->sums ?: calloc(n + 1, sizeof(*j->sums));
	for (size_t i = 0; j->sums && i < n; i++) {
		struct slow_request turn = { 0 };
		/* Its threads' times are not stored. */
		struct dividing d = { .joining = j, .request = &turn, .steps = WAIT_STEPS };

		if (i + 1 < n && samples[i + 1].flow == samples[i].flow)
			requests_divide_turn(&d, &samples[i], samples[i].sent, samples[i + 1].sent);
		for (int part = 0; part < REQUEST_PARTS; part++)
			j->sums[i + 1][part] = j->sums[i][part] + turn.parts[part];
	}
	return j->sums ? 0 : -ENOMEM;
}

/*
 * Divides the time from `intended` until sample `at` was sent, by the samples before that on the
 * request's connection.
 */
static void requests_divide_earlier(struct dividing *d, const struct event_sample *s, size_t at)
{
	struct joining *j = d->joining;
	const struct event_sample *samples = j->load->samples.items;
	const size_t first = sort_first(i, 0, at, samples[i].flow == s->flow &&
					samples[i].sent > s->intended);

	if (!j->sums && !d->err)
		d->err = requests_sum_turns(j);
	if (d->err)
		return;
	for (int part = 0; part < REQUEST_PARTS; part++) {
		const uint64_t ns = j->sums[at][part] - j->sums[first][part];

		d->request->parts[part] += ns;
		d->request->read_ns += part == REQUEST_SERVER ? ns : 0;
	}
	if (first && samples[first - 1].flow == s->flow && samples[first - 1].done > s->intended)
		requests_divide_turn(d, &samples[first - 1], s->intended, samples[first].sent);
	else
		requests_charge_client(d, s, s->intended, samples[first].sent);
}

/*
 * Divides the time from `intended` to `sent`. A request that waited for a connection is charged
 * like the requests that the connection carried meanwhile.
 */
static void requests_divide_wait(struct dividing *d, size_t i)
{
	const struct load_side *load = d->joining->load;
	const struct event_sample *s = &load->samples.items[i];
	uint64_t to = s->sent;

	for (size_t j = i; load->queued[i] && to > s->intended && j > 0; j--) {
		const struct event_sample *before = &load->samples.items[j - 1];
		const uint64_t from = before->sent > s->intended ? before->sent : s->intended;

		if (before->flow != s->flow || before->done <= s->intended)
			break;
		if (d->steps == WAIT_STEPS) {
			requests_divide_earlier(d, s, j);
			to = s->intended;
			break;
		}
		if (from >= (before->done < to ? before->done : to))
			continue;
		requests_divide_turn(d, before, from, to);
		to = from;
	}
	requests_charge_client(d, s, s->intended, to);
	d->steps = 0;
}

/* ---- slowest requests ---- */

static int requests_by_latency(const void *a, const void *b)
{
	const struct event_sample *x = *(const struct event_sample *const *)a;
	const struct event_sample *y = *(const struct event_sample *const *)b;
	const uint64_t lx = x->done - x->intended, ly = y->done - y->intended;

	return sort_order(ly, lx) ?: sort_order(x->intended, y->intended);
}

static int requests_join_one(struct joining *j, const struct event_sample *s)
{
	const struct found_message found = requests_find_message(j->server, j->load, s);
	struct slow_request request = { .intended = s->intended,
				   .latency = s->done - s->intended,
				   .message = found.message ? found.message->id : 0,
				   .why = found.why };
	struct dividing d = { .joining = j, .request = &request,
			      .subject = (uint32_t)j->out->chosen.len };

	if (found.message)
		request.place = 1 + (uint32_t)(found.message -
					       j->server->recorded->messages.all.items);
	requests_divide_wait(&d, (size_t)(s - j->load->samples.items));
	requests_divide(&d, s, &found, true, s->sent, s->done);
	return d.err ?: vec_push(&j->out->chosen, request);
}

/* The requests that are divided: ranks by latency, the slowest first, from <= rank < to. */
struct chosen_ranks {
	size_t from, to, step;
};

static int requests_join_ranks(struct joining *j, const struct event_sample *const *order,
			       struct chosen_ranks ranks)
{
	int err = 0;

	for (size_t i = ranks.from; i < ranks.to && !err; i += ranks.step)
		err = requests_join_one(j, order[i]);
	return err;
}

static uint64_t requests_latency(const struct event_sample *s)
{
	return s->done - s->intended;
}

/* Chooses the usual requests: the middle fifth, or the fastest tenth if p50 is over 3 times p5. */
static struct chosen_ranks requests_usual(struct requests *out, size_t n,
					  const struct event_sample *const *order)
{
	struct chosen_ranks ranks = { n * 2 / 5, n * 3 / 5, 1 };

	out->usual_is_slow = n >= USUAL_MIN && requests_latency(order[n / 2]) >
			     USUAL_SLOW * requests_latency(order[n - 1 - n / 20]);
	if (out->usual_is_slow)
		ranks = (struct chosen_ranks){ n - n / 10, n, 1 };
	ranks.step += (ranks.to - ranks.from) / REQUESTS_USUAL;
	return ranks;
}

static int requests_join_in_order(struct joining *j, const struct event_sample *const *order,
				  size_t n, double share)
{
	struct chosen_ranks targets = { .step = 1 }, near = { .step = 1 };
	struct requests *out = j->out;
	int err;

	targets.to = (size_t)ceil((double)n * share);
	if (targets.to > REQUESTS_SHOWN)
		targets.to = REQUESTS_SHOWN;
	near.from = targets.to;
	near.to = targets.to * (1 + REQUESTS_NEAR) < n ? targets.to * (1 + REQUESTS_NEAR) : n;
	err = requests_join_ranks(j, order, targets);
	out->targets = out->chosen.len;
	if (out->targets)
		out->at = vec_last(&out->chosen)->latency;
	if (!err)
		err = requests_join_ranks(j, order, near);
	out->near = out->chosen.len - out->targets;
	return err ? err : requests_join_ranks(j, order, requests_usual(out, n, order));
}

static int requests_join_chosen(struct requests *out, const struct load_side *load,
				const struct server_side *server, double share)
{
	const struct event_sample **order = calloc(load->samples.len + 1, sizeof(*order));
	struct joining j = { .load = load, .server = server, .out = out };
	size_t n = 0;
	int err;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < load->samples.len; i++)
		if (load_side_counts(load, &load->samples.items[i]))
			order[n++] = &load->samples.items[i];
	if (n)
		qsort(order, n, sizeof(*order), requests_by_latency);
	err = requests_join_in_order(&j, order, n, share);
	free(order);
	free(j.sums);
	return err;
}

/* Sets the blocks of time, from the first request to the last. */
static void requests_set_blocks(struct requests *out, const struct load_side *load)
{
	uint64_t last = 0, counted = 0;

	out->from = UINT64_MAX;
	vec_for_each(&load->samples, s) {
		if (!load_side_counts(load, s))
			continue;
		out->from = s->intended < out->from ? s->intended : out->from;
		last = s->intended > last ? s->intended : last;
		counted++;
	}
	out->n_blocks = contrast_blocks(counted);
	out->block_ns = counted ? (last - out->from) / out->n_blocks + 1 : 1;
}

size_t requests_block(const struct requests *requests, uint64_t intended)
{
	return (intended - requests->from) / requests->block_ns;
}

static int requests_note_latency(struct requests *out, const struct load_side *load)
{
	int err = 0;

	out->count = out->beyond = load->beyond;
	requests_set_blocks(out, load);
	for (size_t i = 0; i < load->samples.len && !err; i++) {
		const struct event_sample *s = &load->samples.items[i];

		if (!load_side_counts(load, s))
			continue;
		out->count++;
		out->blocks[requests_block(out, s->intended)]++;
		err = hist_record(&out->latency, s->done - s->intended);
	}
	return err;
}

int requests_join(struct requests *out, const struct diagnose_load *load,
		  const struct recorded *server)
{
	struct server_side theirs = { 0 };
	struct load_side ours;
	int err;

	*out = (struct requests){ 0 };
	vec_init(&out->chosen, REQUESTS_CHOSEN);
	vec_init(&out->times, (size_t)REQUESTS_CHOSEN * TIMES_MAX);
	hist_init(&out->latency, LATENCY_SCHEMA);
	load_side_init(&ours, load);
	err = load_side_read(&ours, load->reader);
	if (!err)
		err = requests_read_server(&theirs, server);
	if (!err)
		err = requests_note_latency(out, &ours);
	if (!err)
		err = requests_join_chosen(out, &ours, &theirs, load->share);
	vec_release(&theirs.marks);
	vec_release(&theirs.flows);
	load_side_release(&ours);
	return err;
}

void requests_release(struct requests *requests)
{
	vec_release(&requests->chosen);
	vec_release(&requests->times);
	hist_release(&requests->latency);
}

void requests_mark(const struct requests *requests, bool *marks)
{
	vec_for_each(&requests->chosen, q)
		if (q->place)
			marks[q->place - 1] = true;
}
