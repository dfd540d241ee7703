// SPDX-License-Identifier: Apache-2.0
#include "event/merge.h"

#include <errno.h>
#include <stdlib.h>

/* One source and its next record. */
struct cursor {
	struct event_source *source;
	uint32_t number;
	struct event_block block;
	size_t at;
	struct event event;
};

struct event_merge {
	uint32_t n;		/* cursors in the heap: those that have a record */
	bool taken;		/* the first cursor's record was handed out */
	struct cursor *heap[EVENT_MERGE_MAX];
	struct cursor cursors[];
};

/* 1, 0 at the source's end, or -errno. */
static int advance(struct cursor *cursor)
{
	while (!event_block_next(&cursor->block, &cursor->at, &cursor->event)) {
		int got;

		do {
			got = event_source_next(cursor->source, &cursor->block);
		} while (got > 0 && cursor->block.record_size);
		if (got <= 0) {
			cursor->block.size = 0;
			return got;
		}
		cursor->at = 0;
	}
	return 1;
}

static bool before(const struct cursor *a, const struct cursor *b)
{
	if (a->event.time != b->event.time)
		return a->event.time < b->event.time;
	return a->number < b->number;
}

static void swap(struct event_merge *merge, uint32_t a, uint32_t b)
{
	struct cursor *cursor = merge->heap[a];

	merge->heap[a] = merge->heap[b];
	merge->heap[b] = cursor;
}

static void sift_down(struct event_merge *merge, uint32_t at)
{
	for (;;) {
		const uint32_t first = 2 * at + 1;
		uint32_t least = at;

		for (uint32_t child = first; child <= first + 1 && child < merge->n; child++) {
			if (before(merge->heap[child], merge->heap[least]))
				least = child;
		}
		if (least == at)
			return;
		swap(merge, at, least);
		at = least;
	}
}

int event_merge_new(struct event_merge **out, struct event_source *const *sources, uint32_t n)
{
	struct event_merge *merge;

	if (n > EVENT_MERGE_MAX)
		return -E2BIG;
	merge = calloc(1, sizeof(*merge) + n * sizeof(merge->cursors[0]));
	if (!merge)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct cursor *cursor = &merge->cursors[i];
		int got;

		cursor->source = sources[i];
		cursor->number = i;
		got = advance(cursor);
		if (got < 0) {
			event_merge_free(merge);
			return got;
		}
		if (got)
			merge->heap[merge->n++] = cursor;
	}
	for (uint32_t at = merge->n; at-- > 0;)
		sift_down(merge, at);
	*out = merge;
	return 0;
}

void event_merge_free(struct event_merge *merge)
{
	free(merge);
}

int event_merge_next(struct event_merge *merge, struct event *event)
{
	if (merge->taken) {
		int got = advance(merge->heap[0]);

		if (got < 0)
			return got;
		if (got == 0)
			merge->heap[0] = merge->heap[--merge->n];
		sift_down(merge, 0);
		merge->taken = false;
	}
	if (merge->n == 0)
		return 0;
	*event = merge->heap[0]->event;
	merge->taken = true;
	return 1;
}
