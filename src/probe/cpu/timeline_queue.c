/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cpu/timeline_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/vec.h"

struct timeline_queue_item {
	uint64_t time; /* sort key; ACT_NAME (a task's name) has the time of the event before it */
	struct act act;
};

struct timeline_queue_core {
	struct waiting_vec VEC_OF(struct timeline_queue_item) acts; /* events, sorted by time */
	size_t done;   /* number of leading `acts` that are removed */
	uint64_t next; /* time of the first waiting event; UINT64_MAX: none */
};

struct timeline_queue {
	struct timeline_queue_core *cores;
	void **heap;   /* heap of pointers to `cores`, by `next` */
	uint32_t n;
};

int timeline_queue_new(struct timeline_queue **out, uint32_t cores)
{
	struct timeline_queue *q = calloc(1, sizeof(*q));

	*out = q;
	if (!q)
		return -ENOMEM;
	q->cores = calloc(cores, sizeof(*q->cores));
	q->heap = calloc(cores, sizeof(*q->heap));
	if (!q->cores || !q->heap) {
		timeline_queue_free(q);
		*out = NULL;
		return -ENOMEM;
	}
	q->n = cores;
	for (uint32_t i = 0; i < cores; i++) {
		vec_init(&q->cores[i].acts, TIMELINE_QUEUE_MAX);
		q->cores[i].next = UINT64_MAX;
		q->heap[i] = &q->cores[i];
	}
	return 0;
}

void timeline_queue_free(struct timeline_queue *q)
{
	if (!q)
		return;
	for (uint32_t i = 0; i < q->n; i++)
		vec_release(&q->cores[i].acts);
	free(q->cores);
	free(q->heap);
	free(q);
}

static void timeline_queue_forget_done(struct timeline_queue_core *c)
{
	c->acts.len -= c->done;
	if (c->acts.len)
		memmove(c->acts.items, c->acts.items + c->done,
			c->acts.len * sizeof(*c->acts.items));
	c->done = 0;
}

static void timeline_queue_set_next(struct timeline_queue_core *c)
{
	c->next = c->done < c->acts.len ? c->acts.items[c->done].time : UINT64_MAX;
}

int timeline_queue_put(struct timeline_queue *q, uint32_t core, const struct act *act)
{
	struct timeline_queue_core *c = &q->cores[core];
	uint64_t time = act->time;
	size_t at;
	int err;

	if (c->done > c->acts.len / 2)
		timeline_queue_forget_done(c);
	if (act->type == ACT_NAME)
		time = c->acts.len > c->done ? vec_last(&c->acts)->time : 0;
	err = vec_push(&c->acts, (struct timeline_queue_item){ time, *act });
	if (err)
		return err;
	for (at = c->acts.len - 1; at > c->done && c->acts.items[at - 1].time > time; at--)
		c->acts.items[at] = c->acts.items[at - 1];
	c->acts.items[at] = (struct timeline_queue_item){ time, *act };
	timeline_queue_set_next(c);
	return 0;
}

static bool timeline_queue_before(const void *a, const void *b)
{
	const struct timeline_queue_core *x = a, *y = b;

	return x->next != y->next ? x->next < y->next : x < y;
}

void timeline_queue_order(struct timeline_queue *q)
{
	heap_order(q->heap, q->n, timeline_queue_before);
}

bool timeline_queue_next(struct timeline_queue *q, uint64_t until, uint32_t *core, struct act *act)
{
	struct timeline_queue_core *c = q->heap[0];

	if (c->done == c->acts.len || c->next > until)
		return false;
	*core = (uint32_t)(c - q->cores);
	*act = c->acts.items[c->done++].act;
	timeline_queue_set_next(c);
	heap_sift(q->heap, q->n, 0, timeline_queue_before);
	return true;
}

uint64_t timeline_queue_middle(const struct timeline_queue *q, uint32_t core)
{
	const struct timeline_queue_core *c = &q->cores[core];

	return c->acts.items[c->done + (c->acts.len - c->done) / 2].time;
}
