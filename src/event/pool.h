/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's buffers: one per (kind, core, domain) as far as they suffice, each filled to one
 * chunk. Definitions that other events refer to (names, groups, flows, clocks) are in the common
 * buffer, which is written before any other.
 */
#ifndef HOSTLAT_EVENT_POOL_H
#define HOSTLAT_EVENT_POOL_H

#include "event/chunkout.h"
#include "event/records.h"

/*
 * Number of buffers of 64 KiB, allocated when needed. With fewer buffers than kinds of all cores,
 * each record would end another core's chunk. Powers of two.
 */
#define EVENT_POOL_MIN 512u
#define EVENT_POOL_MAX 16384u
/* buffers per core: for span edges, messages, wakeups, and those of another clock */
#define EVENT_POOL_KINDS 4u

struct event_buffer {
	struct event_buffer *chain;	/* next in the hash chain */
	uint16_t kind;			/* kind of the chunk */
	uint16_t domain;
	uint32_t core;
	uint32_t n_open;
	bool defines;			/* holds names, groups, flows or clocks not written yet */
	bool used;			/* used since event_pool.hand passed it */
	struct event_records records;	/* EV_EDGE: `data` begins with the open spans */
	uint64_t aligned[EVENT_BLOCK_SIZE / 8];
};

struct event_pool {
	struct event_out *out;
	struct event_buffer **hash;	/* hash table: as many chains as there may be buffers */
	struct event_buffer **buffers;
	uint32_t n_buffers, max;
	uint32_t hand;			/* index of the next buffer to consider for eviction */
	struct event_buffer *common;	/* low-rate records without a core; never evicted */
	uint64_t buffered;		/* bytes in all buffers */
};

/* Initializes a pool for `cores` cores, on `out`, which must outlive it. 0 or -ENOMEM. */
int event_pool_init(struct event_pool *pool, struct event_out *out, uint32_t cores);
void event_pool_release(struct event_pool *pool);

/*
 * Returns the buffer for this kind, domain and core. If all buffers are in use, one that was not
 * used for long is written and reused. NULL without memory.
 */
struct event_buffer *event_pool_get(struct event_pool *pool, uint16_t kind, uint16_t domain,
				    uint32_t core);

/* Counts bytes that were added to one of the buffers. */
static inline void event_pool_added(struct event_pool *pool, size_t bytes)
{
	pool->buffered += bytes;
}

/* Writes the buffer's content, definitions first, and empties it. */
void event_pool_flush(struct event_pool *pool, struct event_buffer *buffer);
void event_pool_flush_all(struct event_pool *pool);
/* Flushes all buffers of a kind of blocks. */
void event_pool_flush_kind(struct event_pool *pool, uint16_t kind);

/* Writes the buffer as one chunk and leaves the buffer unchanged. */
void event_pool_write(struct event_pool *pool, const struct event_buffer *buffer, uint8_t flags);

#endif
