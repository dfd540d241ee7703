/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The synthetic server without its threads: the queue's arithmetic against one that is done step
 * by step, and each protocol's answers, whatever pieces the questions come in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/rng.h"
#include "load/serve_queue.h"
#include "load/synthetic.h"
#include "serve_pair.h"

#define REPLIES_MAX (1 << 20)

/* ---- The queue ---- */

/* Nanosecond by nanosecond. */
static uint64_t slow_after(const struct serve_stall *stall, uint64_t t, uint64_t work)
{
	while (serve_stalled(stall, t))
		t++;
	for (; work; t++)
		work -= !serve_stalled(stall, t);
	return t;
}

static void test_stalls(void **state)
{
	static const struct serve_stall stalls[] = { { 3, 10 }, { 1, 2 }, { 9, 10 }, { 1, 100 } };
	static const struct serve_stall none = { 0, 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stalls); i++) {
		for (uint64_t start = 1000; start < 1200; start++) {
			for (uint64_t work = 0; work < 50; work++)
				assert_int_equal(serve_stall_after(&stalls[i], start, work),
						 slow_after(&stalls[i], start, work));
		}
	}
	assert_int_equal(serve_stall_after(&none, 5, 7), 12);
	assert_true(serve_stalled(&stalls[0], 1002) && !serve_stalled(&stalls[0], 1003));
}

/* The rule as it is written, with the server that is free first. */
static void test_queue(void **state)
{
	static const uint32_t servers[] = { 1, 2, 3, 7, 64 };
	static const struct serve_stall stall = { 40, 1000 };
	uint64_t free_at[64], arrival, service, last;
	struct serve_queue queue;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (size_t k = 0; k < ARRAY_LEN(servers); k++) {
		memset(free_at, 0, sizeof(free_at));
		assert_int_equal(serve_queue_init(&queue, servers[k], &stall), 0);
		arrival = 1000000;
		last = 0;
		for (int i = 0; i < 100000; i++) {
			uint32_t first = 0;

			arrival += rng_below(&rng, 100);
			service = rng_below(&rng, 190 * servers[k] / 2);
			for (uint32_t s = 1; s < servers[k]; s++)
				first = free_at[s] < free_at[first] ? s : first;
			free_at[first] = slow_after(&stall, free_at[first] > arrival ?
						    free_at[first] : arrival, service);
			last = serve_queue_enter(&queue, arrival, service);
			if (last != free_at[first])
				fail_msg("%u servers, request %d", servers[k], i);
		}
		assert_true(last >= arrival);
		serve_queue_release(&queue);
	}
}

static void test_agenda(void **state)
{
	struct serve_agenda agenda = { 0 };
	uint64_t last_at = 0, last_number = 0;
	struct rng rng;

	(void)state;
	vec_init(&agenda.heap, 10000);
	rng_init(&rng, 2);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(serve_agenda_put(&agenda, rng_below(&rng, 1000), &rng), 0);
	assert_int_not_equal(serve_agenda_put(&agenda, 1, &rng), 0);
	for (int i = 0; i < 10000; i++) {
		const struct serve_due *due = serve_agenda_first(&agenda);

		assert_true(due->at_ns > last_at || (due->at_ns == last_at &&
						     (!i || due->number > last_number)));
		last_at = due->at_ns;
		last_number = due->number;
		serve_agenda_drop_first(&agenda);
	}
	assert_null(serve_agenda_first(&agenda));
	vec_release(&agenda.heap);
}

/* ---- Protocols ---- */

static char replies[REPLIES_MAX];

/* The same answer to the whole, to every size of pieces, and to single bytes. */
static void check(enum serve_protocol_number protocol, uint32_t reply_size, const char *asked,
		  size_t size, const char *expected, bool ends)
{
	for (size_t piece = size; piece; piece--) {
		struct serve_pair pair;
		size_t n;

		serve_pair_open(&pair, protocol, reply_size);
		n = serve_pair_talk(&pair, asked, size, piece, replies, sizeof(replies) - 1);
		replies[n] = '\0';
		if (n != strlen(expected) || strcmp(replies, expected))
			fail_msg("pieces of %zu: '%s' instead of '%s'", piece, replies, expected);
		if (pair.ended != ends)
			fail_msg("pieces of %zu: the connection %s", piece,
				 ends ? "goes on" : "ended");
		serve_pair_close(&pair);
	}
}

#define CHECK(protocol, reply_size, asked, expected, ends)                                         \
	check(protocol, reply_size, asked, sizeof(asked) - 1, expected, ends)

static void test_memcached(void **state)
{
	(void)state;
	CHECK(SERVE_MEMCACHED, 3, "get a\r\ngets bb c\r\nGET x\n",
	      "VALUE a 0 3\r\nxxx\r\nEND\r\nVALUE bb 0 3 1\r\nxxx\r\nEND\r\n"
	      "VALUE x 0 3\r\nxxx\r\nEND\r\n", false);
	CHECK(SERVE_MEMCACHED, 0, "get a\r\n", "END\r\n", false);
	CHECK(SERVE_MEMCACHED, 0, "set k 0 0 11\r\n\r\nEND\r\nget \r\nget a\r\n",
	      "STORED\r\nEND\r\n", false);
	CHECK(SERVE_MEMCACHED, 0, "set k 0 0 0\r\n\r\nset k 0 0 2 noreply\r\nab\r\ndelete k\r\n",
	      "STORED\r\nDELETED\r\n", false);
	CHECK(SERVE_MEMCACHED, 0, "cas k 0 0 1 7\r\nx\r\nversion\r\nquit\r\nget a\r\n",
	      "STORED\r\nVERSION hostlat\r\n", true);
	CHECK(SERVE_MEMCACHED, 0, "what\r\n\r\nget\r\nset k 0 0 x\r\nset k 0 0 99999999999\r\n",
	      "ERROR\r\nERROR\r\nERROR\r\nCLIENT_ERROR bad command line format\r\n"
	      "CLIENT_ERROR bad command line format\r\n", false);
}

static void test_redis(void **state)
{
	(void)state;
	CHECK(SERVE_REDIS, 2, "*2\r\n$3\r\nGET\r\n$1\r\na\r\nPING\r\n*1\r\n$4\r\nping\r\n",
	      "$2\r\nxx\r\n+PONG\r\n+PONG\r\n", false);
	CHECK(SERVE_REDIS, 0, "*2\r\n$3\r\nget\r\n$3\r\n\r\n\r\r\n*0\r\n\r\nping abc\r\n",
	      "$-1\r\n$3\r\nabc\r\n", false);
	CHECK(SERVE_REDIS, 0, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$7\r\n*1\r\n$4\r\r\n"
	      "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", "+OK\r\n$2\r\nhi\r\n", false);
	CHECK(SERVE_REDIS, 0, "*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$4\r\nsave\r\n",
	      "*2\r\n$4\r\nsave\r\n$0\r\n\r\n", false);
	CHECK(SERVE_REDIS, 0, "*1\r\n$40\r\n0123456789012345678901234567890123456789\r\nQUIT\r\nx",
	      "-ERR unknown command\r\n+OK\r\n", true);
	CHECK(SERVE_REDIS, 0, "*x\r\n", "-ERR Protocol error: invalid multibulk length\r\n", true);
	CHECK(SERVE_REDIS, 0, "*1\r\n:1\r\n", "-ERR Protocol error: invalid bulk length\r\n", true);
	CHECK(SERVE_REDIS, 0, "*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n",
	      true);
}

#define REFUSAL(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

static void test_http(void **state)
{
	(void)state;
	CHECK(SERVE_HTTP, 4, "GET / HTTP/1.1\r\nHost: a\r\n\r\nHEAD /x HTTP/1.1\r\n\r\n",
	      "page 4\r\n\r\nxxxxpage 4\r\n\r\n", false);
	CHECK(SERVE_HTTP, 0, "POST / HTTP/1.1\r\ncontent-length: 6\r\n\r\n\r\n\r\nab"
	      "GET / HTTP/1.1\r\n\r\n", "page 0\r\n\r\npage 0\r\n\r\n", false);
	CHECK(SERVE_HTTP, 0, "GET / HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n",
	      "page 0\r\n\r\n", true);
	CHECK(SERVE_HTTP, 0, "GET / HTTP/1.0\r\n\r\n", "page 0\r\n\r\n", true);
	CHECK(SERVE_HTTP, 0, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "page 0\r\n\r\n",
	      false);
	CHECK(SERVE_HTTP, 0, "GET /\r\n\r\n", REFUSAL("400 Bad Request"), true);
	CHECK(SERVE_HTTP, 0, "GET / HTTP/2\r\n\r\n", REFUSAL("505 HTTP Version Not Supported"),
	      true);
	CHECK(SERVE_HTTP, 0, "GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
	      REFUSAL("400 Bad Request"), true);
	CHECK(SERVE_HTTP, 0, "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
	      REFUSAL("501 Not Implemented"), true);
}

/* A line that never ends, in each protocol that has lines. */
static void test_endless_line(void **state)
{
	static const enum serve_protocol_number lines[] = { SERVE_MEMCACHED, SERVE_REDIS,
							    SERVE_HTTP };
	static char endless[3 * SERVE_LINE_MAX];

	(void)state;
	memset(endless, 'a', sizeof(endless));
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct serve_pair pair;

		serve_pair_open(&pair, lines[i], 0);
		serve_pair_talk(&pair, endless, sizeof(endless), 1000, replies, sizeof(replies));
		assert_true(pair.ended);
		assert_int_equal(pair.context->counts.garbled, 1);
		serve_pair_close(&pair);
	}
}

static void test_echo(void **state)
{
	char asked[100] = { 0 };

	(void)state;
	echo_put(asked, &(struct echo_message){ .id = 7, .size = 60 });
	echo_put(asked + 60, &(struct echo_message){ .id = 8, .size = ECHO_HEADER });
	for (size_t piece = 1; piece <= 72; piece++) {
		struct serve_pair pair;
		struct echo_message m;

		serve_pair_open(&pair, SERVE_ECHO, 0);
		assert_int_equal(serve_pair_talk(&pair, asked, 72, piece, replies, sizeof(replies)),
				 72);
		assert_int_equal(echo_get(replies, &m), 0);
		assert_true(m.id == 7 && m.size == 60);
		assert_int_equal(echo_get(replies + 60, &m), 0);
		assert_true(m.id == 8 && m.size == ECHO_HEADER);
		serve_pair_close(&pair);
	}
}

/* Replies larger than any buffer, to a peer that takes them slowly; stamps are in each. */
static void test_synthetic(void **state)
{
	static const uint32_t sizes[] = { 40, 100, 65536, 300000, 41 };
	char asked[ARRAY_LEN(sizes) * SYNTHETIC_REQUEST_HEADER];
	struct serve_pair pair;
	size_t n, at = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		synthetic_put_request(asked + i * SYNTHETIC_REQUEST_HEADER,
				      &(struct synthetic_request){
					      .id = (uint32_t)i + 1,
					      .size = SYNTHETIC_REQUEST_HEADER,
					      .reply_size = sizes[i],
				      });
	serve_pair_open(&pair, SERVE_SYNTHETIC, 0);
	n = serve_pair_talk(&pair, asked, sizeof(asked), sizeof(asked), replies, sizeof(replies));
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct synthetic_reply r;

		assert_true(at + SYNTHETIC_REPLY_HEADER <= n);
		assert_int_equal(synthetic_get_reply(replies + at, &r), 0);
		assert_int_equal(r.id, i + 1);
		assert_int_equal(r.size, sizes[i]);
		assert_true(r.in_ns > 0 && r.out_ns >= r.in_ns && r.flags == 0);
		at += r.size;
	}
	assert_int_equal(at, n);
	serve_pair_close(&pair);
}

/* A queue of one million waits for a stall to end; the next request is refused, and told so. */
static void test_full_queue_is_refused(void **state)
{
	static char asked[64 * SYNTHETIC_REQUEST_HEADER];
	struct synthetic_reply r;
	struct serve_pair pair;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < 64; i++)
		synthetic_put_request(asked + i * SYNTHETIC_REQUEST_HEADER,
				      &(struct synthetic_request){
					      .size = SYNTHETIC_REQUEST_HEADER,
					      .reply_size = SYNTHETIC_REPLY_HEADER,
					      .service_ns = SYNTHETIC_SERVICE_MAX,
				      });
	serve_pair_open(&pair, SERVE_SYNTHETIC, 0);
	for (uint32_t i = 0; i <= SERVE_WAITING_MAX / 64 && !n; i++)
		n = serve_pair_talk(&pair, asked, sizeof(asked), sizeof(asked), replies,
				    sizeof(replies));
	assert_int_equal(pair.context->agenda.heap.len, SERVE_WAITING_MAX);
	assert_int_equal(n, 64 * SYNTHETIC_REPLY_HEADER);
	assert_int_equal(synthetic_get_reply(replies, &r), 0);
	assert_int_equal(r.flags, SYNTHETIC_REFUSED);
	assert_int_equal(pair.context->counts.refused, 64);
	serve_pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalls),	  cmocka_unit_test(test_queue),
		cmocka_unit_test(test_agenda),	  cmocka_unit_test(test_memcached),
		cmocka_unit_test(test_redis),	  cmocka_unit_test(test_http),
		cmocka_unit_test(test_endless_line),	  cmocka_unit_test(test_echo),
		cmocka_unit_test(test_synthetic), cmocka_unit_test(test_full_queue_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
