/* SPDX-License-Identifier: Apache-2.0 */
/* Event files that are cut, changed, foreign, from the future, or lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "brief.h"
#include "clock/domain.h"
#include "event/chunkout.h"
#include "event/dict.h"
#include "event/kinds.h"
#include "event/reader.h"
#include "event_file.h"

/* Whether each line of `part` is a line of `whole`, in the same order. */
static bool is_subsequence(const char *part, const char *whole)
{
	while (*part) {
		const size_t length = strcspn(part, "\n") + 1;

		while (*whole && strncmp(part, whole, length) != 0)
			whole += strcspn(whole, "\n") + 1;
		if (!*whole)
			return false;
		whole += length;
		part += length;
	}
	return true;
}

/* Sought or by names: must not crash, and damage must not become contents. */
static void use_index(const void *data, size_t size)
{
	const int fd = memory_file(data, size);
	struct event_dict *dict = event_dict_new();
	struct event_reader *reader;
	struct event_block block;

	assert_non_null(dict);
	if (event_reader_new(&reader, fd) == 0) {
		struct event_source *source = event_reader_source(reader);
		const struct event_window window = {
			.kind = EV_EDGE, .domain = 1, .core = 2, .to = UINT64_MAX,
		};

		assert_int_equal(event_source_seek(source, &window), 0);
		while (event_source_next(source, &block) > 0) {
			assert_int_equal(block.kind, EV_EDGE);
			assert_int_equal(block.core, 2);
		}
		assert_int_equal(event_reader_names(reader, dict), 0);
		if (event_dict_get(dict, DICT_STRING, 1))
			assert_string_equal(event_dict_get(dict, DICT_STRING, 1), "tcp_probe");
		event_reader_free(reader);
	}
	event_dict_free(dict);
	close(fd);
}

/* ---- damage ---- */

static void test_cut_anywhere(void **state)
{
	struct bytes bytes = make_sample(true, 50);
	char *whole = whole_text(bytes);

	(void)state;
	for (size_t size = 0; size < bytes.size; size++) {
		struct event_damage damage = { 0 }, piped_damage = { 0 };
		int err;
		char *text = read_text(bytes.data, size, &damage, &err);
		char *piped = read_pipe_text(bytes.data, size, &piped_damage);

		if (size < 8) {
			assert_int_equal(err, -ENOEXEC);
			assert_null(text);
			assert_null(piped);
			continue;
		}
		assert_int_equal(err, 0);
		assert_true(damage.reasons & DAMAGE_CUT);
		assert_int_equal(strncmp(text, whole, strlen(text)), 0);
		assert_string_equal(text, piped);
		assert_int_equal(damage.bytes, piped_damage.bytes);
		use_index(bytes.data, size);
		free(text);
		free(piped);
	}
	free(whole);
	free(bytes.data);
}

static void flip_all(bool raw)
{
	struct bytes bytes = make_sample(raw, 50);
	char *whole = whole_text(bytes);

	for (size_t at = 0; at < bytes.size; at += at >= 8 && brief_emulated() ? 3 : 1) {
		const unsigned char bit = 1u << (at * 5 + at / 8) % 8;
		struct event_damage damage = { 0 }, piped_damage = { 0 };
		char *text, *piped;
		int err;

		bytes.data[at] ^= bit;
		text = read_text(bytes.data, bytes.size, &damage, &err);
		if (at < 8) {
			assert_int_equal(err, -ENOEXEC);
		} else {
			assert_int_equal(err, 0);
			assert_int_not_equal(damage.reasons, 0);
			assert_true(is_subsequence(text, whole));
			piped = read_pipe_text(bytes.data, bytes.size, &piped_damage);
			assert_string_equal(text, piped);
			assert_int_equal(damage.reasons, piped_damage.reasons);
			use_index(bytes.data, bytes.size);
			free(piped);
		}
		free(text);
		bytes.data[at] ^= bit;
	}
	free(whole);
	free(bytes.data);
}

static void test_flip_everywhere(void **state)
{
	(void)state;
	flip_all(true);
	flip_all(false);
}

/* Bytes are missing, doubled or inserted: the records behind them are found again. */
static void test_resynchronizes_after_damage(void **state)
{
	struct bytes bytes = make_sample(true, 50);
	char *whole = whole_text(bytes);
	unsigned char *changed = malloc(2 * bytes.size);

	(void)state;
	for (size_t at = 8; at < bytes.size; at += 13) {
		for (size_t n = 1; n < 600 && at + n < bytes.size; n = 3 * n + 1) {
			struct event_damage damage;
			char *text;
			int err;

			memcpy(changed, bytes.data, at);
			memcpy(changed + at, bytes.data + at + n, bytes.size - at - n);
			text = read_text(changed, bytes.size - n, &damage, &err);
			assert_int_equal(err, 0);
			assert_int_not_equal(damage.reasons, 0);
			assert_true(is_subsequence(text, whole));
			if (at > 100 && at < bytes.size / 2)
				assert_true(strlen(text) > 100);
			use_index(changed, bytes.size - n);
			free(text);

			memcpy(changed, bytes.data, at + n);
			memcpy(changed + at + n, bytes.data + at, bytes.size - at);
			text = read_text(changed, bytes.size + n, &damage, &err);
			assert_int_equal(err, 0);
			assert_int_not_equal(damage.reasons, 0);
			assert_true(is_subsequence(text, whole));
			use_index(changed, bytes.size + n);
			free(text);
		}
	}
	free(changed);
	free(whole);
	free(bytes.data);
}

/* A missing chunk is a gap; a doubled one counts once. */
static void test_missing_and_doubled_chunks(void **state)
{
	struct bytes bytes = make_sample(true, 50);
	unsigned char *changed = malloc(2 * bytes.size);
	char *whole = whole_text(bytes);
	struct event_chunk chunk;
	size_t at, size;

	(void)state;
	for (at = sizeof(struct event_file_header); at + sizeof(struct event_end) < bytes.size;
	     at += size) {
		struct event_damage damage;
		char *text;
		int err;

		memcpy(&chunk, bytes.data + at, sizeof(chunk));
		assert_int_equal(chunk.magic, EVENT_CHUNK_MAGIC);
		size = sizeof(chunk) + chunk.stored_size;
		memcpy(changed, bytes.data, at);
		memcpy(changed + at, bytes.data + at + size, bytes.size - at - size);
		text = read_text(changed, bytes.size - size, &damage, &err);
		assert_int_equal(damage.reasons, DAMAGE_GAP);
		assert_int_equal(damage.chunks, 1);
		assert_true(is_subsequence(text, whole));
		use_index(changed, bytes.size - size);
		free(text);

		memcpy(changed + at + size, bytes.data + at, bytes.size - at);
		memcpy(changed + at, bytes.data + at, size);
		text = read_text(changed, bytes.size + size, &damage, &err);
		assert_int_equal(damage.reasons, DAMAGE_INVALID);
		assert_string_equal(text, whole);
		free(text);
	}
	assert_true(at + sizeof(struct event_end) == bytes.size);
	free(changed);
	free(whole);
	free(bytes.data);
}

/* Bytes missing inside a chunk cost that chunk, not the next one. */
static void test_bytes_missing_inside_a_chunk(void **state)
{
	struct bytes bytes = make_sample(true, 50);
	unsigned char *changed = malloc(bytes.size);
	struct event_chunk chunk;
	size_t at, size;

	(void)state;
	for (at = sizeof(struct event_file_header); at + sizeof(struct event_end) < bytes.size;
	     at += size) {
		const size_t from = at + sizeof(chunk), n = 3;
		struct event_damage damage, piped_damage;
		int err;

		memcpy(&chunk, bytes.data + at, sizeof(chunk));
		size = sizeof(chunk) + chunk.stored_size;
		memcpy(changed, bytes.data, from);
		memcpy(changed + from, bytes.data + from + n, bytes.size - from - n);
		free(read_text(changed, bytes.size - n, &damage, &err));
		assert_int_equal(damage.chunks, 1);
		assert_int_equal(damage.bytes, size - n);
		free(read_pipe_text(changed, bytes.size - n, &piped_damage));
		assert_memory_equal(&damage, &piped_damage, sizeof(damage));
	}
	free(changed);
	free(bytes.data);
}

/* More garbage than one search window, with the next chunk's magic across its border. */
static void test_garbage_longer_than_a_window(void **state)
{
	struct bytes bytes = make_sample(true, 50);
	const size_t header = sizeof(struct event_file_header);
	char *whole = whole_text(bytes);

	(void)state;
	for (size_t n = EVENT_BLOCK_SIZE - 8; n < EVENT_BLOCK_SIZE + 8; n++) {
		unsigned char *changed = calloc(1, bytes.size + n);
		struct event_damage damage;
		char *text;
		int err;

		memcpy(changed, bytes.data, header);
		memcpy(changed + header + n, bytes.data + header, bytes.size - header);
		text = read_text(changed, bytes.size + n, &damage, &err);
		assert_string_equal(text, whole);
		assert_int_equal(damage.reasons, DAMAGE_GARBAGE);
		assert_int_equal(damage.bytes, n);
		free(text);
		free(changed);
	}
	free(whole);
	free(bytes.data);
}

static void expect_open(const void *data, size_t size, int expected)
{
	const int fd = memory_file(data, size);
	struct event_reader *reader;

	assert_int_equal(event_reader_new(&reader, fd), expected);
	close(fd);
}

static void test_foreign(void **state)
{
	static const char script[] =
		"#!/bin/sh\necho not an event file, but long enough for the header of one\n";
	struct bytes bytes = make_sample(true, 0);
	struct event_file_header header;
	struct event_reader *reader;

	(void)state;
	expect_open("", 0, -ENOEXEC);
	expect_open(script, sizeof(script) - 1, -ENOEXEC);
	memcpy(&header, bytes.data, sizeof(header));
	header.version = EVENT_FILE_VERSION + 1;
	header.crc = event_seal(&header);
	expect_open(&header, sizeof(header), -EPROTONOSUPPORT);
	memcpy(&header, bytes.data, sizeof(header));
	header.byte_order = __builtin_bswap32(header.byte_order);
	expect_open(&header, sizeof(header), -EPROTONOSUPPORT);
	assert_int_equal(event_reader_open(&reader, "/nonexistent/file.hlat"), -ENOENT);
	assert_int_equal(event_reader_open(&reader, "/"), -EISDIR);
	free(bytes.data);
}

/* ---- files from the future, and files that lie ---- */

struct forged {
	int fd;
	struct event_out out;
};

static void forge_begin(struct forged *forged)
{
	struct event_file_header header = { .stream = 1, .clock = DOMAIN_MONO };

	forged->fd = memory_file("", 0);
	assert_int_equal(event_out_init(&forged->out, forged->fd, &header, true), 0);
}

static void forge_chunk(struct forged *forged, uint16_t kind, uint16_t version,
			uint32_t record_size, uint32_t count, const void *payload, uint32_t size)
{
	struct event_chunk chunk = {
		.kind = kind, .version = version, .core = EVENT_CORE_NONE,
		.record_size = record_size, .count = count, .raw_size = size,
	};

	event_out_chunk(&forged->out, &chunk, payload);
}

/* The text of what can be read of it. */
static char *forge_end(struct forged *forged, struct event_damage *damage)
{
	struct bytes bytes;
	char *text;
	int err;

	event_out_end(&forged->out, 0);
	assert_int_equal(forged->out.error, 0);
	event_out_release(&forged->out);
	bytes = contents(forged->fd);
	text = read_text(bytes.data, bytes.size, damage, &err);
	assert_int_equal(err, 0);
	use_index(bytes.data, bytes.size);
	free(bytes.data);
	close(forged->fd);
	return text;
}

struct forged_record {
	struct event_record head;
	struct event_count count;
};

static struct forged_record a_count(uint64_t n)
{
	return (struct forged_record){
		.head = { .kind = EV_COUNT, .version = 1, .size = sizeof(struct event_count) },
		.count = { .count = n },
	};
}

static void test_future(void **state)
{
	struct forged_record records[4] = { a_count(1), a_count(2), a_count(3), a_count(4) };
	unsigned char block[64] = { 0 };
	struct {
		struct event_record head;
		struct event_count count;
		uint64_t appended;
	} longer = { { .kind = EV_COUNT, .version = 1, .size = 32 }, { .count = 5 }, 99 };
	struct event_damage damage;
	struct forged forged;
	char *text;

	(void)state;
	records[1].head.kind = EV_RECORD_MAX + 3;
	records[2].head.version = 2;
	forge_begin(&forged);
	forge_chunk(&forged, EV_NONE, 0, 0, 4, records, sizeof(records));
	forge_chunk(&forged, EV_KIND_MAX + 7, 1, 32, 2, block, 64);
	forge_chunk(&forged, EV_SAMPLE, 2, 64, 1, block, 64);
	forge_chunk(&forged, EV_SAMPLE, 1, 64, 1, block, 64);
	forge_chunk(&forged, EV_NONE, 0, 0, 1, &longer, sizeof(longer));
	text = forge_end(&forged, &damage);
	assert_int_equal(damage.reasons, DAMAGE_VERSION);
	assert_int_equal(damage.unknown, 4);
	assert_int_equal(damage.records, 0);
	assert_non_null(strstr(text, "count=1 flags=0\n"));
	assert_null(strstr(text, "count=2 flags=0\n"));
	assert_null(strstr(text, "count=3 flags=0\n"));
	assert_non_null(strstr(text, "count=4 flags=0\n"));
	assert_non_null(strstr(text, "count=5 flags=0\n"));
	assert_non_null(strstr(text, "sample domain 0"));
	free(text);
}

/* Checksums are right, contents are wrong. */
static void test_valid_checksum_wrong_contents(void **state)
{
	struct forged_record records[3] = { a_count(1), a_count(2), a_count(3) };
	struct event_edge edges[2] = {
		{ .dt = 5, .type = SPAN_TASK }, { .dt = 4, .type = SPAN_TASK | SPAN_END },
	};
	struct event_edge deep[2] = {
		{ .type = SPAN_TASK }, { .type = SPAN_TASK | SPAN_END, .depth = 1 },
	};
	struct forged_record few = a_count(4);
	const struct event_sample backwards = { .intended = 2, .done = 1 };
	struct {
		struct event_record head;
		struct event_hist hist;
	} hist = { { .kind = EV_HIST, .version = 1, .size = sizeof(struct event_hist) },
		   { .n = UINT32_MAX } };
	struct event_damage damage;
	struct forged forged;
	char *text;

	(void)state;
	records[1].head.size = UINT32_MAX;
	forge_begin(&forged);
	forge_chunk(&forged, EV_NONE, 0, 0, 3, records, sizeof(records));
	forge_chunk(&forged, EV_NONE, 0, 0, 1, &hist, sizeof(hist));
	forge_chunk(&forged, EV_EDGE, 1, sizeof(edges[0]), 2, edges, sizeof(edges));
	forge_chunk(&forged, EV_EDGE, 1, sizeof(edges[0]), 1, &edges[1], sizeof(edges[1]));
	forge_chunk(&forged, EV_EDGE, 1, sizeof(edges[0]), UINT32_MAX, edges, sizeof(edges));
	forge_chunk(&forged, EV_SAMPLE, 1, sizeof(backwards), 1, &backwards, sizeof(backwards));
	forge_chunk(&forged, EV_SAMPLE, 1, 0, 0, NULL, 0);
	forge_chunk(&forged, EV_EDGE, 1, sizeof(deep[0]), 2, deep, sizeof(deep));
	forge_chunk(&forged, EV_NONE, 0, 0, 5, &few, sizeof(few));
	text = forge_end(&forged, &damage);
	assert_int_equal(damage.reasons, DAMAGE_INVALID);
	assert_int_equal(damage.records, 2 + 1 + 2 + 1 + 1 + 1 + 1 + 2 + 4);
	assert_string_equal(text, "count domain 0 at 0: what=0 stage=0 protocol=0 direction=0 "
				  "reason=0 count=1 flags=0\n"
				  "count domain 0 at 0: what=0 stage=0 protocol=0 direction=0 "
				  "reason=0 count=4 flags=0\n");
	free(text);
}

/* An end mark that points anywhere: index and names then come from the chunks. */
static void test_end_mark_points_anywhere(void **state)
{
	struct bytes bytes = make_sample(true, 50);
	const size_t at = bytes.size - sizeof(struct event_end);
	struct event_end end;

	(void)state;
	for (int i = 0; i < 64 + 80; i++) {
		struct event_dict *dict = event_dict_new();
		struct event_reader *reader;
		int fd;

		assert_non_null(dict);
		memcpy(&end, bytes.data + at, sizeof(end));
		end.index = i < 64 ? (1ULL << i) - 1 : UINT64_MAX - (i - 64);
		end.dict = i % 2 ? end.index / 2 : end.index - 1;
		end.crc = event_seal(&end);
		memcpy(bytes.data + at, &end, sizeof(end));
		use_index(bytes.data, bytes.size);
		fd = memory_file(bytes.data, bytes.size);
		assert_int_equal(event_reader_new(&reader, fd), 0);
		assert_int_equal(event_reader_names(reader, dict), 0);
		assert_string_equal(event_dict_get(dict, DICT_TASK, 1), "memcached (4711/4711)");
		event_reader_free(reader);
		event_dict_free(dict);
		close(fd);
	}
	free(bytes.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_flip_everywhere),
		cmocka_unit_test(test_resynchronizes_after_damage),
		cmocka_unit_test(test_missing_and_doubled_chunks),
		cmocka_unit_test(test_bytes_missing_inside_a_chunk),
		cmocka_unit_test(test_garbage_longer_than_a_window),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_future),
		cmocka_unit_test(test_valid_checksum_wrong_contents),
		cmocka_unit_test(test_end_mark_points_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
