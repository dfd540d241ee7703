/* SPDX-License-Identifier: Apache-2.0 */
/* The server's queue: first come, first served, by N servers that stall at the same times. */
#include "load/serve_queue.h"

#include <errno.h>

/*
 * Computes in active (not stalled) time: `done` is the active time between the begin of the last
 * stall and `start_ns`.
 */
uint64_t serve_stall_after(const struct serve_stall *stall, uint64_t start_ns, uint64_t work_ns)
{
	uint64_t active, phase, done, total, periods;

	if (!stall->length_ns)
		return start_ns + work_ns;
	active = stall->every_ns - stall->length_ns;
	phase = start_ns % stall->every_ns;
	done = phase > stall->length_ns ? phase - stall->length_ns : 0;
	total = done + work_ns;
	/* If work ends exactly when a stall begins, it ends before the stall. */
	periods = total ? (total - 1) / active : 0;
	return start_ns - phase + periods * stall->every_ns + stall->length_ns +
	       (total - periods * active);
}

int serve_queue_init(struct serve_queue *queue, uint32_t servers, const struct serve_stall *stall)
{
	BUG_ON(!servers || servers > SERVE_WORKERS_MAX);
	queue->stall = *stall;
	queue->servers = servers;
	queue->free_at = calloc(servers, sizeof(*queue->free_at));
	return queue->free_at ? 0 : -ENOMEM;
}

void serve_queue_release(struct serve_queue *queue)
{
	if (!queue)
		return;
	free(queue->free_at);
	queue->free_at = NULL;
}

uint64_t serve_queue_enter(struct serve_queue *queue, uint64_t arrival_ns, uint64_t service_ns)
{
	uint64_t *free_at = queue->free_at;
	uint64_t start = arrival_ns > free_at[0] ? arrival_ns : free_at[0];
	uint64_t leaves = serve_stall_after(&queue->stall, start, service_ns);
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < queue->servers) {
		if (child + 1 < queue->servers && free_at[child + 1] < free_at[child])
			child++;
		if (free_at[child] >= leaves)
			break;
		free_at[at] = free_at[child];
		at = child;
	}
	free_at[at] = leaves;
	return leaves;
}

static bool serve_due_before(const struct serve_due *a, const struct serve_due *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

int serve_agenda_put(struct serve_agenda *agenda, uint64_t at_ns, void *what)
{
	struct serve_due due = { at_ns, agenda->number++, what };
	size_t at = agenda->heap.len;
	int err = vec_push(&agenda->heap, due);

	if (err)
		return err;
	while (at && serve_due_before(&due, &agenda->heap.items[(at - 1) / 2])) {
		agenda->heap.items[at] = agenda->heap.items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	agenda->heap.items[at] = due;
	return 0;
}

const struct serve_due *serve_agenda_first(const struct serve_agenda *agenda)
{
	return agenda->heap.len ? agenda->heap.items : NULL;
}

void serve_agenda_drop_first(struct serve_agenda *agenda)
{
	struct serve_due last = vec_pop(&agenda->heap), *items = agenda->heap.items;
	size_t n = agenda->heap.len, at = 0, child;

	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n && serve_due_before(&items[child + 1], &items[child]))
			child++;
		if (!serve_due_before(&items[child], &last))
			break;
		items[at] = items[child];
		at = child;
	}
	if (n)
		items[at] = last;
}
