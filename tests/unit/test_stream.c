/* SPDX-License-Identifier: Apache-2.0 */
/* Where requests and replies begin and end: however their bytes are cut, and what is given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "bpf/stream.h"

/* How a text is walked: byte by byte, or over what a line has that does not matter. */
enum pace { BYTES, LINES };

static uint64_t line(const struct stream_parser *s, const char *text, size_t size, enum pace pace)
{
	const char *end = memchr(text, '\n', size);

	if (pace == BYTES || !stream_ignores_line(s))
		return 0;
	return end ? (uint64_t)(end - text) : size;
}

/* "END@bytes " and so on for each event, after how many bytes. */
static unsigned int walk(struct stream_parser *s, const char *text, size_t size, bool reply,
			 bool no_body, enum pace pace, char *out, size_t room)
{
	unsigned int looks = 0;
	uint64_t at = 0;

	out[0] = '\0';
	for (; at < size; looks++) {
		uint64_t n = s->skip < size - at ? s->skip : size - at;
		uint64_t ignored = n ? 0 : line(s, text + at, size - at, pace);
		size_t len = strlen(out);
		uint32_t e;

		if (ignored) {
			at += ignored;
			continue;
		}
		if (n) {
			e = stream_skip(s, n);
			at += n;
		} else {
			e = reply ? stream_reply(s, (uint8_t)text[at], no_body) :
				    stream_request(s, (uint8_t)text[at]);
			at++;
		}
		if (e)
			snprintf(out + len, room - len, "%s%s%s%s%s%s%llu ", e & 2 ? "H" : "",
				 e & 4 ? "A" : "", e & 1 ? "E" : "", e & 8 ? "BAD" : "",
				 e & 16 ? "q" : "", e & 32 ? "n" : "", (unsigned long long)at);
		if (e & STREAM_BAD)
			break;
	}
	return looks;
}

static void requests(const char *text, const char *expected)
{
	char out[256];

	for (enum pace pace = BYTES; pace <= LINES; pace++) {
		struct stream_parser s = {};

		walk(&s, text, strlen(text), false, false, pace, out, sizeof(out));
		assert_string_equal(out, expected);
	}
}

static void replies(enum stream_protocol protocol, const char *text, const char *expected)
{
	char out[256];

	for (enum pace pace = BYTES; pace <= LINES; pace++) {
		struct stream_parser s = { .protocol = protocol };

		walk(&s, text, strlen(text), true, false, pace, out, sizeof(out));
		assert_string_equal(out, expected);
	}
}

static void memcached_requests(void **state)
{
	(void)state;
	requests("get a\r\n", "E7 ");
	requests("get a\nget b c\r\n", "E6 E15 ");
	requests("set k 0 0 5\r\nget x\r\nget y\r\n", "E20 E27 ");
	requests("set k 0 0 0\r\n\r\n", "E15 ");
	requests("cas k 0 0 2 77 noreply\r\nab\r\nget k\r\n", "Eq28 E35 ");
	requests("get noreply\r\ndelete k noreply\r\nquit\r\n", "E13 Eq31 Eq37 ");
	requests("incr 99999999999999999999 5\r\n", "E29 ");
	requests("mg k v t\r\nms k 3 T0\r\nabc\r\nmn\r\n", "E10 E26 E30 ");
	requests("mg k q\r\n", "BAD8 ");
	requests("watch\r\n", "BAD7 ");
	requests("set k 0 0 x\r\n", "BAD13 ");
	requests("set k 0 0\r\n", "BAD11 ");
	requests("\x80\x01", "BAD1 ");
	requests("set k 0 0 99999999999999\r\n", "BAD26 ");
	requests("get k l m 4\nset k 0 0 1\nx\r\ngets kkkkkkkkkkkkkkkkkkkk\nget\n",
		 "E12 E27 E53 E57 ");
}

static void memcached_replies(void **state)
{
	(void)state;
	replies(STREAM_MEMCACHED, "END\r\nSTORED\r\n", "H1 E5 H6 E13 ");
	replies(STREAM_MEMCACHED, "VALUE k 0 5\r\nEND\r\n\r\nVALUE l 0 1 9\r\nx\r\nEND\r\n",
		"H1 E43 ");
	replies(STREAM_MEMCACHED, "STAT a 1\r\nSTAT b 2\r\nEND\r\n", "H1 E25 ");
	replies(STREAM_MEMCACHED, "VA 2 t-1\r\nab\r\nHD\r\n", "H1 E14 H15 E18 ");
	replies(STREAM_MEMCACHED, "12\r\n", "H1 E4 ");
	replies(STREAM_MEMCACHED, "STAT a b 7 c\r\nEND a b 7\r\nOK\r\n", "H1 E25 H26 E29 ");
	replies(STREAM_MEMCACHED, "CLIENT_ERROR bad data chunk\r\n", "H1 BAD13 ");
}

static void resp_requests(void **state)
{
	(void)state;
	requests("*1\r\n$4\r\nPING\r\n", "E14 ");
	requests("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n*1\r\n\r\n*1\r\n$4\r\nPING\r\n", "E30 E44 ");
	requests("*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n", "E24 ");
	requests("*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n", "BAD27 ");
	requests("*2\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n", "BAD19 ");
	requests("*0\r\n", "BAD4 ");
	requests("*1\r\n+4\r\n", "BAD5 ");
}

static void resp_replies(void **state)
{
	(void)state;
	replies(STREAM_RESP, "+OK\r\n:5\r\n-ERR x\r\n", "H1 E5 H6 E9 H10 E17 ");
	replies(STREAM_RESP, "$5\r\n+OK\r\n\r\n$-1\r\n$0\r\n\r\n", "H1 E11 H12 E16 H17 E22 ");
	replies(STREAM_RESP, "*2\r\n$1\r\na\r\n*2\r\n:1\r\n:2\r\n*0\r\n*-1\r\n",
		"H1 E23 H24 E27 H28 E32 ");
	replies(STREAM_RESP, "%1\r\n+a\r\n*1\r\n_\r\n", "H1 E15 ");
	replies(STREAM_RESP, ">1\r\n+a\r\n", "HBAD1 ");
}

static void http_requests(void **state)
{
	(void)state;
	requests("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "E27 ");
	requests("HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n", "En19 E37 ");
	requests("POST /x HTTP/1.1\r\ncontent-LENGTH:  5\r\n\r\nGET /GET / HTTP/1.1\r\n\r\n",
		 "E45 E63 ");
	requests("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
		 "a;x=y\r\n0123456789\r\n0\r\nT: x\r\n\r\n", "E77 ");
	requests("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "BAD42 ");
	requests("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n", "BAD55 ");
	requests("PRI * HTTP/2.0\r\n\r\n", "BAD4 ");
	requests("GET /\r\n", "BAD7 ");
	requests("GET / HTTP/1.1\r\n folded: x\r\n", "BAD17 ");
	requests("GET / HTTP/1.1\r\nX: 99999999999999999999\r\n\r\n", "E43 ");
	requests("POST / HTTP/1.1\r\nX: content-length: 9\r\nX:\r\nContent-Length: 3\r\n\r\nabc",
		 "E67 ");
}

static void http_replies(void **state)
{
	struct stream_parser head = { .protocol = STREAM_HTTP };
	const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
	char out[64];

	(void)state;
	replies(STREAM_HTTP, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 304 Not "
		"Modified\r\n\r\n", "H38 E41 HE70 ");
	replies(STREAM_HTTP, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 x\r\n\r\n", "A25 HE43 ");
	replies(STREAM_HTTP, "HTTP/1.0 200 OK\r\n\r\nanything\r\nHTTP/1.1 200 OK\r\n", "H19 ");
	replies(STREAM_HTTP, "HTTP/1.1 101 Switching\r\n\r\n", "BAD26 ");
	replies(STREAM_HTTP, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3\r\nabc\r\n0\r\n\r\n", "H47 E60 ");
	walk(&head, text, strlen(text), true, true, BYTES, out, sizeof(out));
	assert_string_equal(out, "HE38 ");
}

/* Controls: a request that lacks a byte has no end, and one that is longer is two. */
static void cut_short(void **state)
{
	(void)state;
	requests("get a", "");
	requests("set k 0 0 5\r\nabcde\r", "");
	requests("*1\r\n$4\r\nPING\r", "");
	requests("GET / HTTP/1.1\r\n", "");
	requests("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcd", "");
}

/* Bodies may be passed over in any parts. */
static void in_parts(void **state)
{
	const char *text = "set k 0 0 100\r\n";
	struct stream_parser s = {};
	char out[64];

	(void)state;
	walk(&s, text, strlen(text), false, false, BYTES, out, sizeof(out));
	assert_int_equal(s.skip, 102);
	for (int i = 0; i < 101; i++)
		assert_int_equal(stream_skip(&s, 1), 0);
	assert_int_equal(stream_skip(&s, 1), STREAM_END);
}

/* A long line needs few looks, however long it is. */
static void long_lines(void **state)
{
	static char text[60000];
	struct stream_parser s = {};
	char out[64];

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "get a", 5);
	text[sizeof(text) - 1] = '\n';
	assert_in_range(walk(&s, text, sizeof(text), false, false, LINES, out, sizeof(out)), 1, 50);
	assert_string_equal(out, "E60000 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memcached_requests), cmocka_unit_test(memcached_replies),
		cmocka_unit_test(resp_requests), cmocka_unit_test(resp_replies),
		cmocka_unit_test(http_requests), cmocka_unit_test(http_replies),
		cmocka_unit_test(cut_short), cmocka_unit_test(in_parts),
		cmocka_unit_test(long_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
