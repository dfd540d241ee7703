/* SPDX-License-Identifier: Apache-2.0 */
#include "base/invoker.h"
#include "event/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/chunkin.h"
#include "event/dict.h"
#include "event/index.h"

/* State of a file, shared by its readers. */
struct event_file {
	uint32_t users;
	int fd;
	bool owns_fd;
	bool indexed;
	struct event_index index;
	bool has_end;
	struct event_end end;
};

struct event_reader {
	struct event_source source;
	struct event_file *file;
	struct event_in in;
	struct event_file_header header;
	struct event_damage at_open;	/* damage of the file header, which rewind() keeps */
	struct event_damage damage;
	uint64_t offset;		/* offset of the next chunk */
	uint64_t seq;			/* expected number of the next chunk */
	bool ended;
	bool sought;			/* seek() was called: next() uses the index */
	struct event_window window;
	size_t entry, entry_end;
	struct event_reader_stats stats;
};

/* ---- front to back ---- */

static void count_gap(struct event_reader *r, uint64_t seq)
{
	if (seq == r->seq)
		return;
	r->damage.reasons |= DAMAGE_GAP;
	r->damage.chunks += seq > r->seq ? seq - r->seq : 0;
}

static void event_reader_finish(struct event_reader *r, const struct event_end *end)
{
	const uint64_t behind = r->offset + sizeof(*end);
	size_t n = 1;

	count_gap(r, end->chunks);
	event_input_view(&r->in.input, behind, &n);
	if (n) {
		r->damage.reasons |= DAMAGE_GARBAGE;
		r->damage.bytes += r->in.input.size > behind ? r->in.input.size - behind : n;
	}
	r->file->has_end = true;
	r->ended = true;
}

static void finish_cut(struct event_reader *r)
{
	r->damage.reasons |= DAMAGE_CUT;
	if (r->in.input.error)
		r->damage.reasons |= DAMAGE_READ;
	r->ended = true;
}

static void skip_damaged(struct event_reader *r, const struct event_chunk *chunk, uint32_t reason)
{
	const uint64_t next = event_in_skip(&r->in, r->offset, chunk);

	r->damage.reasons |= reason;
	r->damage.bytes += next - r->offset;
	r->offset = next;
}

static void count_decoded(struct event_reader *r, const struct event_chunk *chunk)
{
	r->stats.chunks++;
	r->stats.bytes += chunk->raw_size;
}

/*
 * Loads a chunk. Returns true if it made a block. A sequence number lower than expected means that
 * the chunk is a copy of an earlier one: it is skipped as damage.
 */
static bool reader_load_chunk(struct event_reader *r, const struct event_chunk *chunk,
			      struct event_block *block)
{
	if (chunk->seq < r->seq) {
		skip_damaged(r, chunk, DAMAGE_INVALID);
		return false;
	}
	if (!event_in_load(&r->in, r->offset, chunk)) {
		skip_damaged(r, chunk, DAMAGE_CHECKSUM);
		return false;
	}
	count_decoded(r, chunk);
	count_gap(r, chunk->seq);
	r->seq = chunk->seq + 1;
	r->offset += sizeof(*chunk) + chunk->stored_size;
	if (chunk->flags & CHUNK_REPEAT)
		return false;
	return event_in_block(&r->in, chunk, block, &r->damage);
}

static int next_in_order(struct event_reader *r, struct event_block *block)
{
	struct event_chunk chunk;
	struct event_end end;

	while (!r->ended) {
		switch (event_in_find(&r->in, &r->offset, &chunk, &end, &r->damage)) {
		case EVENT_FOUND_CHUNK:
			if (reader_load_chunk(r, &chunk, block))
				return 1;
			break;
		case EVENT_FOUND_END:
			event_reader_finish(r, &end);
			break;
		case EVENT_FOUND_NOTHING:
			finish_cut(r);
			break;
		}
	}
	return 0;
}

/* ---- with the index ---- */

/*
 * Loads the chunk of an index entry. The entry may be wrong, so it is checked against the chunk's
 * header. Returns true if the chunk made a block.
 */
static bool load_entry(struct event_reader *r, const struct event_index_entry *entry,
		       struct event_block *block, struct event_damage *damage)
{
	struct event_chunk chunk;

	if (!event_in_at(&r->in, entry->offset, &chunk) || chunk.kind != entry->kind ||
	    chunk.core != entry->core || chunk.domain != entry->domain ||
	    chunk.stored_size != entry->stored_size ||
	    !event_in_load(&r->in, entry->offset, &chunk)) {
		damage->reasons |= DAMAGE_CHECKSUM;
		damage->chunks++;
		return false;
	}
	count_decoded(r, &chunk);
	return event_in_block(&r->in, &chunk, block, damage);
}

static bool overlaps(const struct event_index_entry *entry, const struct event_window *window)
{
	return entry->last >= window->from && entry->reach < window->to;
}

static int next_sought(struct event_reader *r, struct event_block *block)
{
	while (r->entry < r->entry_end) {
		const struct event_index_entry *entry =
			&r->file->index.entries.items[r->entry++];

		if (entry->flags & CHUNK_REPEAT)
			continue;
		if (r->window.kind != EV_EDGE && !overlaps(entry, &r->window))
			continue;
		if (load_entry(r, entry, block, &r->damage))
			return 1;
	}
	return 0;
}

static int ensure_index(struct event_reader *r)
{
	int err;

	if (!r->in.input.seekable)
		return -ESPIPE;
	if (r->file->indexed)
		return 0;
	err = event_index_load(&r->file->index, &r->in, r->file->has_end ? &r->file->end : NULL);
	if (!err)
		r->file->indexed = true;
	return err;
}

/* ---- struct event_source ---- */

static int reader_next(struct event_source *source, struct event_block *block)
{
	struct event_reader *r = (void *)source;

	return r->sought ? next_sought(r, block) : next_in_order(r, block);
}

static int reader_rewind(struct event_source *source)
{
	struct event_reader *r = (void *)source;

	if (!r->in.input.seekable)
		return -ESPIPE;
	r->sought = false;
	r->ended = false;
	event_in_restart(&r->in);
	r->offset = r->in.start;
	r->seq = 0;
	r->damage = r->at_open;
	r->in.input.ahead = true;
	return 0;
}

static int reader_seek(struct event_source *source, const struct event_window *window)
{
	struct event_reader *r = (void *)source;
	int err = ensure_index(r);

	if (err)
		return err;
	r->sought = true;
	r->window = *window;
	r->damage = r->file->index.damage;
	r->in.input.ahead = false;
	event_index_range(&r->file->index, window, &r->entry, &r->entry_end);
	if (window->kind == EV_EDGE)
		event_index_edges(&r->file->index, window, &r->entry, &r->entry_end);
	return 0;
}

static void reader_damage(const struct event_source *source, struct event_damage *damage)
{
	*damage = ((const struct event_reader *)source)->damage;
}

static void reader_free(struct event_source *source)
{
	event_reader_free((void *)source);
}

static const struct event_source_ops reader_ops = {
	.next = reader_next,
	.rewind = reader_rewind,
	.seek = reader_seek,
	.damage = reader_damage,
	.free = reader_free,
};

/* ---- creation and release ---- */

static struct event_file *file_new(int fd, bool owns_fd)
{
	struct event_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	*file = (struct event_file){ .fd = fd, .owns_fd = owns_fd };
	event_index_init(&file->index);
	return file;
}

static void file_put(struct event_file *file)
{
	if (!file || --file->users)
		return;
	event_index_release(&file->index);
	if (file->owns_fd)
		close(file->fd);
	free(file);
}

/*
 * Creates a reader that shares `file`; on failure, `file` is freed if no other reader uses it.
 * Returns 0 or -errno.
 */
static int reader_on(struct event_reader **out, struct event_file *file)
{
	struct event_reader *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	file->users++;
	if (!r) {
		file_put(file);
		return err;
	}
	r->source.ops = &reader_ops;
	r->file = file;
	err = event_in_init(&r->in, file->fd);
	if (!err)
		err = event_in_header(&r->in, &r->header, &r->at_open);
	if (err) {
		event_reader_free(r);
		return err;
	}
	r->offset = r->in.start;
	r->damage = r->at_open;
	*out = r;
	return 0;
}

static int open_fd(struct event_reader **out, int fd, bool owns_fd)
{
	struct event_file *file = file_new(fd, owns_fd);
	int err;

	if (!file) {
		if (owns_fd)
			close(fd);
		return -ENOMEM;
	}
	err = reader_on(out, file);
	if (!err && (*out)->in.input.seekable)
		file->has_end = event_index_end(&(*out)->in, &file->end);
	return err;
}

int event_reader_new(struct event_reader **out, int fd)
{
	return open_fd(out, fd, false);
}

int event_reader_open(struct event_reader **out, const char *path)
{
	int fd;

	if (strcmp(path, "-") == 0)
		return event_reader_new(out, STDIN_FILENO);
	fd = invoker_open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? fd : open_fd(out, fd, true);
}

int event_reader_dup(struct event_reader **out, struct event_reader *r)
{
	if (!r->in.input.seekable)
		return -ESPIPE;
	return reader_on(out, r->file);
}

void event_reader_free(struct event_reader *r)
{
	if (!r)
		return;
	event_in_release(&r->in);
	file_put(r->file);
	free(r);
}

struct event_source *event_reader_source(struct event_reader *r)
{
	return &r->source;
}

void event_reader_stats(const struct event_reader *r, struct event_reader_stats *stats)
{
	*stats = r->stats;
	stats->examined = r->in.examined;
	stats->copied = r->in.input.copied;
	stats->indexed = r->file->indexed ? r->file->index.entries.len : 0;
	stats->index_rebuilt = r->file->index.rebuilt;
}

int event_reader_cores(struct event_reader *r, uint16_t kind, uint32_t *cores, uint32_t max)
{
	const struct event_index_entry *last = NULL;
	int err = ensure_index(r);
	uint32_t n = 0;

	if (err)
		return err;
	vec_for_each(&r->file->index.entries, entry) {
		if (entry->kind != kind || (last && last->core == entry->core))
			continue;
		if (n < max)
			cores[n] = entry->core;
		last = entry;
		n++;
	}
	return (int)n;
}

/* ---- names ---- */

static int add_names(const struct event_block *block, struct event_dict *dict)
{
	struct event event;
	size_t at = 0;

	while (event_block_next(block, &at, &event)) {
		if (event.kind == EV_NAME && event_dict_set(dict, &event) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the names of the dictionary at the file's end. -EBADMSG: the dictionary is damaged. */
static int names_from_footer(struct event_reader *r, struct event_dict *dict)
{
	struct event_damage damage = { 0 };
	uint64_t at = r->file->end.dict;
	struct event_chunk chunk;
	int err = 0;

	while (!err && at < r->file->end.index) {
		struct event_block block;

		if (!event_in_at(&r->in, at, &chunk) || !event_in_load(&r->in, at, &chunk))
			return -EBADMSG;
		if ((chunk.flags & CHUNK_REPEAT) && event_in_block(&r->in, &chunk, &block, &damage))
			err = add_names(&block, dict);
		at += sizeof(chunk) + chunk.stored_size;
	}
	return err;
}

static int names_from_chunks(struct event_reader *r, struct event_dict *dict)
{
	struct event_damage damage = { 0 };
	int err = ensure_index(r);

	if (err)
		return err;
	vec_for_each(&r->file->index.entries, entry) {
		struct event_block block;

		if (entry->kind != EV_NONE || !load_entry(r, entry, &block, &damage))
			continue;
		err = add_names(&block, dict);
		if (err)
			return err;
	}
	return 0;
}

int event_reader_names(struct event_reader *r, struct event_dict *dict)
{
	int err = -EBADMSG;

	if (!r->in.input.seekable)
		return -ESPIPE;
	if (r->file->has_end && r->file->end.dict && r->file->end.dict < r->file->end.index)
		err = names_from_footer(r, dict);
	return err == -EBADMSG ? names_from_chunks(r, dict) : err;
}
