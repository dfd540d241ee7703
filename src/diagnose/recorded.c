/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one recording: its facts, its messages, and the causes of the chosen messages' time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "diagnose/functions.h"
#include "diagnose/state.h"
#include "diagnose/stream.h"

/* ---- facts ---- */

static int recorded_add_fact(struct recorded *rec, const struct event *event)
{
	const char *key, *value;
	uint64_t ns;

	event_fact_get(event, &key, &value);
	if (!strcmp(key, DIAGNOSE_FACT_MACHINE) && !rec->machine) {
		rec->machine = strdup(value);
		if (!rec->machine)
			return -ENOMEM;
	} else if (!strcmp(key, DIAGNOSE_FACT_GRANULARITY) && !parse_u64(value, &ns)) {
		rec->granularity = ns;
	} else if (!strcmp(key, DIAGNOSE_FACT_BOUNDARY)) {
		rec->by_request = !strcmp(value, DIAGNOSE_BY_REQUEST) ||
				  !strcmp(value, DIAGNOSE_BY_MARK);
	} else if (!strcmp(key, DIAGNOSE_FACT_THROTTLED)) {
		rec->throttles = strcmp(value, "0") != 0;
	} else if (!strcmp(key, DIAGNOSE_FACT_RECORDER) && !parse_u64(value, &ns)) {
		rec->hostlat.recorder = ns;
	}
	return 0;
}

static void recorded_add_loss(struct recorded *rec, const struct event *event)
{
	const struct event_loss *loss = event->payload;

	rec->names_lost += loss->why == LOSS_DICT_FULL ? loss->records : 0;
	rec->lost_messages += loss->kind == EV_MESSAGE ? loss->records : 0;
	if (loss->kind == EV_MESSAGE || loss->kind == EV_EDGE || loss->kind == EV_WAKE)
		rec->lost += loss->records;
}

static int recorded_add_flow(struct recorded *rec, const struct event *event)
{
	const struct event_flow *flow = event->payload;
	int err = vec_push(&rec->flows, *flow);

	rec->flows_lost += err == -E2BIG;
	return err == -E2BIG ? 0 : err;
}

static int recorded_add_place(struct recorded *rec, const struct event *event)
{
	const struct event_task *place = event->payload;
	int err = vec_push(&rec->places, *place);

	return err == -E2BIG ? 0 : err;
}

/* Stages of both directions that must be measured to record messages of TCP. */
#define MESSAGE_STAGES                                                                             \
	(1U << STAGE_LINK | 1U << STAGE_ENQUEUED | 1U << STAGE_READ | 1U << STAGE_SEGMENT |        \
	 1U << STAGE_DRIVER | 1U << STAGE_SENT)

static void recorded_add_binding(struct recorded *rec, const struct event_binding *b)
{
	struct event_binding *unbound = &rec->unbound[b->direction == DIR_EGRESS];

	if (!b->bound && b->protocol != PROTO_UDP && !unbound->stage && b->stage < STAGE_MAX &&
	    MESSAGE_STAGES >> b->stage & 1)
		*unbound = *b;
}

static int recorded_add_block(struct recorded *rec, const struct event_block *block)
{
	struct event event;
	size_t at = 0;
	int err = 0;

	while (!err && event_block_next(block, &at, &event)) {
		err = times_feed(&rec->times, &event);
		if (event.kind == EV_FACT)
			err = err ?: recorded_add_fact(rec, &event);
		else if (event.kind == EV_LOSS)
			recorded_add_loss(rec, &event);
		else if (event.kind == EV_FLOW)
			err = err ?: recorded_add_flow(rec, &event);
		else if (event.kind == EV_TASK)
			err = err ?: recorded_add_place(rec, &event);
		else if (event.kind == EV_BINDING)
			recorded_add_binding(rec, event.payload);
	}
	return err;
}

static int recorded_order_by_id(const void *a, const void *b)
{
	const struct event_flow *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

void recorded_flows_sort(struct flows *flows)
{
	if (flows->len)
		qsort(flows->items, flows->len, sizeof(*flows->items), recorded_order_by_id);
}

const struct event_flow *recorded_flows_find(const struct flows *flows, uint32_t id)
{
	const struct event_flow key = { .id = id };

	return flows->len
		       ? bsearch(&key, flows->items, flows->len, sizeof(key), recorded_order_by_id)
		       : NULL;
}

static int recorded_read_facts(struct recorded *rec)
{
	struct event_source *source = event_reader_source(rec->reader);
	const struct event_window window = { .kind = EV_NONE, .core = EVENT_CORE_NONE,
					     .to = UINT64_MAX };
	struct event_block block;
	int err = event_source_seek(source, &window);

	rec->granularity = DIAGNOSE_GRANULARITY_NS;
	if (err)
		return err;
	while ((err = event_source_next(source, &block)) > 0) {
		err = recorded_add_block(rec, &block);
		if (err)
			return err;
	}
	event_source_damage(source, &rec->damage);
	recorded_flows_sort(&rec->flows);
	rec->calls = calls_of(rec->machine);
	return err;
}

/* ---- stored timelines ---- */

static int recorded_compare_latency(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/*
 * Sets *latency to the least latency, in ns, of the EXAMPLES_DRAWN slowest targets (messages to
 * explain). Sets it to 0 if there are no more targets than that.
 */
static int recorded_draw_references(struct recorded *rec, uint64_t *latency)
{
	const size_t n = rec->subjects.len;
	uint64_t *latencies = calloc(n + 1, sizeof(*latencies));
	size_t targets = 0;

	*latency = 0;
	if (!latencies)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (rec->subjects.items[i].target)
			latencies[targets++] = message_latency(subject_message(rec, i));
	qsort(latencies, targets, sizeof(*latencies), recorded_compare_latency);
	if (targets > EXAMPLES_DRAWN)
		*latency = latencies[EXAMPLES_DRAWN - 1];
	free(latencies);
	return 0;
}

/* ---- attribution ---- */

struct charging {
	struct recorded *rec;
	uint32_t subject;
	uint32_t behind;   /* index + 1 of the last counted message ahead of this one in its
			    * softirq; 0: none */
	bool draws;
	int err;
};

static void recorded_add_slice(void *ctx, const struct slice *slice)
{
	struct charging *c = ctx;
	struct recorded *rec = c->rec;
	const struct subject *subject = &rec->subjects.items[c->subject];

	if (!c->err)
		c->err = breakdown_add(&rec->breakdowns[c->subject], slice);
	if (slice->core != CORE_UNKNOWN && !c->err && (subject->target || subject->reference))
		c->err = contexts_add(&rec->contexts, slice, subject->target, subject->reference);
	if (rec->windows && !c->err && (subject->target || subject->reference))
		c->err = functions_add_window(&rec->windows[c->subject], slice);
	rec->breakdowns[c->subject].slices++;
	if (slice->cause == CAUSE_KERNEL_QUEUE) {
		/*
		 * Counts a message ahead once, even if an interrupt divides its processing into
		 * slices.
		 */
		rec->breakdowns[c->subject].packets += slice->message != c->behind;
		c->behind = slice->message;
	}
	if (c->draws && !c->err)
		c->err = drawn_add(&rec->drawn[c->subject], slice);
}

/*
 * Returns how many messages the reader read while this one waited; sent: how many earlier messages
 * of its flow left after it was sent.
 */
static uint32_t recorded_served_before(const struct recorded *rec, uint32_t subject)
{
	const struct subject *s = &rec->subjects.items[subject];
	uint32_t at = rec->messages.previous[s->message], n = 0;
	uint64_t enqueued = s->n ? s->pieces[s->n - 1].begin : 0;

	if (rec->messages.departures)
		enqueued = subject_message(rec, subject)->first;
	while (at && rec->messages.all.items[at - 1].read > enqueued && s->n) {
		at = rec->messages.previous[at - 1];
		n++;
	}
	return n;
}

/*
 * Returns, for each analyzed message, the earliest CPU history that it or a later one needs, in ns.
 */
static uint64_t *recorded_history_needs(const struct recorded *rec)
{
	uint64_t *from = calloc(rec->subjects.len + 1, sizeof(*from));

	if (!from)
		return NULL;
	from[rec->subjects.len] = UINT64_MAX;
	for (size_t i = rec->subjects.len; i--;) {
		from[i] = attrib_from(&rec->messages, &rec->subjects.items[i]);
		if (from[i + 1] < from[i])
			from[i] = from[i + 1];
	}
	return from;
}

static int recorded_charge_all(struct recorded *rec, struct activity_stream *stream,
			       const struct cpu_history *history, const uint64_t *from,
			       uint64_t draw)
{
	struct charging c = { .rec = rec };
	struct attrib_env env = {
		.messages = &rec->messages, .tasks = &rec->tasks, .calls = &rec->calls,
		.recorder = rec->hostlat.recorder, .by_request = rec->by_request,
		.throttles = rec->throttles, .lost_messages = rec->lost_messages,
		.history = history, .emit = recorded_add_slice, .ctx = &c,
	};
	int err = 0;

	attrib_init(&env);
	for (uint32_t i = 0; !err && i < rec->subjects.len; i++) {
		const struct message *m = subject_message(rec, i);

		err = stream_cover(stream, from[i],
				   attrib_until(&rec->messages, &rec->subjects.items[i]));
		if (err)
			break;
		c.subject = i;
		c.behind = 0;
		c.draws = rec->subjects.items[i].target && message_latency(m) >= draw;
		drawn_init(&rec->drawn[i]);
		err = attrib_message(&env, &rec->subjects.items[i]);
		if (!err)
			err = c.err;
		drawn_finish(&rec->drawn[i]);
		rec->breakdowns[i].served_before = recorded_served_before(rec, i);
	}
	attrib_release(&env);
	return err;
}

static int recorded_charge_subjects(struct recorded *rec)
{
	int cores = stream_cores(rec->reader);
	struct activity_stream *stream = NULL;
	struct cpu_history history = { 0 };
	uint64_t *from, draw = 0;
	int err;

	if (cores < 0)
		return cores;
	rec->cores = (uint32_t)cores;
	from = recorded_history_needs(rec);
	err = from ? cpu_history_init(&history, &rec->tasks, rec->cores) : -ENOMEM;
	if (!err)
		err = stream_open(&stream, rec->reader, &history);
	if (!err)
		err = recorded_draw_references(rec, &draw);
	if (!err)
		err = recorded_charge_all(rec, stream, &history, from, draw);
	if (stream)
		stream_damage(stream, &rec->damage);
	rec->forgot = history.dropped;
	stream_free(stream);
	cpu_history_release(&history);
	free(from);
	return err;
}

/* ---- reading a recording ---- */

static int recorded_read_messages(struct recorded *rec, enum direction direction)
{
	int err = event_reader_names(rec->reader, rec->names);

	if (!err)
		err = tasks_init(&rec->tasks, rec->names);
	vec_for_each(&rec->places, place)
		if (!err)
			tasks_set_place(&rec->tasks, place);
	vec_release(&rec->places);
	if (!err)
		err = messages_read(&rec->messages, rec->reader, &rec->tasks, direction);
	rec->damage.reasons |= rec->messages.damage;
	return err;
}

static int recorded_explain_subjects(struct recorded *rec)
{
	rec->breakdowns = calloc(rec->subjects.len, sizeof(*rec->breakdowns));
	rec->drawn = calloc(rec->subjects.len, sizeof(*rec->drawn));
	if (event_dict_len(rec->names, DICT_SYMBOL)) {
		rec->windows = calloc(rec->subjects.len, sizeof(*rec->windows));
		if (!rec->windows)
			return -ENOMEM;
	}
	if (!rec->breakdowns || !rec->drawn)
		return -ENOMEM;
	return recorded_charge_subjects(rec);
}

int recorded_open(struct recorded *rec, struct event_reader *reader, enum direction direction)
{
	int err = contexts_init(&rec->contexts);

	rec->reader = reader;
	times_init(&rec->times, TIMES_AUTO);
	vec_init(&rec->flows, FLOWS_MAX);
	vec_init(&rec->places, TASK_PLACES_MAX);
	rec->names = event_dict_new();
	if (!err)
		err = rec->names ? recorded_read_facts(rec) : -ENOMEM;
	return err ? err : recorded_read_messages(rec, direction);
}

int recorded_explain(struct recorded *rec, const struct message_selection *selection,
		     const bool *also)
{
	int err = subjects_select(&rec->messages, selection, also, rec->reader, &rec->subjects,
				  &rec->selected);

	if (!err && rec->subjects.len)
		err = recorded_explain_subjects(rec);
	return err ? err : commands_init(&rec->commands, &rec->tasks, &rec->hostlat);
}

int recorded_read(struct recorded *rec, struct event_reader *reader,
		  const struct message_selection *selection)
{
	int err = recorded_open(rec, reader, selection->direction);

	return err ? err : recorded_explain(rec, selection, NULL);
}

void recorded_release(struct recorded *rec)
{
	for (uint32_t i = 0; i < rec->subjects.len; i++) {
		if (rec->breakdowns)
			breakdown_release(&rec->breakdowns[i]);
		if (rec->drawn)
			drawn_release(&rec->drawn[i]);
		if (rec->windows)
			vec_release(&rec->windows[i]);
	}
	free(rec->breakdowns);
	free(rec->drawn);
	free(rec->windows);
	free(rec->machine);
	contexts_release(&rec->contexts);
	times_release(&rec->times);
	vec_release(&rec->flows);
	vec_release(&rec->places);
	vec_release(&rec->subjects);
	messages_release(&rec->messages);
	commands_release(&rec->commands);
	tasks_release(&rec->tasks);
	event_dict_free(rec->names);
	*rec = (struct recorded){ 0 };
}
