/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an event file: from front to back, by seeking, for its names, as a file and as a
 * pipe. What comes out must keep the promises of event/source.h, and a copy of it must be a whole
 * file.
 *
 * The first byte chooses: bit 0, checksums and magics are put right first, so that the fuzzer gets
 * behind them; bit 1, through a pipe. The seeds are such a byte and a file of tests/unit/mkevent.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "event/dict.h"
#include "event/kinds.h"
#include "event/reader.h"
#include "event/spans.h"
#include "event/writer.h"
#include "seal.h"

#define FILE_MAX (4u << 20)
#define PIPE_MAX (1u << 16)	/* bytes that fit into a pipe without a reader */

/* Passes over the file below, and what a pass may examine of each byte: see event/chunkin.c. */
#define PASSES 8
#define EXAMINED_TIMES 64
#define EXAMINED_LEAST (64u << 20)

enum { SEAL = 1, PIPE = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void touch(const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		sink += bytes[i];
}

static void use_records(const struct event_block *block)
{
	struct event event;
	size_t at = 0;

	while (event_block_next(block, &at, &event)) {
		BUG_ON(event_check(event.kind, 1, event.payload, event.size) != EVENT_GOOD);
		touch(event.payload, event.size);
	}
}

static void use_block(const struct event_block *block, struct event_walk *walk)
{
	struct event_span span;

	BUG_ON(block->first > block->last || block->reach > block->first);
	if (!block->record_size) {
		use_records(block);
		return;
	}
	BUG_ON(block->size != (size_t)block->record_size * block->count);
	BUG_ON(block->record_size < event_kind_info(block->kind)->least);
	touch(block->open, block->n_open * sizeof(*block->open));
	touch(block->data, block->size);
	if (block->kind != EV_EDGE)
		return;
	event_walk_block(walk, block);
	while (event_walk_next(walk, &span))
		BUG_ON(span.begin > span.end || span.depth >= EVENT_DEPTH_MAX);
}

/* Reads all and copies it into `copy`, which may be -1. */
static void read_through(struct event_source *source, int copy)
{
	const struct event_writer_options options = { .raw = true, .stream = 2 };
	struct event_writer *writer = NULL;
	struct event_walk walk = { 0 };
	struct event_block block;

	if (copy >= 0)
		BUG_ON(event_writer_new(&writer, copy, &options));
	while (event_source_next(source, &block) > 0) {
		use_block(&block, &walk);
		if (writer && block.domain < 4)
			(void)event_writer_copy(writer, &block);
	}
	if (writer)
		BUG_ON(event_writer_close(writer));
}

static void seek_around(struct event_source *source)
{
	static const uint16_t kinds[] = { EV_NONE, EV_MESSAGE, EV_EDGE, EV_SAMPLE, EV_CONN,
					  EV_CALL };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		for (uint32_t core = 0; core < 4; core++) {
			const struct event_window window = {
				.kind = kinds[i],
				.core = core ? core : EVENT_CORE_NONE,
				.domain = kinds[i] == EV_EDGE,
				.from = 1ULL << 40,
				.to = UINT64_MAX,
			};

			if (event_source_seek(source, &window))
				return;
			read_through(source, -1);
		}
	}
}

static void check_copy(int copy)
{
	struct event_reader *reader;
	struct event_damage damage;

	BUG_ON(event_reader_new(&reader, copy));
	read_through(event_reader_source(reader), -1);
	event_source_damage(event_reader_source(reader), &damage);
	BUG_ON(damage.reasons);
	event_reader_free(reader);
}

/*
 * The file's size and the decoded sizes that its chunks announce bound the reader's work. Seeking
 * may decode a chunk again for each kind and core that is sought.
 */
static void check_work(const struct event_reader *reader, size_t size)
{
	struct event_reader_stats stats;

	event_reader_stats(reader, &stats);
	BUG_ON(stats.examined > EXAMINED_LEAST + (uint64_t)PASSES * EXAMINED_TIMES * size +
					2 * stats.bytes);
	BUG_ON(stats.copied > EXAMINED_LEAST + (uint64_t)PASSES * EXAMINED_TIMES * size);
}

static void read_file(int fd, size_t size)
{
	struct event_dict *dict = event_dict_new();
	struct event_reader *reader;
	const int copy = memfd_create("copy", MFD_CLOEXEC);

	if (event_reader_new(&reader, fd) == 0) {
		read_through(event_reader_source(reader), copy);
		check_copy(copy);
		(void)event_reader_names(reader, dict);
		seek_around(event_reader_source(reader));
		(void)event_source_rewind(event_reader_source(reader));
		read_through(event_reader_source(reader), -1);
		check_work(reader, size);
		event_reader_free(reader);
	}
	event_dict_free(dict);
	close(copy);
}

static int file_of(const unsigned char *bytes, size_t size)
{
	const int fd = memfd_create("event", MFD_CLOEXEC);

	BUG_ON(fd < 0 || write(fd, bytes, size) != (ssize_t)size);
	return fd;
}

static int pipe_of(const unsigned char *bytes, size_t size)
{
	int ends[2];

	BUG_ON(pipe(ends));
	BUG_ON(size && write(ends[1], bytes, size) != (ssize_t)size);
	close(ends[1]);
	return ends[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *bytes;
	int fd;

	if (size < 1 || size > FILE_MAX)
		return 0;
	bytes = malloc(size);
	BUG_ON(!bytes);
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & SEAL)
		seal_file(bytes, size - 1);
	if (data[0] & PIPE && size <= PIPE_MAX)
		fd = pipe_of(bytes, size - 1);
	else
		fd = file_of(bytes, size - 1);
	read_file(fd, size);
	close(fd);
	free(bytes);
	return 0;
}
