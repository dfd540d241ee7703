/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's buffers: one per (kind, core, domain) as long as there are enough of them, each
 * filled to one chunk. Whatever defines numbers that others use (names, flows, clock domains) goes
 * through one buffer, the common one, which is written before any other is.
 */
#ifndef HOSTLAT_EVENT_POOL_H
#define HOSTLAT_EVENT_POOL_H

#include "event/chunkout.h"
#include "event/records.h"

/*
 * Buffers, of 64 KiB each, that are made when they are needed. With fewer than all cores' kinds,
 * each record would end the chunk of another core. Powers of two.
 */
#define EVENT_POOL_MIN 512u
#define EVENT_POOL_MAX 16384u
#define EVENT_POOL_KINDS 4u	/* a core's edges, messages, wakings, and what has another clock */

struct event_buffer {
	struct event_buffer *chain;	/* in the hash */
	uint16_t kind;			/* of the chunk */
	uint16_t domain;
	uint32_t core;
	uint32_t n_open;
	bool defines;			/* holds definitions that are not written yet */
	bool used;			/* since the hand passed it */
	struct event_records records;	/* open spans lie before the records */
	uint64_t aligned[EVENT_BLOCK_SIZE / 8];
};

struct event_pool {
	struct event_out *out;
	struct event_buffer **hash;	/* `max` chains */
	struct event_buffer **buffers;
	uint32_t n_buffers, max;
	uint32_t hand;			/* where to look for one to take away */
	struct event_buffer *common;	/* low-rate records of no core; never taken away */
	uint64_t buffered;		/* bytes in all buffers, as event_pool_added() was told */
};

/* For so many cores. Returns 0 or -ENOMEM. Writes to `out`, which must live as long. */
int event_pool_init(struct event_pool *pool, struct event_out *out, uint32_t cores);
void event_pool_release(struct event_pool *pool);

/*
 * The buffer for this key; when all are in use, one that had nothing new for long is written and
 * taken. NULL without memory.
 */
struct event_buffer *event_pool_get(struct event_pool *pool, uint16_t kind, uint16_t domain,
				    uint32_t core);

/* Accounts for bytes that were added to a buffer. */
static inline void event_pool_added(struct event_pool *pool, size_t bytes)
{
	pool->buffered += bytes;
}

/* Writes what the buffer holds, definitions first, and empties it. */
void event_pool_flush(struct event_pool *pool, struct event_buffer *buffer);
void event_pool_flush_all(struct event_pool *pool);
/* All buffers of a kind of blocks. */
void event_pool_flush_kind(struct event_pool *pool, uint16_t kind);

/* Writes the buffer as one chunk and leaves it as it is. */
void event_pool_write(struct event_pool *pool, const struct event_buffer *buffer, uint8_t flags);

#endif
