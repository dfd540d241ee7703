/* SPDX-License-Identifier: Apache-2.0 */
#include "event/memsource.h"

#include <errno.h>
#include <stdlib.h>

#include "event/kinds.h"
#include "event/records.h"

struct buffer {
	struct buffer *next;
	uint32_t core;
	struct event_records records;
	uint64_t aligned[EVENT_BLOCK_SIZE / 8];
};

struct event_memsource {
	struct event_source source;
	struct event_sink sink;
	struct buffer *head, *tail;	/* queued buffers, oldest first */
	struct buffer *out;		/* buffer with the block that next() returned last */
	size_t n_buffers;		/* allocated buffers, with the one that a consumer reads */
	size_t n_buffers_max;
	struct event_damage damage;
};

/* Returns a new buffer; NULL without memory, or if n_buffers_max buffers are allocated already. */
static struct buffer *mem_new_buffer(struct event_memsource *mem)
{
	struct buffer *buffer;

	if (mem->n_buffers >= mem->n_buffers_max)
		return NULL;
	buffer = malloc(sizeof(*buffer));
	if (!buffer)
		return NULL;
	mem->n_buffers++;
	buffer->next = NULL;
	buffer->records = (struct event_records){ .data = (void *)buffer->aligned };
	return buffer;
}

static void drop_out(struct event_memsource *mem)
{
	if (!mem->out)
		return;
	free(mem->out);
	mem->out = NULL;
	mem->n_buffers--;
}

/*
 * Returns the queue's last buffer if it is of this core and has space, else a new one: so records
 * keep their order. NULL if no buffer can be added.
 */
static struct buffer *tail_for(struct event_memsource *mem, uint32_t core, size_t size)
{
	struct buffer *buffer = mem->tail;

	if (buffer && buffer->core == core && event_records_fit(&buffer->records, size))
		return buffer;
	buffer = mem_new_buffer(mem);
	if (!buffer)
		return NULL;
	buffer->core = core;
	if (mem->tail)
		mem->tail->next = buffer;
	else
		mem->head = buffer;
	mem->tail = buffer;
	return buffer;
}

static int mem_put(struct event_sink *sink, const struct event *event, const struct iovec *payload,
		   int pieces)
{
	struct event_memsource *mem =
		(void *)((char *)sink - offsetof(struct event_memsource, sink));
	const size_t size = event_payload_size(payload, pieces);
	struct buffer *buffer;

	if (size > EVENT_PAYLOAD_MAX)
		return -E2BIG;
	if (event_kind_is_block(event->kind))
		return -EINVAL;
	buffer = tail_for(mem, event->core, size);
	if (!buffer) {
		mem->damage.records++;
		return -ENOBUFS;
	}
	return event_records_add(&buffer->records, event, event->time, payload, pieces);
}

static int mem_next(struct event_source *source, struct event_block *block)
{
	struct event_memsource *mem = (void *)source;
	struct buffer *buffer;

	drop_out(mem);
	buffer = mem->head;
	if (!buffer)
		return 0;
	mem->head = buffer->next;
	if (!mem->head)
		mem->tail = NULL;
	mem->out = buffer;
	*block = (struct event_block){
		.core = buffer->core,
		.count = buffer->records.count,
		.first = buffer->records.range.first,
		.last = buffer->records.range.last,
		.reach = buffer->records.range.reach,
		.size = buffer->records.size,
		.data = buffer->records.data,
	};
	return 1;
}

static int mem_rewind(struct event_source *source)
{
	(void)source;
	return -ESPIPE;
}

static int mem_seek(struct event_source *source, const struct event_window *window)
{
	(void)source;
	(void)window;
	return -ESPIPE;
}

static void mem_damage(const struct event_source *source, struct event_damage *damage)
{
	*damage = ((const struct event_memsource *)source)->damage;
}

static void mem_free(struct event_source *source)
{
	event_memsource_free((void *)source);
}

static const struct event_source_ops mem_ops = {
	.next = mem_next,
	.rewind = mem_rewind,
	.seek = mem_seek,
	.damage = mem_damage,
	.free = mem_free,
};

int event_memsource_new(struct event_memsource **out, size_t limit)
{
	struct event_memsource *mem;

	if (limit < EVENT_BLOCK_SIZE)
		return -EINVAL;
	mem = calloc(1, sizeof(*mem));
	if (!mem)
		return -ENOMEM;
	mem->source.ops = &mem_ops;
	mem->sink.put = mem_put;
	/* `limit` is for the queue; a consumer reads one more buffer */
	mem->n_buffers_max = limit / EVENT_BLOCK_SIZE + 1;
	*out = mem;
	return 0;
}

void event_memsource_free(struct event_memsource *mem)
{
	struct buffer *buffer, *next;

	if (!mem)
		return;
	drop_out(mem);
	for (buffer = mem->head; buffer; buffer = next) {
		next = buffer->next;
		free(buffer);
	}
	free(mem);
}

struct event_source *event_memsource_source(struct event_memsource *mem)
{
	return &mem->source;
}

struct event_sink *event_memsource_sink(struct event_memsource *mem)
{
	return &mem->sink;
}
