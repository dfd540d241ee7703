/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/subjects.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/sort.h"

/* The reference "fastest" is this share of an application's messages, AGAINST_AUTO's this one. */
#define FASTEST 0.01
#define FASTEST_AUTO 0.1

/* The usual messages of an application: this slice of its latencies. */
#define USUAL_FROM 0.4
#define USUAL_TO   0.6

/* How many times as many of the slowest messages as are targets are divided by cause. */
#define NEAR_TIMES 5u

/* A send call that returns this much later, in ns, counts as returned when its last byte left. */
#define RETURN_MAX_NS NS_PER_S

/* ---- selection of targets and references ---- */

/* A message in the order of latency; equal latencies are ordered by id. */
struct ranked {
	uint64_t latency;
	uint64_t id;
	uint32_t place;
	uint32_t pid;
};

static int subjects_order_by_latency(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return sort_order(x->latency, y->latency) ?: sort_order(x->id, y->id);
}

static int subjects_order_by_application(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return subjects_order_by_latency(a, b);
}

/* splitmix64's finalizer (Steele, Lea, Flood 2014): no order of ids can bias a sample by it. */
static uint64_t subjects_hash(uint64_t id)
{
	id = (id ^ id >> 30) * 0xbf58476d1ce4e5b9ULL;
	id = (id ^ id >> 27) * 0x94d049bb133111ebULL;
	return id ^ id >> 31;
}

static int subjects_order_by_hash(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	const uint64_t hx = subjects_hash(x->id), hy = subjects_hash(y->id);

	return hx < hy ? -1 : hx > hy;
}

/* Returns a slice of n ranked messages as [*begin, *end): at least one if n > 0. */
static void subjects_slice(size_t n, double from, double to, size_t *begin, size_t *end)
{
	*begin = (size_t)floor((double)n * from);
	*end = (size_t)ceil((double)n * to);
	if (*end > n)
		*end = n;
	if (*begin >= *end && *end)
		*begin = *end - 1;
}

enum { MARK_TARGET = 1, MARK_REFERENCE = 2, MARK_USUAL = 4, MARK_NEAR = 8 };

static void subjects_mark_slice(const struct ranked *ranked, size_t begin, size_t end,
				unsigned char mark, unsigned char *marks)
{
	for (size_t i = begin; i < end; i++)
		marks[ranked[i].place] |= mark;
}

static uint64_t subjects_mark_targets(const struct ranked *ranked, size_t n,
				      const struct message_selection *s, unsigned char *marks)
{
	uint64_t dropped = 0;
	size_t begin, end, near;

	subjects_slice(n, s->from, s->to, &begin, &end);
	if (s->slowest) {
		begin = n > s->slowest ? n - s->slowest : 0;
		end = n;
	}
	if (end - begin > SUBJECTS_MAX) {
		dropped = end - begin - SUBJECTS_MAX;
		begin = end - SUBJECTS_MAX;
	}
	subjects_mark_slice(ranked, begin, end, MARK_TARGET, marks);
	near = (end - begin) * NEAR_TIMES;
	near = near < SUBJECTS_MAX ? near : SUBJECTS_MAX;
	if (s->wider && end == n)
		subjects_mark_slice(ranked, near < n ? n - near : 0, begin, MARK_NEAR, marks);
	return dropped;
}

/*
 * Marks a slice of one application's messages, of a large slice a sample. `ranked`: its messages by
 * latency, of which those in the slice lose their order.
 */
static void subjects_mark_sample(struct ranked *ranked, size_t n, double from, double to,
				 unsigned char mark, unsigned char *marks)
{
	size_t begin, end;

	subjects_slice(n, from, to, &begin, &end);
	if (!begin && end < REFERENCE_MIN)
		end = n < REFERENCE_MIN ? n : REFERENCE_MIN;
	if (end - begin > REFERENCE_MAX) {
		qsort(ranked + begin, end - begin, sizeof(*ranked), subjects_order_by_hash);
		end = begin + REFERENCE_MAX;
	}
	subjects_mark_slice(ranked, begin, end, mark, marks);
}

/* Returns whether the median of an application's messages, in order, is far above p5. */
static bool subjects_usual_is_slow(const struct ranked *ranked, size_t n)
{
	return n >= USUAL_MIN && ranked[n / 2].latency > USUAL_SLOW * ranked[n / 20].latency;
}

/* Marks the references of one application. `ranked`: its messages by latency. */
static void subjects_mark_references(struct ranked *ranked, size_t n,
				     const struct message_selection *s, unsigned char *marks,
				     struct selection_out *result)
{
	const bool slow = s->against == AGAINST_AUTO && subjects_usual_is_slow(ranked, n);

	result->usual_is_slow += slow;
	result->usual_is_fast += !slow;
	if (s->against == AGAINST_FASTEST || slow)
		subjects_mark_sample(ranked, n, 0, slow ? FASTEST_AUTO : FASTEST, MARK_REFERENCE,
				     marks);
	else
		subjects_mark_sample(ranked, n, s->against_from, s->against_to, MARK_REFERENCE,
				     marks);
	qsort(ranked, n, sizeof(*ranked), subjects_order_by_latency);
	if (s->wider)
		subjects_mark_sample(ranked, n, USUAL_FROM, USUAL_TO, MARK_USUAL, marks);
}

static bool subjects_any_target(const struct ranked *ranked, size_t n, const unsigned char *marks)
{
	for (size_t i = 0; i < n; i++)
		if (marks[ranked[i].place] & MARK_TARGET)
			return true;
	return false;
}

static void subjects_mark(const struct messages *messages, const struct message_selection *s,
			  struct ranked *ranked, unsigned char *marks,
			  struct selection_out *result)
{
	const size_t n = messages->all.len;
	size_t end;

	for (size_t i = 0; i < n; i++) {
		const struct message *m = &messages->all.items[i];

		ranked[i] = (struct ranked){ message_latency(m), m->id, (uint32_t)i, m->pid };
	}
	qsort(ranked, n, sizeof(*ranked), subjects_order_by_latency);
	result->dropped = subjects_mark_targets(ranked, n, s, marks);
	qsort(ranked, n, sizeof(*ranked), subjects_order_by_application);
	for (size_t begin = 0; begin < n; begin = end) {
		end = begin + 1;
		while (end < n && ranked[end].pid == ranked[begin].pid)
			end++;
		if (subjects_any_target(ranked + begin, end - begin, marks))
			subjects_mark_references(ranked + begin, end - begin, s, marks, result);
	}
}

/* ---- pieces of the selected messages ---- */

struct by_id {
	uint64_t id;
	uint32_t subject;
};

struct collecting {
	const struct messages *messages;
	struct subjects *subjects;
	struct by_id *ids;
};

static int subjects_compare_ids(const void *a, const void *b)
{
	const struct by_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int subjects_add_pieces(void *ctx, const struct event *event)
{
	const struct collecting *c = ctx;
	const struct event_message *e = event->payload;
	const struct event_piece *piece = (const void *)(e + 1);
	const struct by_id key = { .id = e->id };
	const struct by_id *found;
	struct subject *subject;

	if ((e->direction != DIR_INGRESS) != (c->messages->departures != NULL))
		return 0;
	found = bsearch(&key, c->ids, c->subjects->len, sizeof(key), subjects_compare_ids);
	if (!found)
		return 0;
	subject = &c->subjects->items[found->subject];
	subject->n = e->n <= PIECES_MAX ? e->n : 0;
	memcpy(subject->pieces, piece, subject->n * sizeof(*piece));
	subject->returned = e->last;
	if (e->last > event->time && e->last - event->time > RETURN_MAX_NS)
		subject->returned = event->time;
	return 0;
}

static int subjects_collect_pieces(const struct messages *messages, struct event_reader *reader,
				   struct subjects *subjects)
{
	struct collecting c = { messages, subjects, calloc(subjects->len + 1, sizeof(*c.ids)) };
	uint32_t damage = 0; /* not used: the first pass over the recording counted the damage */
	int err;

	if (!c.ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < subjects->len; i++)
		c.ids[i] = (struct by_id){
			messages->all.items[subjects->items[i].message].id, i };
	qsort(c.ids, subjects->len, sizeof(*c.ids), subjects_compare_ids);
	err = messages_each(reader, subjects_add_pieces, &c, &damage);
	free(c.ids);
	return err;
}

int subjects_select(const struct messages *messages, const struct message_selection *selection,
		    const bool *also, struct event_reader *reader, struct subjects *out,
		    struct selection_out *result)
{
	const size_t n = messages->all.len;
	struct ranked *ranked = calloc(n + 1, sizeof(*ranked));
	unsigned char *marks = calloc(n + 1, 1);
	int err = ranked && marks ? 0 : -ENOMEM;

	vec_init(out, n + 1);
	*result = (struct selection_out){ 0 };
	if (!err)
		subjects_mark(messages, selection, ranked, marks, result);
	free(ranked);
	for (uint32_t i = 0; !err && i < n; i++) {
		if (marks[i] || (also && also[i]))
			err = vec_push(out, (struct subject){
				.message = i, .target = marks[i] & MARK_TARGET,
				.reference = marks[i] & MARK_REFERENCE,
				.usual = marks[i] & MARK_USUAL, .near = marks[i] & MARK_NEAR });
	}
	free(marks);
	return err || !out->len ? err : subjects_collect_pieces(messages, reader, out);
}
