/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose on random hosts: each ns of a message is charged once, and to what a naive
 * implementation of its rules says; a delay that is put in shows up as what it is; what was
 * lost is not made up. HOSTLAT_SEED=N repeats one; HOSTLAT_LONG=1: a million hosts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "diagnose/state.h"
#include "event/writer.h"
#include "diagnose_host.h"

#define STEPS 160
#define HOSTS 4000u
#define HOSTS_LONG 1000000u
#define GRANULARITY 1000
#define DELAY 300000u
/* A thread's call that the recorder forgot may have been the one that reads: one message of so many
 * may be wrong by that. */
#define MADE_UP_ONE_IN 300

struct totals {
	uint64_t messages, stretches, ns, blind;
	uint64_t made_up, worst; /* messages with more of it than the granularity, and the most */
	uint64_t by_cause[CAUSE_MAX];
};

/* ---- one recording ---- */

struct opened {
	int fd;
	struct event_reader *reader;
	struct recorded rec;
};

static void diagnose(struct host *host, struct opened *o)
{
	const struct message_selection all = { .to = 1, .against_from = 0.4, .against_to = 0.6 };
	struct event_writer *writer;

	*o = (struct opened){ .fd = memfd_create("trace", MFD_CLOEXEC) };
	writer = trace_writer(o->fd);
	BUG_ON(event_put_fact(event_writer_sink(writer), 0, DIAGNOSE_FACT_MACHINE, "x86_64"));
	BUG_ON(event_put_fact(event_writer_sink(writer), 0, DIAGNOSE_FACT_RECORDER, "90"));
	BUG_ON(event_put_fact(event_writer_sink(writer), 0, DIAGNOSE_FACT_THROTTLED,
			      host->throttles ? "3" : "0"));
	trace_write(&host->trace, writer);
	BUG_ON(event_reader_new(&o->reader, o->fd));
	BUG_ON(recorded_read(&o->rec, o->reader, &all));
}

static void release(struct opened *o)
{
	recorded_release(&o->rec);
	event_reader_free(o->reader);
	close(o->fd);
}

/* The subject of a message, by its number. */
static uint32_t subject_of(const struct recorded *rec, uint64_t id)
{
	for (uint32_t i = 0; i < rec->subjects.len; i++)
		if (subject_message(rec, i)->id == id)
			return i;
	BUG_ON(true);
}

/* ---- against the naive implementation ---- */

/* A control: with two causes mixed up, nothing may pass. */
static bool mix_up;

static enum cause cause_of(const struct expected *e)
{
	if (mix_up && e->cause == CAUSE_CPU_WAIT)
		return CAUSE_IDLE_EXIT;
	return mix_up && e->cause == CAUSE_IDLE_EXIT ? CAUSE_CPU_WAIT : e->cause;
}

/*
 * The naive implementation does not work out whose packets a softirq handled, so it names no task.
 * unit diagnose_parts tests that.
 */
static bool names_nobody(const struct expected *e)
{
	return e->cause == CAUSE_OTHER_RECEIVE && !e->culprit && !e->message;
}

static bool same(const struct recorded *rec, const struct slice *s, const struct expected *e)
{
	const uint64_t message = s->message ? rec->messages.all.items[s->message - 1].id : 0;

	if (s->cause != cause_of(e) || s->where != e->where)
		return false;
	return names_nobody(e) || (message == e->message &&
				   tasks_get(&rec->tasks, s->culprit)->tid == e->culprit);
}

static void complain(const struct recorded *rec, uint64_t id, const struct slice *s,
		     const struct expected *e)
{
	printf("message %" PRIu64 ", %" PRIu64 " to %" PRIu64 ": %s %s by %u behind %" PRIu64
	       ", and not %s %s by %u behind %" PRIu64 "\n", id, e->begin, e->end,
	       cause_name(s->cause), cause_where_name(s->where),
	       tasks_get(&rec->tasks, s->culprit)->tid,
	       s->message ? rec->messages.all.items[s->message - 1].id : 0, cause_name(e->cause),
	       cause_where_name(e->where), e->culprit, e->message);
}

/* The recorder forgets, with what it loses, the interrupts around it. */
static bool in_interrupt(const struct expected *e)
{
	return e->cause == CAUSE_INTERRUPT || e->cause == CAUSE_SOFTIRQ ||
	       e->cause == CAUSE_OTHER_RECEIVE ||
	       (e->cause == CAUSE_FUNCTION && e->where == WHERE_RECEIVE);
}

/* Counts the time that diagnose made up: reported as recorded, but with another cause. */
static void count(struct totals *t, const struct slice *s, const struct expected *e,
		  uint64_t *invented, uint64_t ns)
{
	t->ns += ns;
	t->by_cause[s->cause] += ns;
	if (s->cause == CAUSE_NOT_RECORDED || s->cause == CAUSE_UNEXPLAINED)
		t->blind += ns;
	else if (s->cause != e->cause && !in_interrupt(e))
		*invented += ns;
}

/* Whether slices were merged: no single rule says what such a one is. */
static bool is_merged(const struct drawn *drawn)
{
	vec_for_each(drawn, d)
		if (d->merged)
			return true;
	return false;
}

/* Whether all stretches are the same, `exact`ly; false with a complaint. */
static bool compare(const struct host *host, const struct opened *o, size_t place, bool exact,
		    struct totals *t)
{
	const struct trace_message *m = &host->trace.messages.items[place];
	const uint32_t subject = subject_of(&o->rec, m->head.id);
	const struct drawn *drawn = &o->rec.drawn[subject];
	uint64_t at = m->head.first, invented = 0;
	struct expecteds expected;
	bool good = true;
	size_t i = 0;

	if (is_merged(drawn))
		return true;
	vec_init(&expected, 1u << 20);
	host_expect(host, place, &expected);
	t->messages++;
	vec_for_each(drawn, d) {
		const struct slice *s = &d->slice;

		BUG_ON(s->begin != at || s->end <= s->begin);
		for (at = s->begin; at < s->end;) {
			const struct expected *e = &expected.items[i];
			const uint64_t end = e->end + TRACE_START;
			const uint64_t next = end < s->end ? end : s->end;

			t->stretches++;
			count(t, s, e, &invented, next - at);
			if (exact && good && !same(&o->rec, s, e)) {
				if (!mix_up)
					complain(&o->rec, m->head.id, s, e);
				good = false;
			}
			at = next;
			i += at == end;
		}
	}
	BUG_ON(at != m->read || i != expected.len);
	t->made_up += invented > GRANULARITY;
	t->worst = invented > t->worst ? invented : t->worst;
	vec_release(&expected);
	return good;
}

static bool compare_all(struct host *host, bool exact, struct totals *t)
{
	struct opened o;
	bool good = true;

	diagnose(host, &o);
	for (size_t i = 0; i < host->trace.messages.len; i++)
		good &= compare(host, &o, i, exact, t);
	release(&o);
	return good;
}

/* ---- losses ---- */

static void lose(struct host *host, uint64_t one_in, uint32_t core)
{
	vec_for_each(&host->trace.acts, a)
		if (a->step != TRACE_NAME && a->a != HOST_LAST_IRQ &&
		    (one_in ? rng_below(&host->rng, one_in) == 0 : a->core == core))
			a->dropped = true;
}

static bool check_seed(uint64_t seed, struct totals *whole, struct totals lossy[3])
{
	static const uint64_t one_in[] = { 100, 10, 0 };
	struct host host;
	bool good;

	host_init(&host, seed, STEPS);
	good = compare_all(&host, true, whole);
	for (int i = 0; i < 3 && good; i++) {
		vec_for_each(&host.trace.acts, a)
			a->dropped = false;
		lose(&host, one_in[i], (uint32_t)(seed % host.cores));
		good = compare_all(&host, false, &lossy[i]);
	}
	host_release(&host);
	if (!good)
		printf("FAILED: HOSTLAT_SEED=%" PRIu64 "\n", seed);
	return good;
}

/* ---- a delay that is put in ---- */

#define THIEF 98u       /* tids that no host has */
#define THIEF_HOSTLAT 99u

static void later(struct host *host, uint64_t time)
{
	const uint64_t absolute = TRACE_START + time;

	vec_for_each(&host->trace.acts, a)
		a->time += a->time > time ? DELAY : 0;
	vec_for_each(&host->trace.messages, m) {
		m->head.first += m->head.first > absolute ? DELAY : 0;
		m->head.last += m->head.last > absolute ? DELAY : 0;
		m->read += m->read > absolute ? DELAY : 0;
		for (uint32_t i = 0; i < 2; i++) {
			m->pieces[i].begin += m->pieces[i].begin > absolute ? DELAY : 0;
			m->pieces[i].end += m->pieces[i].end > absolute ? DELAY : 0;
		}
	}
	host->trace.end += DELAY;
}

/* The reader loses its core to `tid` from `time` on, in `call` if that is one; who wakes it. */
static void take_core(struct host *host, uint64_t time, uint32_t core, uint32_t reader,
		      uint32_t tid, uint16_t left, uint32_t call)
{
	struct trace *t = &host->trace;

	trace_name(t, 0, tid == THIEF_HOSTLAT ? HOST_RECORDER : 97, tid, "thief");
	if (call)
		trace_add(t, time + 1, core, TRACE_CALL, call, 0);
	trace_add(t, time + 2, core, TRACE_SWITCH, tid, left);
	if (left != LEFT_RUNNABLE)
		trace_add(t, time + DELAY - 3, core, TRACE_WAKE, reader, (uint16_t)core);
	trace_add(t, time + DELAY - 2, core, TRACE_SWITCH, reader, LEFT_RUNNABLE);
	if (call)
		trace_add(t, time + DELAY - 1, core, TRACE_RETURN, 0, 0);
}

static void put_in(struct host *host, uint64_t time, uint32_t core, uint32_t reader,
		   enum cause cause)
{
	later(host, time);
	if (cause == CAUSE_INTERRUPT) {
		trace_add(&host->trace, time + 1, core, TRACE_IRQ, 7, 0);
		trace_add(&host->trace, time + DELAY - 1, core, TRACE_IRQ_END, 0, 0);
	} else if (cause == CAUSE_SOFTIRQ) {
		trace_add(&host->trace, time + 1, core, TRACE_SOFTIRQ, 9, 0);
		trace_add(&host->trace, time + DELAY - 1, core, TRACE_SOFTIRQ_END, 0, 0);
	} else if (cause == CAUSE_CPU_WAIT || cause == CAUSE_HOSTLAT) {
		take_core(host, time, core, reader,
			  cause == CAUSE_HOSTLAT ? THIEF_HOSTLAT : THIEF, LEFT_RUNNABLE, 0);
	} else {
		take_core(host, time, core, reader, THIEF,
			  cause == CAUSE_STOPPED ? LEFT_STOPPED :
			  cause == CAUSE_IO_WAIT ? LEFT_IO : LEFT_ASLEEP,
			  cause == CAUSE_LOCK ? 202 : cause == CAUSE_WINDOW ? 44 : 0);
	}
	host_sort(host);
	for (uint32_t i = 0; i < host->trace.acts.len; i++)
		host->trace.acts.items[i].order = i;
}

/* Whether all but 5 % of the delay went there, and no more than that anywhere else. */
static bool lands(const uint64_t before[CAUSE_PLACES], const uint64_t after[CAUSE_PLACES],
		  enum cause cause)
{
	for (unsigned int place = 0; place < CAUSE_PLACES; place++) {
		const int64_t more = (int64_t)(after[place] - before[place]);

		if (place == CAUSE_PLACE(cause, WHERE_APPLICATION)) {
			if (more < DELAY - DELAY / 20)
				return false;
		} else if (more > DELAY / 20 || more < -(int64_t)DELAY / 20) {
			return false;
		}
	}
	return true;
}

/* A time at which the reader was at work for this message, in no call; 0: never. */
static const struct slice *at_work(const struct drawn *drawn)
{
	vec_for_each(drawn, d)
		if (!d->merged && d->slice.cause == CAUSE_APPLICATION &&
		    d->slice.core != CORE_UNKNOWN && !d->slice.detail &&
		    d->slice.end - d->slice.begin > 10)
			return &d->slice;
	return NULL;
}

/* 1: it landed where it should; 0: there was no place for it; -1: it didn't. */
static int check_delay(uint64_t seed, enum cause cause)
{
	uint64_t before[CAUSE_PLACES];
	const struct slice *place = NULL;
	struct host host;
	struct opened o;
	uint64_t id = 0;
	uint32_t subject = 0;
	bool good;

	host_init(&host, seed, STEPS);
	diagnose(&host, &o);
	for (uint32_t i = 0; i < o.rec.subjects.len && !place; i++) {
		place = at_work(&o.rec.drawn[i]);
		subject = i;
	}
	if (place) {
		id = subject_message(&o.rec, subject)->id;
		memcpy(before, o.rec.breakdowns[subject].ns, sizeof(before));
		put_in(&host, place->begin + 1 - TRACE_START, place->core,
		       subject_message(&o.rec, subject)->tid, cause);
	}
	release(&o);
	if (!id) {
		host_release(&host);
		return 0;
	}
	diagnose(&host, &o);
	subject = subject_of(&o.rec, id);
	good = lands(before, o.rec.breakdowns[subject].ns, cause) &&
	       !lands(before, o.rec.breakdowns[subject].ns, CAUSE_PAGE_FAULT);
	release(&o);
	host_release(&host);
	if (!good)
		printf("FAILED: a delay by %s in host %" PRIu64 "\n", cause_name(cause), seed);
	return good ? 1 : -1;
}

static bool check_delays(uint64_t hosts)
{
	static const enum cause causes[] = {
		CAUSE_INTERRUPT, CAUSE_SOFTIRQ, CAUSE_CPU_WAIT, CAUSE_HOSTLAT, CAUSE_STOPPED,
		CAUSE_IO_WAIT, CAUSE_LOCK, CAUSE_WINDOW,
	};
	uint64_t landed = 0;

	for (uint64_t seed = 1; seed <= hosts; seed++) {
		const int result = check_delay(seed, causes[seed % ARRAY_LEN(causes)]);

		if (result < 0)
			return false;
		landed += (uint64_t)result;
	}
	printf("%" PRIu64 " delays landed where they were put\n", landed);
	return landed * 20 > hosts;
}

/* ---- the whole ---- */

static bool mixed_up_fails(void)
{
	struct totals t = { 0 };
	bool good = true;

	mix_up = true;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct host host;

		host_init(&host, seed, STEPS);
		good &= compare_all(&host, true, &t);
		host_release(&host);
	}
	return !good;
}

static void show(const char *name, const struct totals *t)
{
	printf("%-12s %8" PRIu64 " messages %9" PRIu64 " stretches %5.1f %% blind; made up in %"
	       PRIu64 ", %" PRIu64 " ns at most\n", name, t->messages, t->stretches,
	       t->ns ? 100.0 * (double)t->blind / (double)t->ns : 0.0, t->made_up, t->worst);
}

int main(void)
{
	static const char *const names[] = { "1 % lost", "10 % lost", "a core lost" };
	const char *seed = getenv("HOSTLAT_SEED");
	const uint64_t n = getenv("HOSTLAT_LONG") ? HOSTS_LONG : HOSTS;
	struct totals whole = { 0 }, lossy[3] = { 0 };

	if (seed)
		return check_seed(strtoull(seed, NULL, 10), &whole, lossy) ? 0 : 1;
	for (uint64_t i = 1; i <= n; i++)
		if (!check_seed(i, &whole, lossy))
			return 1;
	show("whole", &whole);
	for (int i = 0; i < 3; i++)
		show(names[i], &lossy[i]);
	for (unsigned int cause = 0; cause < CAUSE_EXPECTED; cause++)
		printf("%s %.1f ms\n", cause_name(cause), 1e-6 * (double)whole.by_cause[cause]);
	for (int i = 0; i < 3; i++)
		if (lossy[i].blind <= whole.blind ||
		    lossy[i].made_up * MADE_UP_ONE_IN > lossy[i].messages)
			return 1;
	return check_delays(n / 8) && mixed_up_fails() ? 0 : 1;
}
