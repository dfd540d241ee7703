/* SPDX-License-Identifier: Apache-2.0 */
/* Spans: what the writer makes of edges, and that a window finds all that overlaps it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/vec.h"
#include "event/reader.h"
#include "event/spans.h"
#include "event/writer.h"

#define CORE 9
#define TSC 1
#define EDGES 150000
#define BEYOND_MAX 2	/* chunks read that don't overlap the window */

struct spans VEC_OF(struct event_span);

struct range {
	uint64_t first, last;
};

static struct event_writer *open_writer(int *fd)
{
	const struct event_writer_options options = { .stream = 1 };
	struct event_writer *writer;

	*fd = memfd_create("spans", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(event_writer_new(&writer, *fd, &options), 0);
	return writer;
}

static void put(struct event_writer *writer, uint64_t time, uint8_t type, uint32_t what)
{
	const struct event_edge edge = { .type = type, .what = what };

	assert_int_equal(event_writer_edge(writer, CORE, TSC, time, &edge), 0);
}

static void walk_all(struct event_source *source, struct event_walk *walk, struct spans *spans)
{
	struct event_block block;
	struct event_span span;

	*walk = (struct event_walk){ 0 };
	while (event_source_next(source, &block) > 0) {
		if (block.kind != EV_EDGE)
			continue;
		event_walk_block(walk, &block);
		while (event_walk_next(walk, &span))
			assert_int_equal(vec_push(spans, span), 0);
	}
}

/* Everything that the file says about losses of edges for a reason. */
static uint64_t lost(struct event_source *source, enum event_loss_why why)
{
	struct event_block block;
	struct event event;
	uint64_t records = 0;

	assert_int_equal(event_source_rewind(source), 0);
	while (event_source_next(source, &block) > 0) {
		size_t at = 0;

		while (!block.record_size && event_block_next(&block, &at, &event)) {
			const struct event_loss *loss = event.payload;

			if (event.kind == EV_LOSS && loss->why == why && loss->kind == EV_EDGE)
				records += loss->records;
		}
	}
	return records;
}

static struct event_reader *close_and_read(struct event_writer *writer, int fd)
{
	struct event_reader *reader;

	assert_int_equal(event_writer_close(writer), 0);
	assert_int_equal(event_reader_new(&reader, fd), 0);
	return reader;
}

static void expect(const struct event_span *span, uint64_t begin, uint64_t end, uint32_t what,
		   uint32_t depth, bool cut)
{
	assert_int_equal(span->begin, begin);
	assert_int_equal(span->end, end);
	assert_int_equal(span->what, what);
	assert_int_equal(span->depth, depth);
	assert_int_equal(span->cut, cut);
}

/* ---- edges in the writer ---- */

static void test_blind(void **state)
{
	struct event_walk walk;
	struct spans spans;
	int fd;
	struct event_writer *writer = open_writer(&fd);
	struct event_reader *reader;

	(void)state;
	put(writer, 10, SPAN_TASK, 1);
	put(writer, 20, SPAN_FUNCTION, 2);
	put(writer, 30, SPAN_BLIND, 0);
	put(writer, 40, SPAN_BLIND | SPAN_END, 0);
	put(writer, 40, SPAN_TASK | SPAN_CONT, 1);
	reader = close_and_read(writer, fd);
	vec_init(&spans, 10);
	walk_all(event_reader_source(reader), &walk, &spans);
	assert_int_equal(spans.len, 3);
	expect(&spans.items[0], 20, 30, 2, 1, true);
	expect(&spans.items[1], 10, 30, 1, 0, true);
	expect(&spans.items[2], 30, 40, 0, 0, false);
	assert_int_equal(walk.track.depth, 1);
	assert_int_equal(walk.track.open[0].begin, 40);
	assert_int_equal(walk.track.open[0].type, SPAN_TASK | SPAN_CONT);
	vec_release(&spans);
	event_reader_free(reader);
	close(fd);
}

/* An end without a begin, one whose inner span never ended, and time that goes back. */
static void test_impossible_edges(void **state)
{
	struct event_walk walk;
	struct spans spans;
	int fd;
	struct event_writer *writer = open_writer(&fd);
	struct event_reader *reader;

	(void)state;
	put(writer, 10, SPAN_FUNCTION | SPAN_END, 5);
	put(writer, 10, SPAN_TASK, 1);
	put(writer, 20, SPAN_FUNCTION, 2);
	put(writer, 19, SPAN_FUNCTION, 3);
	put(writer, 30, SPAN_TASK | SPAN_END, 1);
	reader = close_and_read(writer, fd);
	vec_init(&spans, 10);
	walk_all(event_reader_source(reader), &walk, &spans);
	assert_int_equal(spans.len, 2);
	expect(&spans.items[0], 20, 30, 2, 1, true);
	expect(&spans.items[1], 10, 30, 1, 0, false);
	assert_int_equal(lost(event_reader_source(reader), LOSS_PRODUCER), 1);
	assert_int_equal(lost(event_reader_source(reader), LOSS_OUT_OF_ORDER), 1);
	vec_release(&spans);
	event_reader_free(reader);
	close(fd);
}

static void test_too_deep(void **state)
{
	struct event_walk walk;
	struct spans spans;
	int fd;
	struct event_writer *writer = open_writer(&fd);
	struct event_reader *reader;

	(void)state;
	for (uint32_t i = 0; i < EVENT_DEPTH_MAX + 3; i++)
		put(writer, i, SPAN_FUNCTION, 1);
	for (uint32_t i = 0; i < EVENT_DEPTH_MAX + 3; i++)
		put(writer, 100 + i, SPAN_FUNCTION | SPAN_END, 1);
	reader = close_and_read(writer, fd);
	vec_init(&spans, EVENT_DEPTH_MAX);
	walk_all(event_reader_source(reader), &walk, &spans);
	assert_int_equal(spans.len, EVENT_DEPTH_MAX);
	for (uint32_t i = 0; i < EVENT_DEPTH_MAX; i++)
		expect(&spans.items[i], EVENT_DEPTH_MAX - 1 - i, 103 + i, 1,
		       EVENT_DEPTH_MAX - 1 - i, false);
	assert_int_equal(lost(event_reader_source(reader), LOSS_TOO_DEEP), 3);
	vec_release(&spans);
	event_reader_free(reader);
	close(fd);
}

/* ---- windows ---- */

/* Long outer spans, short inner ones, now and then a long silence. Returns the last time. */
static uint64_t put_random(struct event_writer *writer, struct rng *rng)
{
	uint32_t open[EVENT_DEPTH_MAX], depth = 0;
	uint64_t time = 1ULL << 40;

	for (uint32_t i = 0; i < EDGES; i++) {
		const uint32_t want = 1 + rng_below(rng, EVENT_DEPTH_MAX);

		time += rng_below(rng, 1000) ? rng_below(rng, 50) : 5000000000;
		if (depth < want && depth < EVENT_DEPTH_MAX) {
			open[depth] = rng_below(rng, 1000);
			put(writer, time, SPAN_FUNCTION, open[depth++]);
		} else {
			put(writer, time, SPAN_FUNCTION | SPAN_END, open[--depth]);
		}
	}
	return time;
}

static bool has(const struct event_span *all, size_t n, uint64_t begin, uint32_t what,
		uint32_t depth)
{
	for (size_t i = 0; i < n; i++) {
		if (all[i].begin == begin && all[i].what == what && all[i].depth == depth)
			return true;
	}
	return false;
}

static size_t count_overlapping(const struct range *chunks, size_t n,
				const struct event_window *window)
{
	size_t overlapping = 0;

	for (size_t i = 0; i < n; i++)
		overlapping += chunks[i].last >= window->from && chunks[i].first < window->to;
	return overlapping;
}

/* Every span of `all` that overlaps the window is found, with its begin, and its end if inside. */
static void check_window(struct event_reader *reader, const struct event_window *window,
			 const struct spans *all, size_t overlapping)
{
	struct event_reader_stats before, after;
	struct event_walk walk;
	struct spans found;

	vec_init(&found, all->len);
	event_reader_stats(reader, &before);
	assert_int_equal(event_source_seek(event_reader_source(reader), window), 0);
	walk_all(event_reader_source(reader), &walk, &found);
	event_reader_stats(reader, &after);
	assert_true(after.chunks - before.chunks <= overlapping + BEYOND_MAX);
	assert_int_equal(walk.broken, 0);
	for (uint32_t i = 0; i < walk.track.depth; i++) {
		const struct event_open *open = &walk.track.open[i];

		assert_int_equal(vec_push(&found, (struct event_span){
			.begin = open->begin, .what = open->what, .depth = open->depth }), 0);
	}
	vec_for_each(all, span) {
		if (span->begin < window->to && span->end >= window->from)
			assert_true(has(found.items, found.len, span->begin, span->what,
					span->depth));
	}
	vec_release(&found);
}

static void test_windows(void **state)
{
	struct VEC_OF(struct range) chunks;
	struct event_reader *reader;
	struct event_writer *writer;
	struct event_walk walk;
	struct event_block block;
	struct spans all;
	struct rng rng;
	uint64_t end;
	int fd;

	(void)state;
	rng_init(&rng, 1);
	writer = open_writer(&fd);
	end = put_random(writer, &rng);
	reader = close_and_read(writer, fd);
	vec_init(&all, EDGES);
	vec_init(&chunks, EDGES);
	walk_all(event_reader_source(reader), &walk, &all);
	assert_int_equal(event_source_rewind(event_reader_source(reader)), 0);
	while (event_source_next(event_reader_source(reader), &block) > 0)
		assert_int_equal(vec_push(&chunks, (struct range){ block.first, block.last }), 0);
	for (int i = 0; i < 60; i++) {
		struct event_window window = { .kind = EV_EDGE, .domain = TSC, .core = CORE };
		const struct range *chunk = &chunks.items[rng_below(&rng, chunks.len)];

		window.from = (1ULL << 40) + rng_below(&rng, end - (1ULL << 40));
		if (i % 3 == 0)		/* between two chunks, or at the edge of one */
			window.from = chunk->last + i % 2;
		window.to = window.from + rng_below(&rng, 100000);
		check_window(reader, &window, &all,
			     count_overlapping(chunks.items, chunks.len, &window));
	}
	vec_release(&all);
	vec_release(&chunks);
	event_reader_free(reader);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blind),
		cmocka_unit_test(test_impossible_edges),
		cmocka_unit_test(test_too_deep),
		cmocka_unit_test(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
