/* SPDX-License-Identifier: Apache-2.0 */
#include "load/ring.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"

#define CACHE_LINE 64

int ring_init(struct ring *ring, uint32_t record, uint64_t places)
{
	size_t bytes = (record * places + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

	BUG_ON(!places || (places & (places - 1)));
	*ring = (struct ring){ .mask = places - 1, .record = record };
	ring->data = aligned_alloc(CACHE_LINE, bytes);
	if (!ring->data)
		return -ENOMEM;
	memset(ring->data, 0, bytes);
	return 0;
}

void ring_release(struct ring *ring)
{
	free(ring->data);
	ring->data = NULL;
}

const void *ring_peek(const struct ring *ring, uint64_t most, uint64_t *n)
{
	uint64_t ready = ring_ready(ring), at = ring->tail & ring->mask;

	*n = ready < most ? ready : most;
	if (*n > ring->mask + 1 - at)
		*n = ring->mask + 1 - at;
	return ring->data + at * ring->record;
}

void ring_take(struct ring *ring, uint64_t n)
{
	BUG_ON(n > ring_ready(ring));
	__atomic_store_n(&ring->tail, ring->tail + n, __ATOMIC_RELEASE);
}
