/* SPDX-License-Identifier: Apache-2.0 */
/* An event stream that comes in pieces: any split gives the same events, any wrong byte its end. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent_stream.h"
#include "base/strbuf.h"
#include "event/feed.h"
#include "event/format.h"

#define START 5000000000000ULL

static unsigned char bytes[1 << 16];
static size_t size;

static void make_stream(bool raw, bool whole)
{
	const struct event_writer_options options = { .raw = raw, .stream = 5 };
	const int fd = memfd_create("stream", MFD_CLOEXEC);
	struct event_writer *w;
	ssize_t n;

	assert_int_equal(event_writer_new(&w, fd, &options), 0);
	stream_hello(w, START);
	stream_connected(w, START);
	stream_run(w, START);
	if (whole)
		assert_int_equal(event_writer_close(w), 0);
	else
		event_writer_free(w);
	n = pread(fd, bytes, sizeof(bytes), 0);
	assert_in_range(n, 500, sizeof(bytes) - 1);
	size = (size_t)n;
	close(fd);
}

/* Appends a block's contents, as a line. */
static void describe(const struct event_block *block, struct strbuf *out)
{
	strbuf_printf(out, "%u %u %u %zu %08x\n", block->kind, block->core, block->count,
		      block->size, event_crc(block->data, block->size));
}

/* Puts what fits. Returns what the feed says when it wants more. */
static int put(struct event_feed *feed, const unsigned char *from, size_t n, struct strbuf *out)
{
	struct event_block block;
	int ret = 0;

	while (n && ret >= 0) {
		size_t room;
		void *to = event_feed_space(feed, &room);

		assert_true(room > 0);
		room = room < n ? room : n;
		memcpy(to, from, room);
		event_feed_added(feed, room);
		from += room;
		n -= room;
		while ((ret = event_feed_next(feed, &block)) > 0)
			describe(&block, out);
	}
	return ret;
}

/* In two pieces. */
static int read_split(size_t cut, struct strbuf *out)
{
	struct event_feed *feed;
	int ret;

	assert_int_equal(event_feed_new(&feed), 0);
	ret = put(feed, bytes, cut, out);
	if (ret >= 0)
		ret = put(feed, bytes + cut, size - cut, out);
	event_feed_free(feed);
	return ret;
}

static void check_splits(int at_end)
{
	struct strbuf whole = STRBUF_INIT(1 << 16), split = STRBUF_INIT(1 << 16);

	assert_int_equal(read_split(size, &whole), at_end);
	assert_true(whole.len > 100);
	for (size_t cut = 0; cut < size; cut++) {
		strbuf_reset(&split);
		assert_int_equal(read_split(cut, &split), at_end);
		assert_string_equal(strbuf_str(&split), strbuf_str(&whole));
	}
	strbuf_release(&whole);
	strbuf_release(&split);
}

static void test_splits(void **state)
{
	(void)state;
	make_stream(false, false);
	check_splits(0);
	make_stream(true, true);
	check_splits(-ENODATA);
}

/* Bytes arrive one by one, and available blocks are asked for after each. */
static void test_byte_by_byte(void **state)
{
	struct strbuf whole = STRBUF_INIT(1 << 16), got = STRBUF_INIT(1 << 16);
	struct event_feed *feed;

	(void)state;
	make_stream(false, true);
	assert_int_equal(read_split(size, &whole), -ENODATA);
	assert_int_equal(event_feed_new(&feed), 0);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(put(feed, bytes + i, 1, &got), i + 1 < size ? 0 : -ENODATA);
	assert_string_equal(strbuf_str(&got), strbuf_str(&whole));
	event_feed_free(feed);
	strbuf_release(&whole);
	strbuf_release(&got);
}

/*
 * Events before a wrong byte are a prefix of the whole; nothing comes after it. Some bytes of the
 * header mean nothing, but its checksum covers them all.
 */
static void test_wrong_bytes(void **state)
{
	struct strbuf whole = STRBUF_INIT(1 << 16), got = STRBUF_INIT(1 << 16);

	(void)state;
	make_stream(false, true);
	assert_int_equal(read_split(size, &whole), -ENODATA);
	for (size_t i = 0; i < size; i++) {
		const int expected = i < 8 ? -ENOEXEC : -EBADMSG;
		int ret;

		bytes[i] ^= 0x40;
		strbuf_reset(&got);
		ret = read_split(size, &got);
		if (ret != expected && ret != -EPROTONOSUPPORT)
			fail_msg("byte %zu: %d", i, ret);
		assert_memory_equal(strbuf_str(&got), strbuf_str(&whole), got.len);
		bytes[i] ^= 0x40;
	}
	strbuf_release(&whole);
	strbuf_release(&got);
}

static void test_foreign(void **state)
{
	static const char text[] = "sh: 1: hostlat: not found\n";
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct event_feed *feed;
	struct event_block block;

	(void)state;
	assert_int_equal(event_feed_new(&feed), 0);
	assert_int_equal(put(feed, (const unsigned char *)text, 1, &out), -ENOEXEC);
	/* It stays so. */
	assert_int_equal(event_feed_next(feed, &block), -ENOEXEC);
	event_feed_free(feed);
	strbuf_release(&out);
}

/* A chunk twice, or one left out: chunk numbers show it. */
static void test_chunk_numbers(void **state)
{
	const size_t head = sizeof(struct event_file_header);
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct event_feed *feed;
	struct event_chunk chunk;
	size_t first;

	(void)state;
	make_stream(false, false);
	memcpy(&chunk, bytes + head, sizeof(chunk));
	first = sizeof(chunk) + chunk.stored_size;
	assert_int_equal(event_feed_new(&feed), 0);
	assert_int_equal(put(feed, bytes, head + first, &out), 0);
	assert_int_equal(put(feed, bytes + head, first, &out), -EBADMSG);
	event_feed_free(feed);
	assert_int_equal(event_feed_new(&feed), 0);
	assert_int_equal(put(feed, bytes, head, &out), 0);
	assert_int_equal(put(feed, bytes + head + first, size - head - first, &out), -EBADMSG);
	event_feed_free(feed);
	strbuf_release(&out);
}

/* The last chunk is missing: only the end mark shows it. */
static void test_missing_last_chunk(void **state)
{
	struct strbuf out = STRBUF_INIT(1 << 16);
	size_t at = sizeof(struct event_file_header), last = 0;
	struct event_feed *feed;
	struct event_chunk chunk;

	(void)state;
	make_stream(false, true);
	while (size - at > sizeof(struct event_end)) {
		memcpy(&chunk, bytes + at, sizeof(chunk));
		last = at;
		at += sizeof(chunk) + chunk.stored_size;
	}
	assert_int_equal(event_feed_new(&feed), 0);
	assert_int_equal(put(feed, bytes, last, &out), 0);
	assert_int_equal(put(feed, bytes + at, size - at, &out), -EBADMSG);
	event_feed_free(feed);
	strbuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_splits), cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_wrong_bytes), cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_chunk_numbers), cmocka_unit_test(test_missing_last_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
