/* SPDX-License-Identifier: Apache-2.0 */
#include "event/source.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "event/kinds.h"

bool event_block_next(const struct event_block *block, size_t *at, struct event *event)
{
	while (*at + sizeof(struct event_record) <= block->size) {
		const struct event_record *record =
			(const void *)((const char *)block->data + *at);

		if (record->size > block->size - *at - sizeof(*record))
			break;
		*at += event_record_size(record->size);
		if (event_check(record->kind, record->version, record + 1, record->size))
			continue;
		*event = (struct event){
			.kind = record->kind,
			.core = block->core,
			.time = record->time,
			.size = record->size,
			.payload = record + 1,
		};
		return true;
	}
	return false;
}

void event_copy(const struct event *event, void *out, size_t size)
{
	const size_t known = event->size < size ? event->size : size;

	memcpy(out, event->payload, known);
	memset((char *)out + known, 0, size - known);
}

void event_block_copy(const struct event_block *block, uint32_t i, void *out, size_t size)
{
	const size_t known = block->record_size < size ? block->record_size : size;

	memcpy(out, (const char *)block->data + (size_t)i * block->record_size, known);
	memset((char *)out + known, 0, size - known);
}

const void *event_block_record(const struct event_block *block, uint32_t i, void *room,
			       size_t size)
{
	const char *at = (const char *)block->data + (size_t)i * block->record_size;

	if (block->record_size >= size && !((uintptr_t)at % sizeof(uint64_t)))
		return at;
	event_block_copy(block, i, room, size);
	return room;
}

int event_put(struct event_sink *sink, uint16_t kind, uint64_t time, const void *payload,
	      size_t size)
{
	return event_put_array(sink, kind, time, payload, size, NULL, 0);
}

int event_put_array(struct event_sink *sink, uint16_t kind, uint64_t time, const void *head,
		    size_t head_size, const void *array, size_t array_size)
{
	const struct event event = { .kind = kind, .core = EVENT_CORE_NONE, .time = time };
	const struct iovec pieces[] = {
		{ .iov_base = (void *)head, .iov_len = head_size },
		{ .iov_base = (void *)array, .iov_len = array_size },
	};

	return sink->put(sink, &event, pieces, array_size ? 2 : 1);
}

int event_put_fact(struct event_sink *sink, uint64_t time, const char *key, const char *value)
{
	const struct event event = { .kind = EV_FACT, .core = EVENT_CORE_NONE, .time = time };
	const size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
	const struct event_fact fact = { .key_size = key_size, .value_size = value_size };
	const struct iovec pieces[] = {
		{ .iov_base = (void *)&fact, .iov_len = sizeof(fact) },
		{ .iov_base = (void *)key, .iov_len = key_size },
		{ .iov_base = (void *)value, .iov_len = value_size },
	};

	if (key_size + value_size + sizeof(fact) > EVENT_PAYLOAD_MAX)
		return -E2BIG;
	return sink->put(sink, &event, pieces, 3);
}

int event_put_name(struct event_sink *sink, uint64_t time, uint32_t dict, uint32_t id,
		   const char *text)
{
	const struct event_name name = { .dict = dict, .id = id };

	return event_put_array(sink, EV_NAME, time, &name, sizeof(name), text, strlen(text) + 1);
}

void event_fact_get(const struct event *event, const char **key, const char **value)
{
	const struct event_fact *fact = event->payload;

	BUG_ON(event->kind != EV_FACT);
	*key = fact->text;
	*value = fact->text + fact->key_size;
}

static const char *damage_name(uint32_t bit)
{
	switch (bit) {
	case DAMAGE_CUT:
		return "cut";
	case DAMAGE_CHECKSUM:
		return "checksum";
	case DAMAGE_GARBAGE:
		return "garbage";
	case DAMAGE_GAP:
		return "gap";
	case DAMAGE_INVALID:
		return "invalid";
	case DAMAGE_VERSION:
		return "newer-version";
	case DAMAGE_READ:
		return "read-error";
	default:
		return "unknown";
	}
}

void event_damage_put(const struct event_damage *damage, struct strbuf *out)
{
	const char *between = "";

	for (int i = 0; i < DAMAGE_REASONS; i++) {
		if (!(damage->reasons >> i & 1))
			continue;
		strbuf_printf(out, "%s%s", between, damage_name(1U << i));
		between = ", ";
	}
}
