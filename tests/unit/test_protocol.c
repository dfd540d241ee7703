/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as servers send them, and as they should not, through every parser in every split. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/protocol.h"
#include "replies.h"

#define RESULTS_MAX 64

/* ---- In every split ---- */

struct run {
	const struct row *row;
	struct reply_parser parser;
	char results[RESULTS_MAX];
	size_t len;
	bool garbled;
};

static void note(struct run *r, char result)
{
	assert_true(r->len + 1 < sizeof(r->results));
	r->results[r->len++] = result;
	r->results[r->len] = '\0';
}

static void note_reply(struct run *r, const struct reply *reply)
{
	note(r, (reply->close ? "ome" : "OME")[reply->status]);
}

/* One read's bytes, in memory of just that size, so that a sanitizer sees what is read beyond. */
static void feed(struct run *r, size_t from, size_t size)
{
	const struct protocol *p = protocol_find(r->row->scheme);
	char *bytes = malloc(size ? size : 1), *at = bytes;
	size_t left = size, used;
	struct reply reply;

	assert_non_null(bytes);
	memcpy(bytes, r->row->data + from, size);
	while (left && !r->garbled) {
		int got = p->parse(&r->parser, r->row->type, at, left, &used, &reply);

		assert_true(used <= left);
		at += used;
		left -= used;
		if (got == 1)
			note_reply(r, &reply);
		else if (got == 0)
			assert_int_equal(left, 0);
		else
			assert_int_equal(got, -EPROTO);
		r->garbled = got < 0;
	}
	free(bytes);
}

static void end(struct run *r)
{
	const struct protocol *p = protocol_find(r->row->scheme);
	static const struct reply_parser fresh;
	struct reply reply;
	size_t used = 1;

	if (r->row->expected[0] == '$' && !r->garbled) {
		if (p->parse(&r->parser, r->row->type, NULL, 0, &used, &reply) == 1)
			note_reply(r, &reply);
		assert_int_equal(used, 0);
	}
	if (r->garbled)
		note(r, '!');
	else if (r->len == 0 && memcmp(&r->parser, &fresh, sizeof(fresh)) != 0)
		note(r, '.');
	if (strcmp(r->results, r->row->expected + (r->row->expected[0] == '$')) != 0)
		fail_msg("%s '%.60s': expected %s, got %s", r->row->scheme, r->row->data,
			 r->row->expected, r->results);
}

static void test_every_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t size = rows[i].size;

		for (size_t a = 0; a <= size; a++) {
			for (size_t b = a; b <= size; b += size > 100 ? 7 : 1) {
				struct run r = { .row = &rows[i] };

				feed(&r, 0, a);
				feed(&r, a, b - a);
				feed(&r, b, size - b);
				end(&r);
			}
		}
	}
}

static void test_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run r = { .row = &rows[i] };

		for (size_t at = 0; at < rows[i].size; at++)
			feed(&r, at, 1);
		end(&r);
	}
}

/* ---- Large values, of any bytes, in reads of any size ---- */

static void test_large_value(void **state)
{
	static const char *const schemes[] = { "memcached", "redis", "http" };
	static const char *const heads[] = { "VALUE key 0 %zu\r\n", "$%zu\r\n",
					     "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n" };
	static const char *const tails[] = { "\r\nEND\r\n", "\r\n", "" };
	const size_t value = 10 << 20;
	char *data = malloc(value + 200);
	struct rng rng;

	(void)state;
	assert_non_null(data);
	rng_init(&rng, 17);
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		struct row row = { .scheme = schemes[i], .expected = "OO", .data = data };
		size_t head = (size_t)snprintf(data, 100, heads[i], value);
		struct run r = { .row = &row };

		for (size_t at = head; at < head + value; at += 8)
			memcpy(data + at, at % 3 ? "\r\nEND\r\n\0" : "\r\n$3\r\n0\r", 8);
		memcpy(data + head + value, tails[i], strlen(tails[i]) + 1);
		row.size = head + value + strlen(tails[i]);
		for (int twice = 0; twice < 2; twice++) {
			for (size_t at = 0, n; at < row.size; at += n) {
				n = 1 + rng_below(&rng, 200000);
				n = n < row.size - at ? n : row.size - at;
				feed(&r, at, n);
			}
		}
		end(&r);
	}
	free(data);
}

/* ---- Replies without an end ---- */

static void test_endless(void **state)
{
	static const struct {
		const char *scheme, *start;
		char then;
	} endless[] = {
		{ "memcached", "SERVER_ERROR ", 'x' },
		{ "memcached", "VALUE ", 'k' },
		{ "memcached", "VALUE k ", '0' },
		{ "memcached-meta", "VA 1 ", 'f' },
		{ "memcached-meta", "VA ", '0' },
		{ "memcached-meta", "ERROR ", 'x' },
		{ "redis", "-", 'x' },
		{ "redis", "$", '0' },
		{ "redis", ">1\r\n+", 'x' },
		{ "http", "HTTP/1.1 200 ", 'x' },
		{ "http", "HTTP/1.1 200 OK\r\nX: ", 'x' },
		{ "http", "HTTP/1.1 200 OK\r\nConnection: ", 'x' },
		{ "http", "HTTP/1.1 200 OK\r\nConnection: ", ' ' },
		{ "http", "HTTP/1.1 200 OK\r\nContent-Length: ", '0' },
		{ "http", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", '0' },
		{ "http", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", 'x' },
		{ "http", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT:", 'x' },
	};
	char data[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(endless); i++) {
		struct row row = { .scheme = endless[i].scheme, .data = endless[i].start,
				   .size = strlen(endless[i].start) };
		struct run r = { .row = &row };

		feed(&r, 0, row.size);
		memset(data, endless[i].then, sizeof(data));
		row.data = data;
		for (int n = 0; n < 20 && !r.garbled; n++)
			feed(&r, 0, sizeof(data));
		if (!r.garbled)
			fail_msg("%s %s... goes on", endless[i].scheme, endless[i].start);
	}
}

/* As many short lines as one likes don't hold either. */
static void test_endless_lines(void **state)
{
	static const char *const lines[] = { "X: y\r\n", "HTTP/1.1 100 Continue\r\n\r\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct row row = { .scheme = "http",
					 .data = "HTTP/1.1 100 A\r\n",
					 .size = 16 };
		struct run r = { .row = &row };

		if (i == 0)
			feed(&r, 0, row.size);
		row.data = lines[i];
		row.size = strlen(lines[i]);
		for (int n = 0; n < 70000 && !r.garbled; n++)
			feed(&r, 0, row.size);
		assert_true(r.garbled);
	}
}

/* ---- Chunked replies made at random, against what they were made of ---- */

static size_t put(char *data, size_t at, const char *text)
{
	memcpy(data + at, text, strlen(text));
	return at + strlen(text);
}

/* Appends one reply. */
static size_t make_chunked(char *data, size_t at, struct rng *rng)
{
	static const char *const codings[] = { "chunked", "Chunked", "gzip,chunked",
					       ", gzip ,\tCHUNKED ," };
	static const char *const extensions[] = { "", "", ";a=b", " ; x=\"0\r", "\t" };
	static const char *const trailers[] = { "", "", "T: 5\r\n", "Content-Length: 3\r\nX:\r\n" };
	size_t chunks = rng_below(rng, 6);
	char line[64];

	at = put(data, at, "HTTP/1.1 200 OK\r\nServer: c\r\ntransfer-ENCODING: ");
	at = put(data, at, codings[rng_below(rng, ARRAY_LEN(codings))]);
	at = put(data, at, "\r\nCookie: t\r\n\r\n");
	for (size_t i = 0; i < chunks; i++) {
		size_t size = 1 + rng_below(rng, i % 2 ? 300 : 9);

		snprintf(line, sizeof(line), rng_below(rng, 2) ? "%zx" : "00%zX", size);
		at = put(data, at, line);
		at = put(data, at, extensions[rng_below(rng, ARRAY_LEN(extensions))]);
		at = put(data, at, "\r\n");
		for (size_t j = 0; j < size; j++)
			data[at++] = "\r\n0aH;\0 "[rng_below(rng, 8)];
		at = put(data, at, "\r\n");
	}
	at = put(data, at, rng_below(rng, 2) ? "0\r\n" : "000;x\r\n");
	at = put(data, at, trailers[rng_below(rng, ARRAY_LEN(trailers))]);
	return put(data, at, "\r\n");
}

static void test_chunked(void **state)
{
	static char data[16384];
	struct rng rng;

	(void)state;
	rng_init(&rng, 23);
	for (int round = 0; round < 3000; round++) {
		struct row row = { .scheme = "http", .expected = "OOO", .data = data };
		struct run r = { .row = &row };
		size_t ends[3];

		for (int i = 0; i < 3; i++)
			row.size = ends[i] = make_chunked(data, row.size, &rng);
		for (size_t at = 0, n; at < row.size; at += n) {
			size_t complete = 0;

			n = 1 + rng_below(&rng, round % 2 ? 5 : 500);
			n = n < row.size - at ? n : row.size - at;
			feed(&r, at, n);
			/* Not a byte early, not a byte late. */
			while (complete < 3 && ends[complete] <= at + n)
				complete++;
			assert_int_equal(r.len, complete);
		}
		end(&r);
	}
}

/* ---- Garbage: always an end, never a reply out of nothing but by the rules ---- */

static void test_garbage(void **state)
{
	static char data[512];
	struct rng rng;

	(void)state;
	rng_init(&rng, 29);
	for (const struct protocol *p = protocols; p->name; p++) {
		int garbled = 0;

		if (p->session)
			continue;
		for (int round = 0; round < 2000; round++) {
			struct row row = { .scheme = p->name,
						 .data = data,
						 .size = sizeof(data) };
			struct run r = { .row = &row };

			for (size_t i = 0; i < sizeof(data); i++)
				data[i] = (char)rng_u64(&rng);
			feed(&r, 0, rng_below(&rng, 100));
			feed(&r, 0, sizeof(data));
			garbled += r.garbled;
		}
		assert_true(garbled > 1990 || p->datagram);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_large_value),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_endless_lines),
		cmocka_unit_test(test_chunked),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
