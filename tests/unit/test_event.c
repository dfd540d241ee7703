/* SPDX-License-Identifier: Apache-2.0 */
/* The event model as its users see it: what is put in comes out, in memory and through files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/rng.h"
#include "event/dict.h"
#include "event/kinds.h"
#include "event/memsource.h"
#include "event/names.h"
#include "event/reader.h"
#include "event_file.h"
#include "event_sample.h"
#include "../sim/event_words.h"

/* ---- the vocabulary ---- */

static void test_names(void **state)
{
	(void)state;
	for (int stage = 1; stage < STAGE_MAX; stage++) {
		const bool is_free = stage == 1 || stage == 16;

		assert_int_equal(stage_parse(stage_name(stage)), is_free ? -1 : stage);
	}
	for (int origin = ORIGIN_RAISE; origin < ORIGIN_MAX; origin++)
		assert_int_equal(origin_parse(origin_name(origin)), origin);
	for (int protocol = 0; protocol < PROTO_MAX; protocol++)
		assert_int_equal(protocol_parse(protocol_name(protocol)), protocol);
	for (int direction = 0; direction < DIR_MAX; direction++)
		assert_string_not_equal(direction_name(direction), "unknown");
	for (uint32_t kind = 1; kind < EV_KIND_MAX; kind++) {
		const bool known = event_kind_info(kind)->version != 0;

		assert_int_equal(event_kind_parse(event_kind_name(kind)), known ? (int)kind : -1);
	}
	assert_int_equal(stage_parse("none"), -1);
	assert_int_equal(stage_parse("reads"), -1);
	assert_string_equal(stage_name(STAGE_MAX), "unknown");
	assert_int_equal(stage_direction(STAGE_READ), DIR_INGRESS);
	assert_int_equal(stage_direction(STAGE_SOCKET), DIR_INGRESS);
	assert_int_equal(stage_direction(STAGE_ACKED), DIR_EGRESS);
}

/* Each stage has a place of its own, in the order of a packet's path. */
static void test_stages_in_order_of_a_packet(void **state)
{
	(void)state;
	for (unsigned int stage = 0; stage < STAGE_MAX; stage++) {
		assert_true(stage_place(stage) < STAGE_MAX);
		assert_int_equal(stage_at_place(stage_place(stage)), stage);
	}
	assert_int_equal(stage_place(STAGE_IP), stage_place(STAGE_TRANSPORT) - 1);
	assert_int_equal(stage_place(STAGE_SOCKET), stage_place(STAGE_TRANSPORT) + 1);
	assert_int_equal(stage_place(STAGE_ENQUEUED), stage_place(STAGE_SOCKET) + 1);
	assert_true(stage_was_socket(STAGE_TRANSPORT, PROTO_TCP, "tcp_probe"));
	assert_true(stage_was_socket(STAGE_TRANSPORT, PROTO_TCP, "tcp_rcv_established"));
	assert_false(stage_was_socket(STAGE_TRANSPORT, PROTO_TCP, "LOCAL_IN"));
	assert_false(stage_was_socket(STAGE_TRANSPORT, PROTO_TCP, NULL));
	assert_false(stage_was_socket(STAGE_TRANSPORT, PROTO_UDP, "tcp_probe"));
}

/* ---- the queue ---- */

static void test_memsource(void **state)
{
	struct event_memsource *mem;
	struct event_source *source;
	struct event_sink *sink;
	struct event_block block;
	struct event_damage damage;
	struct event event;
	uint64_t expected = 0;
	uint32_t put = 0;
	size_t at;

	(void)state;
	assert_int_equal(event_memsource_new(&mem, EVENT_BLOCK_SIZE - 1), -EINVAL);
	assert_int_equal(event_memsource_new(&mem, 4 * EVENT_BLOCK_SIZE), 0);
	source = event_memsource_source(mem);
	sink = event_memsource_sink(mem);
	assert_int_equal(event_source_next(source, &block), 0);
	for (;; put++) {
		const struct event_count count = { .count = put };

		if (event_put(sink, EV_COUNT, put, &count, sizeof(count)))
			break;
	}
	assert_in_range(put, 4 * EVENT_BLOCK_SIZE / 40, 6 * EVENT_BLOCK_SIZE / 40);
	event_source_damage(source, &damage);
	assert_int_equal(damage.records, 1);
	while (event_source_next(source, &block) > 0) {
		at = 0;
		while (event_block_next(&block, &at, &event)) {
			const struct event_count *count = event.payload;

			assert_int_equal(event.kind, EV_COUNT);
			assert_int_equal(event.time, expected);
			assert_int_equal(count->count, expected++);
		}
	}
	assert_int_equal(expected, put);
	assert_int_equal(event_put(sink, EV_COUNT, 0, "short", 5), -EINVAL);
	assert_int_equal(event_put(sink, EV_EDGE, 0, "no record", 9), -EINVAL);
	assert_int_equal(event_put_fact(sink, 0, "key", "value"), 0);
	assert_int_equal(event_source_next(source, &block), 1);
	event_source_free(source);
}

/* ---- dictionaries ---- */

/* A full dictionary puts one loss into the stream for what it refuses. */
static void test_full_dictionary_reports_one_loss(void **state)
{
	struct event_dict *dict = event_dict_new();
	struct event_memsource *queue;
	struct event_block block;
	struct event event;
	char text[4000];
	size_t at = 0;

	(void)state;
	assert_non_null(dict);
	assert_int_equal(event_memsource_new(&queue, 1 << 20), 0);
	assert_int_equal(event_dict_put_loss(dict, event_memsource_sink(queue), 1), 0);
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "%u", i);
		text[strlen(text)] = 'x';
		text[sizeof(text) - 1] = '\0';
		event_dict_intern(dict, DICT_CGROUP, text, NULL, 0);
	}
	assert_in_range(event_dict_refused(dict), 900, 1000);
	for (int i = 0; i < 2; i++) /* control: the second has nothing to say */
		assert_int_equal(event_dict_put_loss(dict, event_memsource_sink(queue), 1), 0);
	assert_int_equal(event_source_next(event_memsource_source(queue), &block), 1);
	assert_true(event_block_next(&block, &at, &event));
	assert_int_equal(event.kind, EV_LOSS);
	assert_int_equal(((const struct event_loss *)event.payload)->why, LOSS_DICT_FULL);
	assert_int_equal(((const struct event_loss *)event.payload)->records,
			 event_dict_refused(dict));
	assert_false(event_block_next(&block, &at, &event));
	event_source_free(event_memsource_source(queue));
	event_dict_free(dict);
}

static void test_dict(void **state)
{
	struct event_dict *dict = event_dict_new();
	char text[32];

	(void)state;
	assert_non_null(dict);
	for (uint32_t i = 1; i <= EVENT_DICT_NAMES_MAX; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_int_equal(event_dict_intern(dict, DICT_SYMBOL, text, NULL, 0), i);
	}
	assert_int_equal(event_dict_intern(dict, DICT_SYMBOL, "one too many", NULL, 0), 0);
	assert_int_equal(event_dict_refused(dict), 1);
	assert_int_equal(event_dict_intern(dict, DICT_SYMBOL, "name 777", NULL, 0), 777);
	assert_int_equal(event_dict_intern(dict, DICT_STRING, "name 777", NULL, 0), 1);
	assert_int_equal(event_dict_intern(dict, DICT_STRING, NULL, NULL, 0), 0);
	assert_string_equal(event_dict_get(dict, DICT_SYMBOL, 65536), "name 65536");
	assert_null(event_dict_get(dict, DICT_SYMBOL, 65537));
	assert_null(event_dict_get(dict, DICT_MAX, 1));
	assert_null(event_dict_get(dict, DICT_STRING, 0));
	event_dict_free(dict);
}

/* ---- whole files ---- */

static void test_round_trip(void **state)
{
	struct bytes packed = make_sample(false, 5000), raw = make_sample(true, 5000);
	char *text = whole_text(packed), *raw_text = whole_text(raw);
	struct event_damage damage;
	char *piped = read_pipe_text(packed.data, packed.size, &damage);

	(void)state;
	assert_string_equal(text, raw_text);
	assert_string_equal(text, piped);
	assert_int_equal(damage.reasons, 0);
	assert_true(packed.size < raw.size / 2);
	for (uint32_t kind = 1; kind < EV_KIND_MAX; kind++) {
		char word[40];

		if (!event_kind_info(kind)->version)
			continue;
		snprintf(word, sizeof(word), "\n%s ", event_kind_name(kind));
		if (kind != EV_NAME)	/* the first line */
			assert_non_null(strstr(text, word));
	}
	free(text);
	free(raw_text);
	free(piped);
	free(packed.data);
	free(raw.data);
}

/* Copying block by block keeps the contents, open spans included. */
static void test_copy(void **state)
{
	struct bytes bytes = make_sample(false, 100), copied;
	const struct event_writer_options options = sample_options(true);
	const int from = memory_file(bytes.data, bytes.size), to = memory_file("", 0);
	struct event_reader *reader;
	struct event_writer *writer;
	struct event_block block;
	char *text = whole_text(bytes), *copied_text;

	(void)state;
	assert_int_equal(event_reader_new(&reader, from), 0);
	assert_int_equal(event_writer_new(&writer, to, &options), 0);
	while (event_source_next(event_reader_source(reader), &block) > 0)
		assert_int_equal(event_writer_copy(writer, &block), 0);
	assert_int_equal(event_writer_close(writer), 0);
	copied = contents(to);
	copied_text = whole_text(copied);
	assert_int_equal(strlen(copied_text), strlen(text));
	event_reader_free(reader);
	close(from);
	close(to);
	free(text);
	free(copied_text);
	free(bytes.data);
	free(copied.data);
}

/* The file that the first release of this format wrote must always read the same. */
static void test_first_release_reads_the_same(void **state)
{
	const char *root = getenv("HOSTLAT_SOURCE_ROOT");
	char path[4096], *text;
	struct bytes bytes, expected;
	int fd;

	(void)state;
	assert_non_null(root);
	snprintf(path, sizeof(path), "%s/tests/data/schema-1.hlat", root);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	bytes = contents(fd);
	close(fd);
	snprintf(path, sizeof(path), "%s/tests/data/schema-1.txt", root);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	expected = contents(fd);
	expected.data[expected.size] = '\0';
	close(fd);
	text = whole_text(bytes);
	assert_string_equal(text, (char *)expected.data);
	free(text);
	free(bytes.data);
	free(expected.data);
}

/* ---- the writer's failures ---- */

/* Counters until `n` were put or the writer reported an error; how many errors it reported. */
static int put_counts(struct event_writer *writer, uint64_t n, int *last_error)
{
	struct rng rng;
	int errors = 0;

	rng_init(&rng, 1);
	for (uint64_t i = 0; i < n; i++) {
		struct event_count count = { .count = i };
		int err;

		count.reason = rng_u64(&rng);	/* not to be compressed away */
		err = event_writer_put(writer, EVENT_CORE_NONE, EV_COUNT, i, &count, sizeof(count));
		if (err) {
			errors++;
			*last_error = err;
		}
	}
	return errors;
}

static void test_disk_full(void **state)
{
	const struct event_writer_options options = { 0 };
	struct rlimit old, limit;
	struct event_writer *writer;
	struct event_damage damage;
	struct bytes bytes;
	int err, last = 0, fd = open("/dev/full", O_WRONLY);
	char *text;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(event_writer_new(&writer, fd, &options), -ENOSPC);
	close(fd);

	/* A limit on file sizes fails in the middle of a write, as a full disk does. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 500001;
	setrlimit(RLIMIT_FSIZE, &limit);
	fd = memory_file("", 0);
	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	assert_int_equal(put_counts(writer, 100000, &last), 1);
	assert_int_equal(last, -EFBIG);
	assert_int_equal(event_writer_flush(writer), 0);
	assert_int_equal(event_writer_close(writer), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);

	bytes = contents(fd);
	assert_in_range(bytes.size, 400000, 500001);
	text = read_text(bytes.data, bytes.size, &damage, &err);
	assert_int_equal(err, 0);
	assert_int_equal(damage.reasons, DAMAGE_CUT);
	assert_int_equal(damage.bytes, 0);
	assert_non_null(strstr(text, "count=10000 flags=0\n"));
	free(text);
	free(bytes.data);
	close(fd);
}

static void test_broken_pipe(void **state)
{
	const struct event_writer_options options = { 0 };
	struct event_writer *writer;
	int ends[2], last = 0;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(event_writer_new(&writer, ends[1], &options), 0);
	close(ends[0]);
	assert_int_equal(put_counts(writer, 10000, &last), 1);
	assert_int_equal(last, -EPIPE);
	assert_int_equal(event_writer_close(writer), -EPIPE);
	close(ends[1]);
}

static void test_size_limit(void **state)
{
	struct event_writer_options options = { .size_limit = 1 };
	struct event_writer *writer;
	struct bytes bytes;
	int last, fd = memory_file("", 0);
	char *text;

	(void)state;
	assert_int_equal(event_writer_new(&writer, fd, &options), -EINVAL);
	options.size_limit = 300000;
	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	assert_int_not_equal(event_writer_intern(writer, DICT_UNIT, "a.service"), 0);
	assert_int_equal(put_counts(writer, 200000, &last), 0);
	assert_true(event_writer_full(writer));
	assert_int_equal(event_writer_close(writer), 0);
	bytes = contents(fd);
	assert_in_range(bytes.size, 100000, 300000);
	text = whole_text(bytes);
	assert_null(strstr(text, "count=199999 flags=0\n"));
	assert_non_null(strstr(text, "loss domain 0"));
	assert_non_null(strstr(text, "why=1 kind=5 "));
	free(text);
	free(bytes.data);
	close(fd);
}

/* More combinations of kind, core and domain than there are buffers. */
static void test_more_streams_than_buffers(void **state)
{
	const struct event_writer_options options = { 0 };
	const int fd = memory_file("", 0);
	struct event_writer *writer;
	struct bytes bytes;
	uint32_t lines = 0;
	char *text;

	(void)state;
	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	for (uint32_t i = 0; i < 3 * 1000; i++) {
		const struct event_count count = { .count = i };

		assert_int_equal(event_writer_put(writer, i % 1000, EV_COUNT, i, &count,
						  sizeof(count)), 0);
	}
	assert_int_equal(event_writer_close(writer), 0);
	bytes = contents(fd);
	text = whole_text(bytes);
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 3000);
	free(text);
	free(bytes.data);
	close(fd);
}

/* One busy core among many keeps its buffer, so that its records stay together. */
static void test_busy_core_keeps_its_buffer(void **state)
{
	const struct event_writer_options options = { 0 };
	const int fd = memory_file("", 0);
	struct event_reader *reader;
	struct event_writer *writer;
	struct event_block block;
	uint32_t blocks = 0;

	(void)state;
	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct event_count count = { .count = i };

		assert_int_equal(event_writer_put(writer, i, EV_COUNT, i, &count,
						  sizeof(count)), 0);
		assert_int_equal(event_writer_put(writer, 5000, EV_COUNT, i, &count,
						  sizeof(count)), 0);
	}
	assert_int_equal(event_writer_close(writer), 0);
	assert_int_equal(event_reader_new(&reader, fd), 0);
	while (event_source_next(event_reader_source(reader), &block) > 0)
		blocks += block.core == 5000;
	assert_int_equal(blocks, 1);
	event_reader_free(reader);
	close(fd);
}

/* A name that the writer got before a record is in the file before it. */
static void test_names_come_before_their_records(void **state)
{
	const struct event_writer_options options = { 0 };
	const int fd = memory_file("", 0);
	struct event_reader *reader;
	struct event_writer *writer;
	struct event_block block;

	(void)state;
	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct event_conn conn = {
			.app = event_writer_intern(writer, DICT_STRING, "nginx"),
		};

		assert_int_equal(event_writer_span(writer, 0, 0, EV_CONN, 0, 0, &conn), 0);
	}
	assert_int_equal(event_writer_close(writer), 0);
	assert_int_equal(event_reader_new(&reader, fd), 0);
	assert_int_equal(event_source_next(event_reader_source(reader), &block), 1);
	assert_int_equal(block.kind, EV_NONE);
	assert_int_equal(event_source_next(event_reader_source(reader), &block), 1);
	assert_int_equal(block.kind, EV_CONN);
	event_reader_free(reader);
	close(fd);
}

/* An event that closes an interval stays after the interval's events and before later ones. */
static void test_intervals_keep_order(void **state)
{
	const struct event_writer_options options = { 0 };
	const int fd = memory_file("", 0);
	uint32_t intervals = 0, conns = 0, calls = 0;
	struct event_reader *reader;
	struct event_writer *writer;
	struct event_block block;

	(void)state;
	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	for (uint32_t i = 0; i < 400; i++) { /* some of them fill a chunk */
		const struct event_interval interval = { .seq = i / 2 };
		const struct event_conn conn = { .cookie = i / 2 };
		const struct event_call call = { .cookie = i / 2, .seq = 1 };

		assert_int_equal(event_writer_span(writer, 0, 0, EV_CONN, 0, 0, &conn), 0);
		assert_int_equal(event_writer_span(writer, 0, 0, EV_CALL, 0, 0, &call), 0);
		if (i % 2)
			assert_int_equal(event_writer_put(writer, EVENT_CORE_NONE, EV_INTERVAL, 0,
							  &interval, sizeof(interval)), 0);
	}
	assert_int_equal(event_writer_close(writer), 0);
	assert_int_equal(event_reader_new(&reader, fd), 0);
	while (event_source_next(event_reader_source(reader), &block) == 1) {
		struct event_conn conn;
		struct event_call call;
		struct event event;

		for (size_t at = 0; !block.record_size && event_block_next(&block, &at, &event);)
			intervals += event.kind == EV_INTERVAL;
		for (uint32_t i = 0; block.kind == EV_CONN && i < block.count; i++, conns++) {
			event_block_copy(&block, i, &conn, sizeof(conn));
			assert_int_equal(conn.cookie, intervals);
		}
		for (uint32_t i = 0; block.kind == EV_CALL && i < block.count; i++, calls++) {
			event_block_copy(&block, i, &call, sizeof(call));
			assert_int_equal(call.cookie, intervals);
		}
	}
	assert_int_equal(intervals, 200);
	assert_int_equal(conns, 400);
	assert_int_equal(calls, 400);
	event_reader_free(reader);
	close(fd);
}

/* ---- merge ---- */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_stages_in_order_of_a_packet),
		cmocka_unit_test(test_memsource),
		cmocka_unit_test(test_full_dictionary_reports_one_loss),
		cmocka_unit_test(test_dict),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_first_release_reads_the_same),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_broken_pipe),
		cmocka_unit_test(test_size_limit),
		cmocka_unit_test(test_more_streams_than_buffers),
		cmocka_unit_test(test_busy_core_keeps_its_buffer),
		cmocka_unit_test(test_names_come_before_their_records),
		cmocka_unit_test(test_intervals_keep_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
