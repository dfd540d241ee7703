/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLACES (2UL * MARK_THREADS) /* open addressing */
#define LINK_UNKNOWN UINT32_MAX

static const struct {
	const char *name;
	bool excluded;
} reasons[MARKS_MAX] = {
	[MARKS_OLDER] = { "thread-older", true },
	[MARKS_NOTHING] = { "nothing-received", true },
	[MARKS_NO_BEGIN] = { "end-without-begin", true },
	[MARKS_NO_END] = { "begin-without-end", true },
	[MARKS_NO_ID] = { "mark-without-id", true },
	[MARKS_SEVERAL] = { "several-sockets", false },
	[MARKS_UNCLEAR] = { "read-before-end", false },
	[MARKS_ARRIVAL] = { "arrival-unknown", false },
	[MARKS_LOST] = { "marks-incomplete", false },
	[MARKS_FULL] = { "marks-full", false },
};

/* What a thread has read that no mark has taken yet. */
struct pending {
	struct told_message m; /* the oldest; bytes and youngest: of all */
	uint64_t since, until; /* when the first and the last one were read */
	bool some, several, unclear, no_arrival;
};

struct thread {
	bool used;
	uint32_t tid;
	bool known;      /* all that it has read since `lost` was so much is told */
	bool clean;      /* ... and is of its own call; see taken() */
	bool open;       /* by thread: it has begun */
	bool broken;     /* ... and is counted already */
	uint64_t born;   /* 0: not known yet */
	uint64_t lost;
	uint64_t marks;  /* that it has fired */
	uint64_t begun;
	uint16_t begin_core;
	struct pending read;
};

/* By id: a message that has begun. */
struct open {
	bool used;
	uint32_t pid;
	uint64_t id;
	struct marked message;
	enum marks_missed why; /* it is counted already */
	uint64_t lost, marks;
};

struct marks {
	struct thread threads[PLACES];
	struct open open[PLACES];
	uint32_t n_threads, n_open;
	bool by_id;
	uint64_t since;
	uint64_t lost, lost_at; /* so many were lost when this was first seen */
	uint64_t missed[MARKS_MAX];
	marks_done *done;
	void *ctx;
};

int marks_new(struct marks **out, bool by_id, uint64_t since, uint64_t lost, marks_done *done,
	      void *ctx)
{
	struct marks *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	s->by_id = by_id;
	s->since = since;
	s->lost = lost;
	s->lost_at = since;
	s->done = done;
	s->ctx = ctx;
	return 0;
}

void marks_free(struct marks *s)
{
	free(s);
}

uint64_t marks_missed(const struct marks *s, enum marks_missed why)
{
	return s->missed[why];
}

bool marks_excluded(enum marks_missed why)
{
	return reasons[why].excluded;
}

const char *marks_reason(enum marks_missed why)
{
	return reasons[why].name;
}

/* ---- tables ---- */

static uint32_t place_of(uint64_t key)
{
	const uint64_t golden = 0x9e3779b97f4a7c15ULL;

	return (uint32_t)(key * golden >> 40) & (PLACES - 1);
}

static struct thread *find_thread(struct marks *s, uint32_t tid)
{
	uint32_t at = place_of(tid);

	while (s->threads[at].used && s->threads[at].tid != tid)
		at = (at + 1) & (PLACES - 1);
	return &s->threads[at];
}

static struct thread *thread_of(struct marks *s, uint32_t tid, uint64_t now)
{
	struct thread *t = find_thread(s, tid);

	if (t->used)
		return t;
	if (s->n_threads == MARK_THREADS) { /* their next messages are `older` ones */
		for (size_t i = 0; i < PLACES; i++)
			s->missed[MARKS_FULL] += s->threads[i].open && !s->threads[i].broken;
		memset(s->threads, 0, sizeof(s->threads));
		s->n_threads = 0;
		t = find_thread(s, tid);
		s->since = now;
	}
	s->n_threads++;
	*t = (struct thread){ .used = true, .tid = tid };
	return t;
}

static struct open *open_of(struct marks *s, uint32_t pid, uint64_t id)
{
	uint32_t at = place_of(id ^ (uint64_t)pid << 40);

	while (s->open[at].used && (s->open[at].id != id || s->open[at].pid != pid))
		at = (at + 1) & (PLACES - 1);
	return &s->open[at];
}

static struct open *open_new(struct marks *s, uint32_t pid, uint64_t id)
{
	struct open *o = open_of(s, pid, id);

	if (!o->used && s->n_open == MARK_THREADS) {
		for (size_t i = 0; i < PLACES; i++)
			s->missed[MARKS_FULL] += s->open[i].used && !s->open[i].why;
		memset(s->open, 0, sizeof(s->open));
		s->n_open = 0;
		o = open_of(s, pid, id);
	}
	s->n_open += !o->used;
	return o;
}

/* Those behind it move up, so that none is cut off from where it is looked for. */
static void open_remove(struct marks *s, struct open *o)
{
	uint32_t hole = (uint32_t)(o - s->open), at = hole;

	s->open[hole].used = false;
	s->n_open--;
	for (;;) {
		uint32_t want;

		at = (at + 1) & (PLACES - 1);
		if (!s->open[at].used)
			return;
		want = place_of(s->open[at].id ^ (uint64_t)s->open[at].pid << 40);
		if (((at - want) & (PLACES - 1)) < ((at - hole) & (PLACES - 1)))
			continue;
		s->open[hole] = s->open[at];
		s->open[at].used = false;
		hole = at;
	}
}

/* ---- reads ---- */

static bool same_socket(const struct told_flow *a, const struct told_flow *b)
{
	return a->sk == b->sk && a->cookie == b->cookie && a->netns == b->netns &&
	       a->proto == b->proto && a->local_port == b->local_port &&
	       a->remote_port == b->remote_port && !memcmp(a->remote, b->remote, sizeof(a->remote));
}

static uint64_t arrival(const struct told_message *m)
{
	return m->enqueued - (m->link < m->enqueued ? m->link : m->enqueued);
}

void marks_read(struct marks *s, const struct told_message *m)
{
	const uint32_t bytes = m->bytes;
	struct pending *p;
	struct thread *t;
	uint64_t youngest;

	if (!m->tid) { /* somebody's, who is about to have one too few */
		s->missed[MARKS_ARRIVAL]++;
		return;
	}
	t = thread_of(s, m->tid, m->read);
	if (t->open)
		return;
	p = &t->read;
	p->no_arrival |= m->link == LINK_UNKNOWN;
	p->until = m->read;
	if (!p->some) {
		p->some = true;
		p->since = m->read;
		p->m = *m;
		return;
	}
	p->several |= !same_socket(&p->m.flow, &m->flow);
	youngest = m->youngest > p->m.youngest ? m->youngest : p->m.youngest;
	if (arrival(m) < arrival(&p->m)) { /* it overtook the others: its way is the message's */
		const uint32_t before = p->m.bytes;

		p->m = *m;
		p->m.bytes = before;
	}
	p->m.bytes += bytes;
	p->m.youngest = youngest;
}

static enum marks_missed judge(const struct thread *t, const struct told_mark *m)
{
	if (!t->known)
		return MARKS_OLDER;
	if (t->lost != m->lost)
		return MARKS_LOST;
	if (!t->read.some)
		return MARKS_NOTHING;
	if (!t->clean)
		return MARKS_OLDER;
	if (t->read.several)
		return MARKS_SEVERAL;
	if (t->read.unclear)
		return MARKS_UNCLEAR;
	return t->read.no_arrival ? MARKS_ARRIVAL : MARKS_MET;
}

/*
 * Where reads are told by a function's exit, a call that was entered before the start isn't, and
 * what it took is told as the next one's: the first that a thread is told to have read proves
 * nothing.
 */
static void taken(struct thread *t, const struct told_mark *m)
{
	t->clean |= t->read.some;
	t->read = (struct pending){ 0 };
	t->open = t->broken = false;
	t->known = true;
	t->lost = m->lost;
}

/* ---- marks ---- */

/* Whose it is. A thread's number may have been another one's, who has read something. */
static struct thread *who(struct marks *s, const struct told_mark *m)
{
	struct thread *t = thread_of(s, m->tid, m->time);

	if (t->born && t->born != m->born)
		*t = (struct thread){ .used = true, .tid = m->tid, .read = t->read };
	if (!t->born && t->read.until < m->born)
		t->read = (struct pending){ 0 };
	t->read.several |= t->read.some && t->read.since < m->born;
	if (!t->born && m->born > s->since)
		t->known = t->clean = true;
	if (!t->born && !t->known)
		t->lost = m->lost;
	else if (!t->born)
		t->lost = m->born > s->lost_at ? s->lost : m->lost - 1; /* maybe one of its own */
	t->born = m->born;
	t->marks++;
	return t;
}

static void begins(struct marks *s, struct thread *t, const struct told_mark *m)
{
	if (t->open) { /* where this one began is not known: it, too, is left */
		if (!t->broken)
			s->missed[t->lost == m->lost ? MARKS_NO_END : MARKS_LOST]++;
		t->broken = true;
		return;
	}
	t->open = true;
	t->begun = m->time;
	t->begin_core = m->core;
}

static void ends(struct marks *s, struct thread *t, const struct told_mark *m)
{
	enum marks_missed why = judge(t, m);
	struct marked message = { .m = t->read.m, .begun = t->begun, .begin_core = t->begin_core,
				  .ended = m->time, .end_core = m->core };

	if (!t->open && t->known && why != MARKS_LOST)
		why = MARKS_NO_BEGIN;
	if (!t->broken && why)
		s->missed[why]++;
	else if (!t->broken)
		s->done(s->ctx, &message);
	taken(t, m);
}

static void id_begins(struct marks *s, struct thread *t, const struct told_mark *m)
{
	struct open *o = open_new(s, m->pid, m->id);

	s->missed[MARKS_NO_END] += o->used && !o->why;
	*o = (struct open){
		.used = true, .pid = m->pid, .id = m->id, .why = judge(t, m), .lost = m->lost,
		.message = { .m = t->read.m, .begun = m->time, .begin_core = m->core },
		.marks = t->marks,
	};
	if (o->why)
		s->missed[o->why]++;
	taken(t, m);
}

static void id_ends(struct marks *s, struct thread *t, const struct told_mark *m)
{
	struct open *o = open_of(s, m->pid, m->id);

	t->read.unclear |= t->read.some;
	if (!o->used) {
		s->missed[MARKS_NO_BEGIN]++;
		return;
	}
	o->message.ended = m->time;
	o->message.end_core = m->core;
	o->message.handed = o->message.m.tid != m->tid || t->marks != o->marks + 1;
	if (!o->why && o->lost != m->lost)
		s->missed[MARKS_LOST]++;
	else if (!o->why)
		s->done(s->ctx, &o->message);
	open_remove(s, o);
}

void marks_mark(struct marks *s, const struct told_mark *m)
{
	struct thread *t = who(s, m);

	if (s->lost != m->lost) {
		s->lost = m->lost;
		s->lost_at = m->time;
	}
	if (!s->by_id && m->end)
		ends(s, t, m);
	else if (!s->by_id)
		begins(s, t, m);
	else if (!m->has_id)
		s->missed[MARKS_NO_ID]++;
	else if (m->end)
		id_ends(s, t, m);
	else
		id_begins(s, t, m);
}
