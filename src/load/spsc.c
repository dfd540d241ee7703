/* SPDX-License-Identifier: Apache-2.0 */
#include "load/spsc.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"

#define CACHE_LINE 64

int spsc_init(struct spsc_queue *queue, uint32_t record, uint64_t places)
{
	size_t bytes = (record * places + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

	BUG_ON(!places || (places & (places - 1)));
	*queue = (struct spsc_queue){ .mask = places - 1, .record = record };
	queue->data = aligned_alloc(CACHE_LINE, bytes);
	if (!queue->data)
		return -ENOMEM;
	memset(queue->data, 0, bytes);
	return 0;
}

void spsc_release(struct spsc_queue *queue)
{
	free(queue->data);
	queue->data = NULL;
}

const void *spsc_peek(const struct spsc_queue *queue, uint64_t most, uint64_t *n)
{
	uint64_t ready = spsc_ready(queue), at = queue->tail & queue->mask;

	*n = ready < most ? ready : most;
	if (*n > queue->mask + 1 - at)
		*n = queue->mask + 1 - at;
	return queue->data + at * queue->record;
}

void spsc_consume(struct spsc_queue *queue, uint64_t n)
{
	BUG_ON(n > spsc_ready(queue));
	__atomic_store_n(&queue->tail, queue->tail + n, __ATOMIC_RELEASE);
}
