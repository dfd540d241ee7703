/* SPDX-License-Identifier: Apache-2.0 */
#include "event/index.h"

#include <errno.h>
#include <string.h>

#include "base/sort.h"

void event_index_init(struct event_index *index)
{
	*index = (struct event_index){ 0 };
	vec_init(&index->entries, EVENT_INDEX_MAX);
}

void event_index_release(struct event_index *index)
{
	vec_release(&index->entries);
}

bool event_index_end(struct event_in *in, struct event_end *end)
{
	const uint64_t size = in->input.size;
	size_t n = sizeof(*end);
	const unsigned char *bytes;

	if (!in->input.seekable || size < sizeof(struct event_file_header) + sizeof(*end))
		return false;
	bytes = event_input_view(&in->input, size - sizeof(*end), &n);
	if (n < sizeof(*end))
		return false;
	memcpy(end, bytes, sizeof(*end));
	return end->magic == EVENT_END_MAGIC && end->crc == event_seal(end) && end->size == size &&
	       (end->stream == in->stream || !in->stream);
}

static int event_index_compare(const void *a, const void *b)
{
	const struct event_index_entry *x = a, *y = b;

	return sort_order(x->kind, y->kind) ?: sort_order(x->core, y->core) ?:
	       sort_order(x->domain, y->domain) ?: sort_order(x->offset, y->offset);
}

static int event_index_push(struct event_index *index, const struct event_index_entry *entry)
{
	int err = vec_push(&index->entries, *entry);

	return err == -E2BIG ? -EFBIG : err;
}

/*
 * Returns whether the entries' chunks follow each other between the file offsets `from` and `to`:
 * then no chunk has two entries, and the chunks do not exceed the file.
 */
static bool event_index_is_ordered(const struct event_index_entry *entries, uint32_t n,
				   uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < n; i++) {
		if (entries[i].offset < from || entries[i].offset >= to)
			return false;
		from = entries[i].offset + sizeof(struct event_chunk) + entries[i].stored_size;
	}
	return from <= to;
}

/*
 * Loads the index chunk at *offset, which must end at *limit or before. Moves *offset to the
 * previous index chunk, and *limit to where that must end. Returns 0 or -errno; -EBADMSG: unusable.
 */
static int event_index_load_part(struct event_index *index, struct event_in *in, uint64_t *offset,
				 uint64_t *limit)
{
	const uint64_t at = *offset;
	struct event_chunk chunk;
	const struct event_index_head *head = (const void *)in->raw;
	const struct event_index_entry *entries = (const void *)(head + 1);
	uint64_t from;
	int err = 0;

	if (!event_in_at(in, at, &chunk) || chunk.kind != EVENT_CHUNK_INDEX || chunk.version != 1 ||
	    !event_in_load(in, at, &chunk) ||
	    chunk.raw_size != sizeof(*head) + (uint64_t)chunk.count * sizeof(*entries) ||
	    at + sizeof(chunk) + chunk.stored_size > *limit || head->previous >= at)
		return -EBADMSG;
	from = head->previous ? head->previous + sizeof(chunk) : in->start;
	if (!event_index_is_ordered(entries, chunk.count, from, at))
		return -EBADMSG;
	for (uint32_t i = 0; i < chunk.count && !err; i++)
		err = event_index_push(index, &entries[i]);
	*offset = head->previous;
	*limit = chunk.count ? entries[0].offset : at;
	return err;
}

static int event_index_load_chain(struct event_index *index, struct event_in *in, uint64_t offset)
{
	uint64_t limit = in->input.size;
	int err = 0;

	while (offset && !err)
		err = event_index_load_part(index, in, &offset, &limit);
	return err;
}

static int event_index_rebuild(struct event_index *index, struct event_in *in)
{
	uint64_t at = in->start;
	struct event_chunk chunk;
	struct event_end end;
	int err = 0;

	vec_clear(&index->entries);
	event_in_restart(in);
	while (!err && event_in_find(in, &at, &chunk, &end, &index->damage) == EVENT_FOUND_CHUNK) {
		const struct event_index_entry entry = {
			.offset = at,
			.first = chunk.first,
			.last = chunk.last,
			.reach = chunk.reach,
			.core = chunk.core,
			.kind = chunk.kind,
			.domain = chunk.domain,
			.stored_size = chunk.stored_size,
			.flags = chunk.flags,
		};

		if (chunk.kind != EVENT_CHUNK_INDEX &&
		    at + sizeof(chunk) + chunk.stored_size <= in->input.size)
			err = event_index_push(index, &entry);
		at = event_in_skip(in, at, &chunk);
	}
	if (!err && in->input.error)
		index->damage.reasons |= DAMAGE_READ;
	return err;
}

int event_index_load(struct event_index *index, struct event_in *in, const struct event_end *end)
{
	const bool ahead = in->input.ahead;
	int err = -EBADMSG;

	in->input.ahead = false;
	if (end && end->index)
		err = event_index_load_chain(index, in, end->index);
	if (err == -EBADMSG) {
		index->rebuilt = true;
		if (!end)
			index->damage.reasons |= DAMAGE_CUT;
		err = event_index_rebuild(index, in);
	}
	in->input.ahead = ahead;
	if (!err && index->entries.len)
		qsort(index->entries.items, index->entries.len, sizeof(*index->entries.items),
		      event_index_compare);
	return err;
}

/* Returns the index of the first entry that is not before `key`, by kind, core, domain, offset. */
static size_t event_index_lower_bound(const struct event_index *index,
				      const struct event_index_entry *key)
{
	return sort_first(i, 0, index->entries.len,
			  event_index_compare(&index->entries.items[i], key) >= 0);
}

void event_index_range(const struct event_index *index, const struct event_window *window,
		       size_t *from, size_t *to)
{
	struct event_index_entry key = {
		.kind = window->kind,
		.core = window->core,
		.domain = window->domain,
	};

	*from = event_index_lower_bound(index, &key);
	key.offset = UINT64_MAX;
	*to = event_index_lower_bound(index, &key);
}

/*
 * A chunk of EV_EDGE begins with the spans that are open then, so only chunks that overlap the
 * window are needed. For a window between two chunks, the later chunk's open spans suffice; for a
 * window after the last chunk, that chunk is needed. A core's chunks are in the order of time.
 */
void event_index_edges(const struct event_index *index, const struct event_window *window,
		       size_t *from, size_t *to)
{
	const struct event_index_entry *entries = index->entries.items;
	const size_t begin = *from, end = *to;

	while (*from < end && entries[*from].last < window->from)
		++*from;
	*to = *from;
	while (*to < end && entries[*to].first < window->to)
		++*to;
	if (*to > *from)
		return;
	if (*from < end)
		*to = *from + 1;
	else if (*from > begin)
		--*from;
}
