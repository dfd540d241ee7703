/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event files that are made to cost much: the work stays within a constant times their size. It is
 * counted in bytes that are compared, summed up, decoded, read or moved, never in time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "event/chunkin.h"
#include "event/dict.h"
#include "event/reader.h"
#include "event/writer.h"
#include "event_file.h"

#define BOMB (1u << 20)

/* Each four bytes may begin a chunk (80 bytes) or an end mark (48): 32 times, and the pass. */
#define EXAMINED_TIMES 40
#define COPIED_TIMES 16

static struct bytes bomb_new(size_t size)
{
	const struct event_file_header header = {
		.magic = EVENT_FILE_MAGIC, .byte_order = EVENT_BYTE_ORDER,
		.version = EVENT_FILE_VERSION, .size = sizeof(header), .stream = 1,
	};
	struct bytes bytes = { .data = calloc(1, size), .size = size };
	struct event_file_header sealed = header;

	assert_non_null(bytes.data);
	sealed.crc = event_seal(&sealed);
	memcpy(bytes.data, &sealed, sizeof(sealed));
	return bytes;
}

static struct event_reader_stats read_and_seek(struct bytes bytes, int passes)
{
	const struct event_window window = { .kind = EV_NONE, .core = EVENT_CORE_NONE,
					     .to = UINT64_MAX };
	const int fd = memory_file(bytes.data, bytes.size);
	struct event_reader_stats stats;
	struct event_reader *reader;
	struct event_source *source;
	struct event_block block;

	assert_int_equal(event_reader_new(&reader, fd), 0);
	source = event_reader_source(reader);
	for (int i = 0; i < passes; i++) {
		assert_int_equal(event_source_rewind(source), 0);
		while (event_source_next(source, &block) > 0)
			;
	}
	assert_int_equal(event_source_seek(source, &window), 0);
	while (event_source_next(source, &block) > 0)
		;
	event_reader_stats(reader, &stats);
	event_reader_free(reader);
	close(fd);
	return stats;
}

/* One pass in order, and one for the index that is not there. */
static void expect_bounded(struct bytes bytes)
{
	const struct event_reader_stats stats = read_and_seek(bytes, 1);

	assert_in_range(stats.examined, 1, 2ull * EXAMINED_TIMES * bytes.size);
	assert_in_range(stats.copied, 1, 2ull * COPIED_TIMES * bytes.size);
	free(bytes.data);
}

static void test_magics_everywhere(void **state)
{
	static const uint32_t magics[][2] = {
		{ EVENT_END_MAGIC, EVENT_END_MAGIC },
		{ EVENT_CHUNK_MAGIC, EVENT_CHUNK_MAGIC },
		{ EVENT_CHUNK_MAGIC, EVENT_END_MAGIC },
		{ EVENT_END_MAGIC, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		struct bytes bytes = bomb_new(BOMB);

		for (size_t at = sizeof(struct event_file_header); at + 8 <= BOMB; at += 8)
			memcpy(bytes.data + at, magics[i], 8);
		expect_bounded(bytes);
	}
}

/* A chunk's header that says how much follows, without the checksum of what does. */
static void put_header(unsigned char *to, uint32_t size, uint64_t seq)
{
	struct event_chunk chunk = {
		.magic = EVENT_CHUNK_MAGIC, .stream = 1, .core = EVENT_CORE_NONE, .seq = seq,
		.raw_size = size, .stored_size = size, .payload_crc = 1,
	};

	chunk.header_crc = event_seal(&chunk);
	memcpy(to, &chunk, sizeof(chunk));
}

/* Headers one behind the other, each with a payload that covers those after it. */
static void test_overlapping_headers(void **state)
{
	static const uint32_t sizes[] = { 0, 200, 4096, EVENT_BLOCK_SIZE };
	const size_t step = sizeof(struct event_chunk) + 4;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (int copies = 0; copies < 2; copies++) {
			struct bytes bytes = bomb_new(BOMB);
			uint64_t seq = 1;

			for (size_t at = 64; at + step <= BOMB; at += step)
				put_header(bytes.data + at, sizes[i], copies ? 0 : seq++);
			expect_bounded(bytes);
		}
	}
}

/* ---- indexes ---- */

struct forged_index {
	struct event_chunk chunk;
	struct event_index_head head;
	struct event_index_entry entries[EVENT_INDEX_ENTRIES];
};

/* The only index chunk of a file, and where it is. */
static size_t index_of(struct bytes bytes, struct forged_index *index)
{
	struct event_end end;

	memcpy(&end, bytes.data + bytes.size - sizeof(end), sizeof(end));
	memcpy(&index->chunk, bytes.data + end.index, sizeof(index->chunk));
	assert_int_equal(index->chunk.codec, EVENT_CODEC_RAW);
	memcpy(&index->head, bytes.data + end.index + sizeof(index->chunk),
	       index->chunk.raw_size);
	assert_int_equal(index->head.previous, 0);
	return end.index;
}

/* The file with another index, checksums and all. */
static struct bytes with_index(struct bytes bytes, struct forged_index *index, uint32_t count)
{
	struct forged_index old;
	const size_t at = index_of(bytes, &old);
	struct bytes forged = { .data = malloc(at + sizeof(*index) + sizeof(struct event_end)) };
	struct event_end end;

	assert_non_null(forged.data);
	memcpy(&end, bytes.data + bytes.size - sizeof(end), sizeof(end));
	index->chunk.count = count;
	index->chunk.raw_size = sizeof(index->head) + count * sizeof(index->entries[0]);
	index->chunk.stored_size = index->chunk.raw_size;
	index->chunk.payload_crc = event_crc(&index->head, index->chunk.raw_size);
	index->chunk.header_crc = event_seal(&index->chunk);
	memcpy(forged.data, bytes.data, at);
	memcpy(forged.data + at, index, sizeof(index->chunk) + index->chunk.raw_size);
	forged.size = at + sizeof(index->chunk) + index->chunk.raw_size + sizeof(end);
	end.size = forged.size;
	end.crc = event_seal(&end);
	memcpy(forged.data + forged.size - sizeof(end), &end, sizeof(end));
	return forged;
}

static void expect_index(struct bytes bytes, struct forged_index *index, uint32_t count,
			 bool rebuilt)
{
	struct bytes forged = with_index(bytes, index, count);
	const struct event_reader_stats stats = read_and_seek(forged, 0);
	const struct event_reader_stats good = read_and_seek(bytes, 0);

	assert_int_equal(stats.index_rebuilt, rebuilt);
	assert_int_equal(stats.chunks, good.chunks);
	assert_int_equal(stats.bytes, good.bytes);
	free(forged.data);
}

static void test_lying_index(void **state)
{
	struct bytes bytes = make_sample(true, 50);
	struct forged_index index, changed;
	uint32_t n;

	(void)state;
	index_of(bytes, &index);
	n = index.chunk.count;
	assert_true(n > 3);
	changed = index;
	expect_index(bytes, &changed, n, false); /* control: it is as it was */

	for (uint32_t i = n; i < EVENT_INDEX_ENTRIES; i++)
		changed.entries[i] = index.entries[0]; /* one chunk very often */
	expect_index(bytes, &changed, EVENT_INDEX_ENTRIES, true);
	for (uint32_t i = 0; i < EVENT_INDEX_ENTRIES; i++)
		changed.entries[i] = index.entries[0];
	expect_index(bytes, &changed, EVENT_INDEX_ENTRIES, true);

	changed = index;
	changed.entries[1] = index.entries[2]; /* not in order */
	changed.entries[2] = index.entries[1];
	expect_index(bytes, &changed, n, true);

	changed = index;
	changed.entries[1].stored_size += 1; /* reaches into the next one */
	expect_index(bytes, &changed, n, true);
	free(bytes.data);
}

/* ---- many cores ---- */

#define CORES 512u
#define ROUNDS 40u

/* All cores in turn, each with edges of its own and of the common clock. */
static struct bytes many_cores(uint32_t cores)
{
	const struct event_writer_options options = { .raw = true, .cores = cores };
	const int fd = memory_file("", 0);
	struct event_writer *writer;
	struct bytes bytes;

	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	for (uint32_t i = 0; i < CORES * ROUNDS; i++) {
		const struct event_edge edge = { .what = 1, .type = SPAN_TASK |
						 (i / CORES % 2 ? SPAN_END : 0) };
		const struct event_sample sample = { .intended = i, .sent = i, .done = i };

		assert_int_equal(event_writer_edge(writer, i % CORES, 0, 1000 + i, &edge), 0);
		assert_int_equal(event_writer_span(writer, i % CORES, 0, EV_SAMPLE, i, i,
						   &sample), 0);
	}
	assert_int_equal(event_writer_close(writer), 0);
	bytes = contents(fd);
	close(fd);
	return bytes;
}

static void count_all(struct bytes bytes, uint64_t *chunks, uint64_t *records)
{
	const int fd = memory_file(bytes.data, bytes.size);
	struct event_reader *reader;
	struct event_damage damage;
	struct event_block block;

	*chunks = *records = 0;
	assert_int_equal(event_reader_new(&reader, fd), 0);
	while (event_source_next(event_reader_source(reader), &block) > 0) {
		++*chunks;
		*records += block.count;
	}
	event_source_damage(event_reader_source(reader), &damage);
	assert_int_equal(damage.reasons, 0);
	event_reader_free(reader);
	close(fd);
}

/* Each core fills its chunks. Control: with too few buffers nothing is lost, the file grows. */
static void test_many_cores_within_memory(void **state)
{
	struct bytes bytes = many_cores(CORES);
	uint64_t chunks, records;

	(void)state;
	count_all(bytes, &chunks, &records);
	assert_int_equal(records, 2 * CORES * ROUNDS);
	assert_in_range(chunks, 2 * CORES, 2 * CORES + 2);
	free(bytes.data);

	bytes = many_cores(1);
	count_all(bytes, &chunks, &records);
	assert_int_equal(records, 2 * CORES * ROUNDS);
	assert_in_range(chunks, 4 * CORES, 2 * CORES * ROUNDS);
	free(bytes.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_magics_everywhere),
		cmocka_unit_test(test_overlapping_headers),
		cmocka_unit_test(test_lying_index),
		cmocka_unit_test(test_many_cores_within_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
