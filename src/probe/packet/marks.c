/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLACES (2UL * MARK_THREADS) /* size of hash tables with open addressing */
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

/* Reads of a thread since its last mark that ended or began a message. */
struct marks_reads {
	struct msg_record m; /* read of the first packet; `bytes` and `youngest` cover all reads */
	uint64_t since, until; /* times of the first and the last read */
	bool some, several, unclear, no_arrival;
};

struct marks_thread {
	bool used;
	uint32_t tid;
	bool known;      /* all reads are known, unless more than `lost` records were lost */
	bool clean;      /* no read can have bytes of a read call that began before recording */
	bool open;       /* a begin mark has begun a message (only for marks without ids) */
	bool broken;     /* the open message is already counted as missed */
	uint64_t born;   /* start time of the thread; 0: not known yet */
	uint64_t lost;
	uint64_t marks;  /* number of marks that the thread has fired */
	uint64_t begun;
	uint16_t begin_core;
	struct marks_reads read;
};

/* A message that a begin mark with an id has begun. */
struct marks_open {
	bool used;
	uint32_t pid;
	uint64_t id;
	struct marked message;
	/* reason why the message is already counted as missed; MARKS_MET: it is not */
	enum marks_missed why;
	uint64_t lost, marks;
};

struct marks {
	struct marks_thread threads[PLACES];
	struct marks_open open[PLACES];
	uint32_t n_threads, n_open;
	bool by_id;
	uint64_t since;
	uint64_t lost, lost_at; /* number of lost records, and when it was first seen */
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

static uint32_t marks_place(uint64_t key)
{
	const uint64_t golden = 0x9e3779b97f4a7c15ULL;

	return (uint32_t)(key * golden >> 40) & (PLACES - 1);
}

static struct marks_thread *marks_find_thread(struct marks *s, uint32_t tid)
{
	uint32_t at = marks_place(tid);

	while (s->threads[at].used && s->threads[at].tid != tid)
		at = (at + 1) & (PLACES - 1);
	return &s->threads[at];
}

static struct marks_thread *marks_get_thread(struct marks *s, uint32_t tid, uint64_t now)
{
	struct marks_thread *t = marks_find_thread(s, tid);

	if (t->used)
		return t;
	/* The table is full: forgets all threads. Their next messages are missed (MARKS_OLDER). */
	if (s->n_threads == MARK_THREADS) {
		for (size_t i = 0; i < PLACES; i++)
			s->missed[MARKS_FULL] += s->threads[i].open && !s->threads[i].broken;
		memset(s->threads, 0, sizeof(s->threads));
		s->n_threads = 0;
		t = marks_find_thread(s, tid);
		s->since = now;
	}
	s->n_threads++;
	*t = (struct marks_thread){ .used = true, .tid = tid };
	return t;
}

static struct marks_open *marks_open_find(struct marks *s, uint32_t pid, uint64_t id)
{
	uint32_t at = marks_place(id ^ (uint64_t)pid << 40);

	while (s->open[at].used && (s->open[at].id != id || s->open[at].pid != pid))
		at = (at + 1) & (PLACES - 1);
	return &s->open[at];
}

static struct marks_open *marks_open_add(struct marks *s, uint32_t pid, uint64_t id)
{
	struct marks_open *o = marks_open_find(s, pid, id);

	if (!o->used && s->n_open == MARK_THREADS) {
		for (size_t i = 0; i < PLACES; i++)
			s->missed[MARKS_FULL] += s->open[i].used && !s->open[i].why;
		memset(s->open, 0, sizeof(s->open));
		s->n_open = 0;
		o = marks_open_find(s, pid, id);
	}
	s->n_open += !o->used;
	return o;
}

/* Removes an entry; moves later ones of the probe sequence up, so that lookups still find them. */
static void marks_open_remove(struct marks *s, struct marks_open *o)
{
	uint32_t hole = (uint32_t)(o - s->open), at = hole;

	s->open[hole].used = false;
	s->n_open--;
	for (;;) {
		uint32_t want;

		at = (at + 1) & (PLACES - 1);
		if (!s->open[at].used)
			return;
		want = marks_place(s->open[at].id ^ (uint64_t)s->open[at].pid << 40);
		if (((at - want) & (PLACES - 1)) < ((at - hole) & (PLACES - 1)))
			continue;
		s->open[hole] = s->open[at];
		s->open[at].used = false;
		hole = at;
	}
}

/* ---- reads ---- */

static bool marks_same_socket(const struct msg_flow *a, const struct msg_flow *b)
{
	return a->sk == b->sk && a->cookie == b->cookie && a->netns == b->netns &&
	       a->proto == b->proto && a->local_port == b->local_port &&
	       a->remote_port == b->remote_port && !memcmp(a->remote, b->remote, sizeof(a->remote));
}

static uint64_t marks_arrival(const struct msg_record *m)
{
	return m->enqueued - (m->link < m->enqueued ? m->link : m->enqueued);
}

void marks_add_read(struct marks *s, const struct msg_record *m)
{
	const uint32_t bytes = m->bytes;
	struct marks_reads *p;
	struct marks_thread *t;
	uint64_t youngest;

	if (!m->tid) { /* unknown reader */
		s->missed[MARKS_ARRIVAL]++;
		return;
	}
	t = marks_get_thread(s, m->tid, m->read);
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
	p->several |= !marks_same_socket(&p->m.flow, &m->flow);
	youngest = m->youngest > p->m.youngest ? m->youngest : p->m.youngest;
	if (marks_arrival(m) <
	    marks_arrival(&p->m)) { /* this read's packet came first: takes its times */
		const uint32_t before = p->m.bytes;

		p->m = *m;
		p->m.bytes = before;
	}
	p->m.bytes += bytes;
	p->m.youngest = youngest;
}

static enum marks_missed marks_why_missed(const struct marks_thread *t, const struct msg_mark *m)
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
 * Forgets the reads that a mark has used. A thread's first reads are not reliable: a hook at a
 * function's exit misses a read call entered before the start, whose bytes then count for the next
 * call.
 */
static void marks_reset_reads(struct marks_thread *t, const struct msg_mark *m)
{
	t->clean |= t->read.some;
	t->read = (struct marks_reads){ 0 };
	t->open = t->broken = false;
	t->known = true;
	t->lost = m->lost;
}

/* ---- marks ---- */

/* Returns the mark's thread, without state of an earlier thread with the same number. */
static struct marks_thread *marks_identify_thread(struct marks *s, const struct msg_mark *m)
{
	struct marks_thread *t = marks_get_thread(s, m->tid, m->time);

	if (t->born && t->born != m->born)
		*t = (struct marks_thread){ .used = true, .tid = m->tid, .read = t->read };
	if (!t->born && t->read.until < m->born)
		t->read = (struct marks_reads){ 0 };
	t->read.several |= t->read.some && t->read.since < m->born;
	if (!t->born && m->born > s->since)
		t->known = t->clean = true;
	if (!t->born && !t->known)
		t->lost = m->lost;
	else if (!t->born)
		/*
		 * If a record was lost since the thread's start, it may be the thread's: a number
		 * other than m->lost lets the thread's first message count as MARKS_LOST.
		 */
		t->lost = m->born > s->lost_at ? s->lost : m->lost - 1;
	t->born = m->born;
	t->marks++;
	return t;
}

static void marks_thread_begins(struct marks *s, struct marks_thread *t, const struct msg_mark *m)
{
	if (t->open) { /* a second begin mark: the message's begin is ambiguous, it is missed */
		if (!t->broken)
			s->missed[t->lost == m->lost ? MARKS_NO_END : MARKS_LOST]++;
		t->broken = true;
		return;
	}
	t->open = true;
	t->begun = m->time;
	t->begin_core = m->core;
}

static void marks_thread_ends(struct marks *s, struct marks_thread *t, const struct msg_mark *m)
{
	enum marks_missed why = marks_why_missed(t, m);
	struct marked message = { .m = t->read.m, .begun = t->begun, .begin_core = t->begin_core,
				  .ended = m->time, .end_core = m->core };

	if (!t->open && t->known && why != MARKS_LOST)
		why = MARKS_NO_BEGIN;
	if (!t->broken && why)
		s->missed[why]++;
	else if (!t->broken)
		s->done(s->ctx, &message);
	marks_reset_reads(t, m);
}

static void marks_id_begins(struct marks *s, struct marks_thread *t, const struct msg_mark *m)
{
	struct marks_open *o = marks_open_add(s, m->pid, m->id);

	s->missed[MARKS_NO_END] += o->used && !o->why;
	*o = (struct marks_open){
		.used = true, .pid = m->pid, .id = m->id, .why = marks_why_missed(t, m),
		.lost = m->lost,
		.message = { .m = t->read.m, .begun = m->time, .begin_core = m->core },
		.marks = t->marks,
	};
	if (o->why)
		s->missed[o->why]++;
	marks_reset_reads(t, m);
}

static void marks_id_ends(struct marks *s, struct marks_thread *t, const struct msg_mark *m)
{
	struct marks_open *o = marks_open_find(s, m->pid, m->id);

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
	marks_open_remove(s, o);
}

void marks_add_mark(struct marks *s, const struct msg_mark *m)
{
	struct marks_thread *t = marks_identify_thread(s, m);

	if (s->lost != m->lost) {
		s->lost = m->lost;
		s->lost_at = m->time;
	}
	if (!s->by_id && m->end)
		marks_thread_ends(s, t, m);
	else if (!s->by_id)
		marks_thread_begins(s, t, m);
	else if (!m->has_id)
		s->missed[MARKS_NO_ID]++;
	else if (m->end)
		marks_id_ends(s, t, m);
	else
		marks_id_begins(s, t, m);
}
