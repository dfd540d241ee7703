/* SPDX-License-Identifier: Apache-2.0 */
#include "event/pool.h"

#include <errno.h>
#include <stdlib.h>

#include "event/kinds.h"

void event_pool_write(struct event_pool *pool, const struct event_buffer *buffer, uint8_t flags)
{
	const bool block = event_kind_is_block(buffer->kind);
	const struct event_kind_info *info = event_kind_info(buffer->kind);
	struct event_chunk chunk = {
		.kind = buffer->kind,
		.version = block ? info->version : 0,
		.core = buffer->core,
		.domain = buffer->domain,
		.flags = flags,
		.record_size = block ? info->size : 0,
		.count = buffer->records.count,
		.n_open = buffer->n_open,
		.raw_size = buffer->records.size,
		.first = buffer->records.range.first,
		.last = buffer->records.range.last,
		.reach = buffer->records.range.reach,
	};

	event_out_chunk(pool->out, &chunk, buffer->records.data);
}

void event_pool_flush(struct event_pool *pool, struct event_buffer *buffer)
{
	/*
	 * Definitions precede all events that refer to them. An EV_CONN or EV_CALL must follow the
	 * EV_INTERVAL that closed the previous interval, which is in the common buffer.
	 */
	if (buffer != pool->common && (pool->common->defines || buffer->kind == EV_CONN ||
				       buffer->kind == EV_CALL))
		event_pool_flush(pool, pool->common);
	if (buffer->records.count)
		event_pool_write(pool, buffer, 0);
	pool->buffered -= buffer->records.size;
	event_records_clear(&buffer->records);
	buffer->n_open = 0;
	buffer->defines = false;
}

void event_pool_flush_all(struct event_pool *pool)
{
	event_pool_flush(pool, pool->common);
	for (uint32_t i = 0; i < pool->n_buffers; i++)
		event_pool_flush(pool, pool->buffers[i]);
}

void event_pool_flush_kind(struct event_pool *pool, uint16_t kind)
{
	for (uint32_t i = 0; i < pool->n_buffers; i++)
		if (pool->buffers[i]->kind == kind && pool->buffers[i]->records.count)
			event_pool_flush(pool, pool->buffers[i]);
}

static struct event_buffer **event_pool_bucket(struct event_pool *pool, uint16_t kind,
					       uint16_t domain, uint32_t core)
{
	const uint32_t hash = (kind * 31u + domain) * 2654435761u + core * 2246822519u;

	return &pool->hash[(hash >> 12) & (pool->max - 1)];
}

static struct event_buffer *event_pool_new_buffer(struct event_pool *pool)
{
	struct event_buffer *buffer;

	if (pool->n_buffers == pool->max)
		return NULL;
	buffer = malloc(sizeof(*buffer));
	if (!buffer)
		return NULL;
	buffer->n_open = 0;
	buffer->defines = false;
	buffer->records = (struct event_records){ .data = (void *)buffer->aligned };
	pool->buffers[pool->n_buffers++] = buffer;
	return buffer;
}

/*
 * Returns the buffer to evict, by the clock algorithm (second chance): the first that was not used
 * since pool->hand passed it; NULL if there is none. Clears `used` of the buffers that it passes.
 * Unlike an exact LRU order, this has a cost per use that does not grow with the buffers.
 */
static struct event_buffer *event_pool_oldest(struct event_pool *pool)
{
	for (uint32_t i = 0; i < 2 * pool->n_buffers; i++) {
		struct event_buffer *buffer = pool->buffers[pool->hand];

		pool->hand = (pool->hand + 1) % pool->n_buffers;
		if (buffer == pool->common)
			continue;
		if (!buffer->used)
			return buffer;
		buffer->used = false;
	}
	return NULL;
}

static struct event_buffer *event_pool_evict(struct event_pool *pool)
{
	struct event_buffer *oldest = event_pool_oldest(pool), **link;

	if (!oldest)
		return NULL;
	event_pool_flush(pool, oldest);
	link = event_pool_bucket(pool, oldest->kind, oldest->domain, oldest->core);
	while (*link != oldest)
		link = &(*link)->chain;
	*link = oldest->chain;
	return oldest;
}

struct event_buffer *event_pool_get(struct event_pool *pool, uint16_t kind, uint16_t domain,
				    uint32_t core)
{
	struct event_buffer **bucket = event_pool_bucket(pool, kind, domain, core);
	struct event_buffer *buffer = *bucket;

	while (buffer && (buffer->kind != kind || buffer->domain != domain || buffer->core != core))
		buffer = buffer->chain;
	if (!buffer) {
		buffer = event_pool_new_buffer(pool);
		if (!buffer)
			buffer = event_pool_evict(pool);
		if (!buffer)
			return NULL;
		buffer->kind = kind;
		buffer->domain = domain;
		buffer->core = core;
		buffer->chain = *bucket;
		*bucket = buffer;
	}
	buffer->used = true;
	return buffer;
}

int event_pool_init(struct event_pool *pool, struct event_out *out, uint32_t cores)
{
	*pool = (struct event_pool){ .out = out, .max = EVENT_POOL_MIN };
	while (pool->max < EVENT_POOL_MAX && pool->max / EVENT_POOL_KINDS < cores)
		pool->max *= 2;
	pool->hash = calloc(pool->max, sizeof(*pool->hash));
	pool->buffers = calloc(pool->max, sizeof(*pool->buffers));
	if (!pool->hash || !pool->buffers)
		return -ENOMEM;
	pool->common = event_pool_get(pool, EV_NONE, EVENT_DOMAIN_MONOTONIC, EVENT_CORE_NONE);
	return pool->common ? 0 : -ENOMEM;
}

void event_pool_release(struct event_pool *pool)
{
	for (uint32_t i = 0; i < pool->n_buffers; i++)
		free(pool->buffers[i]);
	free(pool->hash);
	free(pool->buffers);
	pool->hash = NULL;
	pool->buffers = NULL;
	pool->n_buffers = 0;
}
