/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_script.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bug.h"
#include "base/parse.h"
#include "diagnose/calls.h"
#include "event/clocks.h"
#include "event/writer.h"
#include "trace.h"
#include "words.h"
#include "event_words.h"

#define TASKS_MAX 64
#define CALLS_END 512

struct script {
	struct words in;
	struct trace trace;
	struct event_writer *writer;
	struct {
		char name[16];
		uint32_t pid, tid, cgroup;
	} tasks[TASKS_MAX];
	uint32_t n_tasks;
	struct event_clocks_out clocks;
	struct clock_taker taker;
	uint64_t shift;          /* added to the times of a repeated line */
	uint64_t round;          /* how often it was done before */
};

static uint32_t number(struct script *s)
{
	return (uint32_t)words_number(&s->in);
}

static uint64_t moment(struct script *s)
{
	return words_duration(&s->in) + s->shift;
}

static uint32_t core(struct script *s)
{
	uint32_t n = number(s);

	if (n >= s->trace.cores)
		words_die(&s->in, "there is no core %u", n);
	return n;
}

/* A task's number; "idle" is 0, and a number is itself. */
static uint32_t task(struct script *s)
{
	const char *text = words_next(&s->in);
	uint64_t tid;

	if (strcmp(text, "idle") == 0)
		return 0;
	for (uint32_t i = s->n_tasks; i--;)
		if (strcmp(s->tasks[i].name, text) == 0)
			return s->tasks[i].tid;
	if (parse_u64(text, &tid))
		words_die(&s->in, "there is no task '%s'", text);
	return (uint32_t)tid;
}

static uint32_t symbol(struct script *s)
{
	return event_writer_intern(s->writer, DICT_SYMBOL, words_next(&s->in));
}

/* ---- lines of the whole ---- */

static void make_fact(struct script *s)
{
	const char *key = words_next(&s->in);

	BUG_ON(event_put_fact(event_writer_sink(s->writer), TRACE_START, key, words_next(&s->in)));
}

/* unbound STAGE WHY: a stage of received messages that could not be measured. */
static void make_unbound(struct script *s)
{
	struct event_binding e = { .protocol = PROTO_ANY, .direction = DIR_INGRESS };
	const char *name = words_next(&s->in);

	for (e.stage = 1; e.stage < STAGE_MAX && strcmp(stage_name(e.stage), name) != 0; e.stage++)
		;
	if (e.stage == STAGE_MAX)
		words_die(&s->in, "'%s' is no stage", name);
	e.why = event_writer_intern(s->writer, DICT_STRING, words_next(&s->in));
	BUG_ON(event_put(event_writer_sink(s->writer), EV_BINDING, TRACE_START, &e, sizeof(e)));
}

static void make_cores(struct script *s)
{
	s->trace.cores = number(s);
	if (!s->trace.cores || s->trace.cores > TRACE_CORES)
		words_die(&s->in, "1 to %u cores", TRACE_CORES);
}

static void make_task(struct script *s)
{
	const char *name = words_next(&s->in);

	if (s->n_tasks == TASKS_MAX)
		words_die(&s->in, "more than %d tasks", TASKS_MAX);
	snprintf(s->tasks[s->n_tasks].name, sizeof(s->tasks->name), "%s", name);
	s->tasks[s->n_tasks].pid = number(s);
	s->tasks[s->n_tasks].tid = number(s);
	if (words_more(&s->in)) {
		const char *cgroup = words_next(&s->in);
		const char *unit = words_more(&s->in) ? words_next(&s->in) : "";

		s->tasks[s->n_tasks].cgroup = trace_place(&s->trace, cgroup, unit);
	}
	trace_name(&s->trace, 0, s->tasks[s->n_tasks].pid, s->tasks[s->n_tasks].tid, name)->cgroup =
		s->tasks[s->n_tasks].cgroup;
	s->n_tasks++;
}

static void make_flow(struct script *s)
{
	struct event_flow flow = { .id = number(s), .family = AF_INET, .protocol = PROTO_TCP };

	if (inet_pton(AF_INET, words_next(&s->in), flow.local) != 1)
		words_die(&s->in, "that is no address");
	flow.local_port = (__u16)number(s);
	if (inet_pton(AF_INET, words_next(&s->in), flow.remote) != 1)
		words_die(&s->in, "that is no address");
	flow.remote_port = (__u16)number(s);
	BUG_ON(event_put(event_writer_sink(s->writer), EV_FLOW, TRACE_START, &flow, sizeof(flow)));
}

static void make_lost(struct script *s)
{
	struct event_loss loss = { .why = LOSS_PRODUCER };
	const char *kind = words_next(&s->in);
	int parsed = event_kind_parse(kind);

	if (parsed < 0)
		words_die(&s->in, "'%s' is no kind", kind);
	loss.kind = (__u32)parsed;
	loss.records = number(s);
	BUG_ON(event_put(event_writer_sink(s->writer), EV_LOSS, TRACE_START, &loss, sizeof(loss)));
}

static void make_message(struct script *s)
{
	const uint64_t id = number(s) + s->round;
	const uint32_t tid = task(s);
	const uint64_t first = moment(s), queued = moment(s), read = moment(s);
	struct trace_message *m = trace_message(&s->trace, id, tid, first, queued, read, core(s));

	while (words_more(&s->in)) {
		const char *text = words_next(&s->in);

		if (strncmp(text, "core=", 5) == 0)
			m->pieces[0].core = (uint32_t)words_parse_number(&s->in, text + 5);
		else if (strncmp(text, "flow=", 5) == 0)
			m->head.flow = (uint32_t)words_parse_number(&s->in, text + 5);
		else if (strcmp(text, "sent") == 0)
			m->head.direction = DIR_EGRESS;
		else if (strcmp(text, "no-pieces") == 0)
			m->head.n = 0;
		else
			words_die(&s->in, "'%s' is unknown", text);
	}
}

/* Returns what holds the message up from the next time on; 0 if the word is a stage. */
static uint16_t held_by(const char *word)
{
	if (strcmp(word, "paced") == 0)
		return PIECE_PACED;
	return strcmp(word, "late") == 0 ? PIECE_LATE : PIECE_NONE;
}

static void make_sent(struct script *s)
{
	const uint64_t id = number(s) + s->round;
	const uint32_t tid = task(s);
	const uint64_t first = moment(s), returned = moment(s);
	struct trace_message *m = trace_message(&s->trace, id, tid, first, first, first, core(s));
	const uint32_t on = m->pieces[0].core;
	uint16_t role = PIECE_TRANSMIT;

	m->head.direction = DIR_EGRESS;
	m->head.last = TRACE_START + returned;
	m->head.n = 0;
	while (words_more(&s->in)) {
		const char *text = words_next(&s->in);
		const uint16_t held = held_by(text);
		const int stage = held ? STAGE_NONE : stage_parse(text);

		if (strncmp(text, "flow=", 5) == 0) {
			m->head.flow = (uint32_t)words_parse_number(&s->in, text + 5);
			continue;
		}
		if (stage < 0 || m->head.n == TRACE_PIECES)
			words_die(&s->in, "'%s' is no stage, or one too many", text);
		m->pieces[m->head.n] = (struct event_piece){
			.begin = m->read, .end = TRACE_START + moment(s), .role = role,
			.core = role == PIECE_LATE && held ? EVENT_CORE_NONE : on,
			.flags = (uint16_t)stage,
		};
		role = held ? held : PIECE_TRANSMIT;
		m->read = m->pieces[m->head.n++].end;
	}
	if (m->read > TRACE_START + s->trace.end)
		s->trace.end = m->read - TRACE_START;
}

static void make_open(struct script *s)
{
	s->trace.open = true;
}

static void make_early(struct script *s)
{
	s->trace.early = true;
}

static void make_until(struct script *s)
{
	const uint64_t end = moment(s);

	if (end > s->trace.end)
		s->trace.end = end;
}

/* The realtime clock less the monotonic one, from a moment on, or up to one at least. */
static void make_realtime(struct script *s)
{
	struct clock_stretch stretch = { .mult = 1 };
	const char *what;

	stretch.mono_ns = (int64_t)(TRACE_START + moment(s));
	stretch.from = (uint64_t)stretch.mono_ns + words_number(&s->in);
	stretch.error_ns = words_duration(&s->in);
	what = words_more(&s->in) ? words_next(&s->in) : "";
	stretch.flags = strcmp(what, "step") == 0 ? STRETCH_STEP | STRETCH_LOST :
			strcmp(what, "holds") == 0 ? STRETCH_HOLDS : 0;
	BUG_ON(s->taker.put(s->taker.ctx, DOMAIN_REALTIME, &stretch));
}

/* ---- activity of a core ---- */

static uint16_t left(struct script *s)
{
	static const char *const words[LEFT_MAX] = {
		[LEFT_RUNNABLE] = "runnable", [LEFT_ASLEEP] = "asleep", [LEFT_BLOCKED] = "blocked",
		[LEFT_IO] = "io", [LEFT_STOPPED] = "stopped", [LEFT_ENDED] = "ended",
	};
	const char *text = words_more(&s->in) ? words_next(&s->in) : "asleep";

	for (uint16_t i = LEFT_RUNNABLE; i < LEFT_MAX; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	words_die(&s->in, "'%s' is no way to leave", text);
}

static uint32_t call(struct script *s)
{
	const struct calls calls = calls_of("x86_64");
	const char *text = words_next(&s->in);

	for (uint32_t nr = 0; nr < CALLS_END; nr++)
		if (calls_name(&calls, nr) && strcmp(calls_name(&calls, nr), text) == 0)
			return nr;
	return (uint32_t)words_parse_number(&s->in, text);
}

/* Steps whose only word is a number, or none. */
static const struct {
	const char *word;
	enum trace_step step;
	bool number;
} steps[] = {
	{ "return", TRACE_RETURN, false },   { "irq", TRACE_IRQ, true },
	{ "irq-end", TRACE_IRQ_END, false }, { "vector", TRACE_VECTOR, true },
	{ "vector-end", TRACE_VECTOR_END, false }, { "softirq", TRACE_SOFTIRQ, true },
	{ "softirq-end", TRACE_SOFTIRQ_END, false }, { "fault", TRACE_FAULT, false },
	{ "lose", TRACE_LOSE, false },       { "flush", TRACE_FLUSH, false },
};

static void make_rename(struct script *s, uint64_t time)
{
	const uint32_t tid = task(s);

	for (uint32_t i = 0; i < s->n_tasks; i++)
		if (s->tasks[i].tid == tid) {
			trace_name(&s->trace, time, s->tasks[i].pid, tid,
				   words_next(&s->in))->cgroup = s->tasks[i].cgroup;
			return;
		}
}

static void make_step(struct script *s)
{
	const uint64_t time = moment(s);
	const uint32_t on = core(s);
	const char *what = words_next(&s->in);
	uint32_t a;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (strcmp(steps[i].word, what) == 0) {
			trace_add(&s->trace, time, on, steps[i].step,
				  steps[i].number ? number(s) : 0, 0);
			return;
		}
	if (strcmp(what, "run") == 0) {
		a = task(s);
		trace_add(&s->trace, time, on, TRACE_SWITCH, a, left(s));
	} else if (strcmp(what, "hidden") == 0) {
		trace_add(&s->trace, time, on, TRACE_HIDDEN, task(s), 0);
	} else if (strcmp(what, "call") == 0) {
		trace_add(&s->trace, time, on, TRACE_CALL, call(s), 0);
	} else if (strcmp(what, "wake") == 0) {
		a = task(s);
		trace_add(&s->trace, time, on, TRACE_WAKE, a, (uint16_t)core(s));
	} else if (strcmp(what, "enter") == 0) {
		trace_add(&s->trace, time, on, TRACE_ENTER, symbol(s), 0);
	} else if (strcmp(what, "leave") == 0) {
		trace_add(&s->trace, time, on, TRACE_LEAVE, symbol(s), 0);
	} else if (strcmp(what, "rename") == 0) {
		make_rename(s, time);
	} else {
		words_die(&s->in, "'%s' is no step", what);
	}
}

/* ---- the whole ---- */

static const struct {
	const char *word;
	void (*make)(struct script *s);
} makers[] = {
	{ "fact", make_fact }, { "cores", make_cores }, { "task", make_task },
	{ "flow", make_flow }, { "lost", make_lost }, { "message", make_message },
	{ "open", make_open }, { "early", make_early }, { "until", make_until },
	{ "sent", make_sent }, { "realtime", make_realtime },
	{ "unbound", make_unbound },
};

static void make_line(struct script *s)
{
	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		if (strcmp(makers[i].word, s->in.word[0]) != 0)
			continue;
		s->in.at = 1;
		makers[i].make(s);
		if (words_more(&s->in))
			words_die(&s->in, "'%s' is too much", words_next(&s->in));
		return;
	}
	make_step(s);
	if (words_more(&s->in))
		words_die(&s->in, "'%s' is too much", words_next(&s->in));
}

/* The next line, copied to `line`; false at the end. */
static bool next_line(struct script *s, const char **text, char *line, size_t size)
{
	const size_t len = strcspn(*text, "\n");

	if (!**text)
		return false;
	if (len >= size)
		words_die(&s->in, "the line is too long");
	memcpy(line, *text, len);
	line[len] = '\0';
	*text += len + ((*text)[len] == '\n');
	s->in.line++;
	return true;
}

/* Up to "end", or to the script's end. Returns what follows. */
static const char *make_lines(struct script *s, const char *text)
{
	char line[512];

	while (next_line(s, &text, line, sizeof(line))) {
		words_split(&s->in, line);
		if (!s->in.n)
			continue;
		if (strcmp(s->in.word[0], "end") == 0)
			break;
		if (strcmp(s->in.word[0], "repeat") == 0) {
			const unsigned int first = s->in.line;
			const char *after = text;
			uint64_t rounds, step;

			s->in.at = 1;
			rounds = number(s);
			step = words_duration(&s->in);
			for (uint64_t i = 0; i < rounds; i++) {
				s->in.line = first;
				s->round = i;
				s->shift = i * step;
				after = make_lines(s, text);
			}
			s->round = s->shift = 0;
			text = after;
			continue;
		}
		make_line(s);
	}
	return text;
}

void trace_script(const char *name, const char *text, int fd)
{
	struct script s = { .in.path = name };

	trace_init(&s.trace, 2);
	s.writer = trace_writer(fd);
	s.taker = event_clocks_taker(&s.clocks, event_writer_sink(s.writer));
	make_lines(&s, text);
	trace_write(&s.trace, s.writer);
	trace_release(&s.trace);
}
