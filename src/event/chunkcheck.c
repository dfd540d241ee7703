/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the whole content of a decoded chunk, so that consumers need not check it. */
#include <string.h>

#include "event/chunkin.h"
#include "event/kinds.h"
#include "event/track.h"

static void count_invalid(struct event_damage *damage, uint64_t records)
{
	damage->records += records;
	damage->reasons |= DAMAGE_INVALID;
}

static void count_record(struct event_damage *damage, enum event_check check)
{
	if (check == EVENT_INVALID)
		count_invalid(damage, 1);
	if (check == EVENT_UNKNOWN || check == EVENT_NEWER)
		damage->unknown++;
	if (check == EVENT_NEWER)
		damage->reasons |= DAMAGE_VERSION;
}

static bool record_belongs(const struct event_chunk *chunk, const struct event_record *record)
{
	if (chunk->kind != EV_NONE && chunk->kind != record->kind)
		return false;
	return record->time >= chunk->first && record->time <= chunk->last;
}

/*
 * Checks a chunk's records; counts damage. Returns how many of its bytes can be walked: up to the
 * first record that is too long, or whose kind or time does not belong to this chunk.
 */
static size_t check_records(const struct event_in *in, const struct event_chunk *chunk,
			    struct event_damage *damage)
{
	size_t at = 0;
	uint32_t count = 0;

	while (at + sizeof(struct event_record) <= chunk->raw_size) {
		const struct event_record *record = (const void *)(in->raw + at);

		if (record->size > chunk->raw_size - at - sizeof(*record) ||
		    event_record_size(record->size) > chunk->raw_size - at)
			break;
		if (!record_belongs(chunk, record))
			break;
		count_record(damage, event_check(record->kind, record->version, record + 1,
						 record->size));
		at += event_record_size(record->size);
		count++;
	}
	if (at != chunk->raw_size || count != chunk->count)
		count_invalid(damage, count < chunk->count ? chunk->count - count : 1);
	return at;
}

static bool open_is_valid(const struct event_open *open, const struct event_chunk *chunk,
			  uint32_t depth)
{
	const unsigned int type = event_open_type(open);

	return open->depth == depth && open->begin <= chunk->first && type > SPAN_NONE &&
	       type < SPAN_TYPE_MAX && !(open->type & SPAN_END) &&
	       (depth == 0 || open->begin >= open[-1].begin);
}

/* Returns whether ends match open spans, times rise, and the chunk's time range is right. */
static bool edges_are_valid(const struct event_chunk *chunk, const struct event_open *open,
			    const unsigned char *data)
{
	struct event_track track = { 0 };
	uint32_t last = 0;

	for (uint32_t i = 0; i < chunk->n_open; i++) {
		if (!open_is_valid(&open[i], chunk, i))
			return false;
		event_track_begin(&track, open[i].begin, open[i].what, open[i].arg, open[i].type);
	}
	for (uint32_t i = 0; i < chunk->count; i++, data += chunk->record_size) {
		const struct event_edge *edge = (const void *)data;
		const unsigned int type = edge->type & SPAN_TYPE_MASK;

		if (edge->dt < last || type == SPAN_NONE || type >= SPAN_TYPE_MAX)
			return false;
		last = edge->dt;
		if (edge->type & SPAN_END) {
			if (track.depth == 0 || edge->depth != --track.depth ||
			    track.open[track.depth].what != edge->what ||
			    event_open_type(&track.open[track.depth]) != type)
				return false;
		} else if (edge->depth != track.depth ||
			   !event_track_begin(&track, 0, edge->what, edge->arg, edge->type)) {
			return false;
		}
	}
	return chunk->first + last == chunk->last;
}

static bool block_is_valid(const struct event_in *in, const struct event_chunk *chunk)
{
	const size_t open_size = chunk->n_open * sizeof(struct event_open);
	const unsigned char *data = in->raw + open_size;

	if (chunk->kind == EV_EDGE)
		return edges_are_valid(chunk, (const void *)in->raw, data);
	for (uint32_t i = 0; i < chunk->count; i++, data += chunk->record_size) {
		if (event_check(chunk->kind, chunk->version, data, chunk->record_size))
			return false;
	}
	return true;
}

/* Returns whether the sizes add up, before any data is read by them. */
static bool shape_is_valid(const struct event_chunk *chunk)
{
	const uint64_t open_size = chunk->n_open * (uint64_t)sizeof(struct event_open);

	if (chunk->first > chunk->last || chunk->reach > chunk->first)
		return false;
	if (!event_kind_is_block(chunk->kind))
		return chunk->record_size == 0 && chunk->n_open == 0;
	if (chunk->n_open && (chunk->kind != EV_EDGE || chunk->n_open > EVENT_DEPTH_MAX))
		return false;
	return chunk->record_size >= event_kind_info(chunk->kind)->least &&
	       chunk->record_size % 4 == 0 &&
	       open_size + (uint64_t)chunk->record_size * chunk->count == chunk->raw_size;
}

static enum event_check check_version(const struct event_chunk *chunk)
{
	const struct event_kind_info *info = event_kind_info(chunk->kind);

	if (chunk->kind == EV_NONE)
		return EVENT_GOOD;
	if (info->version == 0)
		return EVENT_UNKNOWN;
	return event_kind_is_block(chunk->kind) && chunk->version > info->version ? EVENT_NEWER :
										  EVENT_GOOD;
}

bool event_in_block(const struct event_in *in, const struct event_chunk *chunk,
		    struct event_block *block, struct event_damage *damage)
{
	const enum event_check version = check_version(chunk);
	size_t open_size = chunk->n_open * sizeof(struct event_open);
	size_t size;

	if (chunk->kind == EVENT_CHUNK_INDEX)
		return false;
	count_record(damage, version);
	if (version)
		return false;
	if (!shape_is_valid(chunk)) {
		count_invalid(damage, 1);
		return false;
	}
	size = chunk->raw_size - open_size;
	if (!event_kind_is_block(chunk->kind)) {
		size = check_records(in, chunk, damage);
	} else if (!block_is_valid(in, chunk)) {
		count_invalid(damage, chunk->count);
		return false;
	}
	*block = (struct event_block){
		.kind = chunk->kind,
		.domain = chunk->domain,
		.core = chunk->core,
		.count = chunk->count,
		.record_size = chunk->record_size,
		.first = chunk->first,
		.last = chunk->last,
		.reach = chunk->reach,
		.n_open = chunk->n_open,
		.open = chunk->n_open ? (const void *)in->raw : NULL,
		.size = size,
		.data = in->raw + open_size,
	};
	return true;
}
