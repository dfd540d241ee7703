/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/messages.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/sort.h"
#include "diagnose/cpu_history.h"
#include "diagnose/tasks.h"

/* ---- reading messages ---- */

int messages_each(struct event_reader *reader, int (*add)(void *ctx, const struct event *event),
		  void *ctx, uint32_t *damage)
{
	struct event_source *source = event_reader_source(reader);
	struct event_window window = { .kind = EV_MESSAGE, .to = UINT64_MAX };
	uint32_t cores[CPU_HISTORY_CORES];
	int n = event_reader_cores(reader, EV_MESSAGE, cores, CPU_HISTORY_CORES);
	int err = n < 0 ? n : 0;

	if (n > (int)CPU_HISTORY_CORES)
		return -E2BIG;
	for (int i = 0; !err && i < n; i++) {
		struct event_damage met;
		struct event_block block;
		struct event event;

		window.core = cores[i];
		err = event_source_seek(source, &window);
		while (!err && (err = event_source_next(source, &block)) > 0) {
			size_t at = 0;

			err = 0;
			while (!err && event_block_next(&block, &at, &event))
				err = add(ctx, &event);
		}
		event_source_damage(source, &met);
		*damage |= met.reasons;
	}
	return err;
}

/* ---- departure of sent messages ---- */

static uint64_t messages_clamp_time(uint64_t time, uint64_t from, uint64_t to)
{
	return time < from ? from : time > to ? to : time;
}

struct departure_times messages_departure_times(const struct event_piece *pieces, uint32_t n,
						uint64_t first, uint64_t end)
{
	struct departure_times out = { 0 };
	uint64_t segment = 0, held = UINT64_MAX, paced = 0, late = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t time = messages_clamp_time(pieces[i].end, first, end);

		if (held == UINT64_MAX &&
		    (pieces[i].role == PIECE_PACED || pieces[i].role == PIECE_LATE))
			held = messages_clamp_time(pieces[i].begin, first, end);
		if (pieces[i].role == PIECE_LATE && pieces[i].flags == STAGE_NONE)
			paced = time;
		if (pieces[i].role == PIECE_LATE && pieces[i].flags == STAGE_SEGMENT) {
			late = messages_clamp_time(pieces[i].begin, first, end);
			out.core = pieces[i].core;
		}
		if (pieces[i].flags == STAGE_SEGMENT) {
			segment = time;
			out.known = true;
		} else if (pieces[i].flags == STAGE_QDISC) {
			out.queued = time;
			out.enqueued = true;
		}
	}
	if (!out.enqueued)
		out.queued = segment;
	/*
	 * If STAGE_SEGMENT ends after the packet entered the qdisc, the qdisc held the packet until
	 * then.
	 */
	out.left = segment < out.queued ? segment : out.queued;
	out.due = segment > out.queued ? segment : out.queued;
	out.held = held < out.queued ? held : out.queued;
	out.late = late < out.left ? late : out.left;
	out.paced = paced > out.held ? paced : out.held;
	return out;
}

/* Returns the end of a sent message: the driver has the packet; later time is the device's. */
static uint64_t messages_departure_end(const struct event_piece *pieces, uint32_t n, uint64_t end)
{
	for (uint32_t i = 0; i < n; i++)
		if (pieces[i].flags == STAGE_DRIVER && pieces[i].end < end)
			return pieces[i].end;
	return end;
}

/* A sent message and its departure, which are sorted by the message's end. */
struct outgoing {
	struct message m; /* first member: messages_order_by_read() compares it */
	struct departure departure;
};

struct message_reading {
	struct messages *messages;
	const struct tasks *tasks;
	enum direction direction;
	struct outgoings VEC_OF(struct outgoing) outgoing;
};

static int messages_add_other(struct messages *messages, const struct event_message *e)
{
	messages->others++;
	if (e->direction == DIR_INGRESS)
		return 0;
	return vec_push(&messages->sends, (struct sent){ e->first, e->flow });
}

static int messages_add_sent(struct message_reading *reading, const struct event_message *e,
			     const struct message *m)
{
	const struct departure_times out =
		messages_departure_times((const void *)(e + 1), e->n, m->first, m->read);

	return vec_push(&reading->outgoing, (struct outgoing){
		.m = *m, .departure = {
			.held = out.known ? out.held : 0, .left = out.left, .due = out.due,
			.early_ns = (uint32_t)(out.paced - out.held),
			.late_ns = (uint32_t)(out.left - out.late), .core = out.core } });
}

/* Sets the core and the time at which a message entered its socket's queue. */
static void messages_set_queued(struct message *m, const struct event_piece *pieces, uint32_t n)
{
	m->core = UINT32_MAX;
	for (uint32_t i = 0; i < n && pieces[i].role == PIECE_RECEIVE; i++) {
		const uint64_t ns = pieces[i].end > m->first ? pieces[i].end - m->first : 0;

		m->core = pieces[i].core;
		m->queued_ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	}
}

static int messages_add(void *ctx, const struct event *event)
{
	struct message_reading *reading = ctx;
	struct messages *messages = reading->messages;
	const struct event_message *e = event->payload;
	const struct task_name *task = tasks_get(reading->tasks,
						 tasks_by_tid(reading->tasks, e->tid));
	const bool sent = e->direction != DIR_INGRESS;
	struct message m = {
		.id = e->id, .first = e->first, .tid = e->tid, .pid = task->pid,
		.read = sent ? messages_departure_end((const void *)(e + 1), e->n, event->time) :
			event->time,
		.flow = e->flow, .bytes = e->bytes, .thread = task->thread,
	};
	int err = 0;

	if (!sent)
		messages_set_queued(&m, (const void *)(e + 1), e->n);
	if (sent != (reading->direction != DIR_INGRESS))
		err = messages_add_other(messages, e);
	else if (m.read < m.first)
		messages->invalid++;
	else
		err = sent ? messages_add_sent(reading, e, &m) : vec_push(&messages->all, m);
	messages->beyond += err == -E2BIG;
	return err == -E2BIG ? 0 : err;
}

static int messages_order_by_read(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	return sort_order(x->read, y->read) ?: sort_order(x->id, y->id);
}

struct of_flow {
	uint32_t flow;
	uint32_t place;
};

static int messages_order_by_flow(const void *a, const void *b)
{
	const struct of_flow *x = a, *y = b;

	return sort_order(x->flow, y->flow) ?: sort_order(x->place, y->place);
}

/* Links the messages of each flow; flow 0 means unknown. Returns 0 or -ENOMEM. */
static int messages_chain_flows(struct messages *messages)
{
	const uint32_t n = (uint32_t)messages->all.len;
	struct of_flow *order = calloc(n + 1UL, sizeof(*order));

	messages->previous = calloc(n + 1UL, sizeof(*messages->previous));
	if (!order || !messages->previous) {
		free(order);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = (struct of_flow){ messages->all.items[i].flow, i };
	qsort(order, n, sizeof(*order), messages_order_by_flow);
	for (uint32_t i = 1; i < n; i++) {
		if (!order[i].flow || order[i].flow != order[i - 1].flow)
			continue;
		messages->previous[order[i].place] = order[i - 1].place + 1;
		messages->all.items[order[i - 1].place].next = order[i].place + 1;
	}
	free(order);
	return 0;
}

/* Links the messages of each thread. Returns 0 or -ENOMEM. */
static int messages_chain_threads(struct messages *messages, const struct tasks *tasks)
{
	uint32_t *last = calloc(tasks->threads + 1UL, sizeof(*last));

	messages->previous = calloc(messages->all.len + 1, sizeof(*messages->previous));
	if (!last || !messages->previous) {
		free(last);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < messages->all.len; i++) {
		const uint32_t thread = messages->all.items[i].thread;

		if (thread == THREAD_NONE)
			continue;
		messages->previous[i] = last[thread];
		if (last[thread])
			messages->all.items[last[thread] - 1].next = i + 1;
		last[thread] = i + 1;
	}
	free(last);
	return 0;
}

static int messages_by_core(const void *a, const void *b, void *ctx)
{
	const struct message *all = ctx;
	const struct message *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];

	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	if (message_queued(x) != message_queued(y))
		return message_queued(x) < message_queued(y) ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int messages_order_by_queued(struct messages *messages)
{
	const size_t n = messages->all.len;

	messages->by_queued = calloc(n + 1, sizeof(*messages->by_queued));
	if (!messages->by_queued)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		messages->by_queued[i] = i;
	if (n)
		qsort_r(messages->by_queued, n, sizeof(*messages->by_queued), messages_by_core,
			messages->all.items);
	return 0;
}

static bool messages_is_queued_after(const struct message *m, uint32_t core, uint64_t time)
{
	return m->core > core || (m->core == core && message_queued(m) > time);
}

size_t messages_queued(const struct messages *messages, uint32_t core, uint64_t time)
{
	return sort_first(i, 0, messages->by_queued ? messages->all.len : 0,
		messages_is_queued_after(&messages->all.items[messages->by_queued[i]], core, time));
}

/* Sorts the sent messages by their ends. */
static int messages_sort_sent(struct messages *messages, struct outgoings *outgoing)
{
	const size_t n = outgoing->len;

	messages->departures = calloc(n + 1, sizeof(*messages->departures));
	if (!messages->departures || vec_reserve(&messages->all, n))
		return -ENOMEM;
	if (n)
		qsort(outgoing->items, n, sizeof(*outgoing->items), messages_order_by_read);
	for (size_t i = 0; i < n; i++) {
		messages->departures[i] = outgoing->items[i].departure;
		vec_push(&messages->all, outgoing->items[i].m);
	}
	return 0;
}

static int messages_read_all(struct message_reading *reading, struct event_reader *reader)
{
	struct messages *messages = reading->messages;
	int err = messages_each(reader, messages_add, reading, &messages->damage);

	if (err)
		return err;
	if (reading->direction != DIR_INGRESS)
		return messages_sort_sent(messages, &reading->outgoing);
	if (messages->all.len)
		qsort(messages->all.items, messages->all.len, sizeof(*messages->all.items),
		      messages_order_by_read);
	return 0;
}

int messages_read(struct messages *messages, struct event_reader *reader,
		  const struct tasks *tasks, enum direction direction)
{
	struct message_reading reading = { .messages = messages, .tasks = tasks,
					   .direction = direction };
	int err;

	*messages = (struct messages){ .from = UINT64_MAX };
	vec_init(&messages->all, MESSAGES_MAX);
	vec_init(&messages->sends, MESSAGES_MAX);
	vec_init(&reading.outgoing, MESSAGES_MAX);
	err = messages_read_all(&reading, reader);
	vec_release(&reading.outgoing);
	if (err)
		return err;
	vec_for_each(&messages->all, m) {
		messages->from = m->first < messages->from ? m->first : messages->from;
		messages->to = m->read;
	}
	if (direction != DIR_INGRESS)
		return messages_chain_flows(messages);
	return messages_chain_threads(messages, tasks) ?: messages_order_by_queued(messages);
}

void messages_release(struct messages *messages)
{
	vec_release(&messages->all);
	vec_release(&messages->sends);
	free(messages->by_queued);
	free(messages->previous);
	free(messages->departures);
	messages->by_queued = NULL;
	messages->previous = NULL;
	messages->departures = NULL;
}
