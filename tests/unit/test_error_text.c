/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of servers that refuse a request, in every split; their cleaning; how causes are counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "load/causes.h"
#include "load/protocol.h"
#include "load/statuses.h"

struct row {
	const char *scheme;
	size_t size;
	const char *data;
	const char *word, *text; /* text "": nothing is said */
	uint16_t code;
};

#define THIRTY "123456780123456780123456780123"
#define NINETY THIRTY THIRTY THIRTY
#define ROW(scheme, data, word, text, code)                                                        \
	{ scheme, sizeof(data) - 1, data, word, text, code }

static const struct row rows[] = {
	ROW("redis", "-NOAUTH Authentication required.\r\n", "NOAUTH",
	    "NOAUTH Authentication required.", 0),
	ROW("redis", "-MOVED 866 127.0.0.1:7001\r\n", "MOVED", "MOVED 866 127.0.0.1:7001", 0),
	ROW("redis", "-what?\r\n", "", "what?", 0),
	ROW("redis", "$-1\r\n", "", "", 0),
	ROW("memcached", "SERVER_ERROR out of memory storing object\r\n", "SERVER_ERROR",
	    "SERVER_ERROR out of memory storing object", 0),
	ROW("memcached", "ERROR\r\n", "ERROR", "ERROR", 0),
	ROW("memcached", "ERROR Too many open connections\r\n", "ERROR",
	    "ERROR Too many open connections", 0),
	ROW("memcached", "END\r\n", "", "", 0),
	ROW("memcached-binary",
	    "\x81\1\0\0\0\0\0\3\0\0\0\12\0\0\0\0\0\0\0\0\0\0\0\0Too large.", "",
	    "Too large.", 3),
	ROW("http", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "", "", 200),
	ROW("http", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "", "404 Not Found",
	    404),
	ROW("http", "HTTP/1.1 301 Moved\r\nServer: x\r\nLocation:  https://e.org/?a=b \r\n"
		    "Content-Length: 3\r\n\r\nabc", "", "301 to https://e.org/?a=b", 301),
	ROW("http",
	    "HTTP/1.1 307 T\r\nContent-Length: 0\r\nlocation: /" NINETY NINETY "\r\n\r\n", "",
	    "307 to /" NINETY "1234567801...", 307),
	ROW("http", "HTTP/1.1 200 OK\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n", "", "", 200),
	ROW("http", "HTTP/1.1 304 Not Modified\r\n\r\n", "", "304 Not Modified", 304),
	ROW("http", "HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n", "", "503", 503),
	ROW("http", "HTTP/1.1 400 Bad Request\r\nContent-Length: 76\r\n\r\n<html>\r\n<head><title>"
	    "400 No required SSL certificate was sent</title></head></html>\n", "",
	    "400 No required SSL certificate was sent", 400),
	ROW("http", "HTTP/1.1 500 Oops\r\nContent-Length: 28\r\n\r\n<TITLE>Database down</TITLE>",
	    "",
	    "500 Oops: Database down", 500),
	ROW("http", "HTTP/1.1 429 Slow\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nten\r\n9\r\n"
	    " per hour\r\n0\r\n\r\n", "", "429 Slow: ten per hour", 429),
	ROW("http", "HTTP/1.1 502 Bad\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x01", "", "502 Bad",
	    502),
	ROW("http", "HTTP/1.1 401 No\x1b[31m\xff\r\nContent-Length: 0\r\n\r\n", "",
	    "401 No?[31m?", 401),
};

static void check_row(const struct row *row, size_t piece)
{
	const struct protocol *p = protocol_find(row->scheme);
	char text[ERROR_TEXT_CLEAN_MAX] = "", word[ERROR_TEXT_WORD_MAX] = "";
	struct reply_parser parser = { 0 };
	struct reply reply = { 0 };
	size_t used;
	int done = 0;

	for (size_t at = 0; at < row->size && !done; at += used) {
		const size_t n = row->size - at < piece ? row->size - at : piece;

		done = p->parse(&parser, 0, row->data + at, n, &used, &reply);
	}
	assert_int_equal(done, 1);
	assert_int_equal(reply.code, row->code);
	if (reply.error_text) {
		error_text_clean(reply.error_text, text);
		error_text_word(reply.error_text, word);
	}
	assert_string_equal(text, row->text);
	if (!row->code)
		assert_string_equal(word, row->word);
}

static void test_replies(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t piece = 1; piece <= rows[i].size; piece++)
			check_row(&rows[i], piece);
	}
}

static void test_long(void **state)
{
	struct error_text raw = { 0 };
	char text[ERROR_TEXT_CLEAN_MAX], word[ERROR_TEXT_WORD_MAX];

	(void)state;
	for (int i = 0; i < 1000; i++)
		error_text_add(&raw, "ABCDEFGH", 8);
	error_text_clean(&raw, text);
	assert_int_equal(strlen(text), ERROR_TEXT_CLEAN_MAX - 1);
	error_text_word(&raw, word);
	assert_string_equal(word, "");
	error_text_begin(&raw);
	error_text_clean(&raw, text);
	assert_string_equal(text, "");
}

/* Bytes that are not of the protocol, and where they were noticed. */
static void test_bytes_of_no_protocol(void **state)
{
	static const struct {
		const char *bytes;
		size_t size, at;
		const char *text;
	} cases[] = {
#define CASE(bytes, at, text) { bytes, sizeof(bytes) - 1, at, text }
		CASE("\x15\x03\x01\0\x02\x02\x46", 0,
		     "the server speaks TLS (as https:// does)"),
		CASE("\x16\x03\x03\0\x7a", 0, "the server speaks TLS (as https:// does)"),
		CASE("\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", 0,
		     "the server speaks HTTP/2 only (use h2c:// or, with TLS, h2://)"),
		CASE("\0\0\x06\x04\0\0\0\0\1\0\x03\0\0\0\x64", 0, ""),
		CASE("SSH-2.0-OpenSSH_9.2\r\nmore", 0, "'SSH-2.0-OpenSSH_9.2'"),
		CASE("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", 35,
		     "'Content-Length: 5, 5'"),
		CASE("HTTP/1.1 200 OK\r\nA: b\r\n", 99, "'A: b'"),
		CASE("no\x1b[31m", 0, ""),
		CASE("\r\n", 0, ""),
		CASE("01234567890123456789012345678901234567890123456789012345678901234567890123"
		     "456789012345", 0,
		     "'01234567890123456789012345678901234567890123456789012345678901234567890123"
		     "456789'"),
#undef CASE
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error_text raw = { .len = 3, .text = "old" };
		char text[ERROR_TEXT_CLEAN_MAX];

		error_text_garbled(&raw, cases[i].bytes, cases[i].size, cases[i].at, false);
		error_text_clean(&raw, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void test_count(void **state)
{
	struct causes a = { 0 }, b = { 0 };
	const struct load_cause *c;

	(void)state;
	causes_note(&a, CAUSE_REQUEST, "MOVED", "MOVED 1", 700);
	causes_note(&a, CAUSE_REQUEST, "MOVED", "MOVED 2", 300);
	causes_note(&a, CAUSE_REQUEST, "MOVED", "MOVED 2", 900);
	causes_note(&a, CAUSE_CONNECTION, "MOVED", "", 1);
	c = causes_find(&a, CAUSE_REQUEST, "MOVED");
	assert_int_equal(c->count, 3);
	assert_int_equal(c->first_ns, 300);
	assert_int_equal(c->last_ns, 900);
	assert_string_equal(c->text, "MOVED 2");
	causes_note(&b, CAUSE_REQUEST, "MOVED", "MOVED 1", 100);
	causes_note(&b, CAUSE_REQUEST, "timeout", NULL, 100);
	causes_add(&a, &b);
	assert_int_equal(causes_count(&a, CAUSE_REQUEST), 5);
	assert_int_equal(causes_top(&a, CAUSE_REQUEST)->first_ns, 100);
	assert_null(causes_top(&a, CAUSE_REPLY));
	causes_note_span(&a, CAUSE_CONNECTION, CAUSE_OUTAGE, 5, 9);
	assert_string_equal(causes_top(&a, CAUSE_CONNECTION)->name, "MOVED");
}

/* A server that makes up names cannot make the table grow. */
static void test_made_up_names_are_bounded(void **state)
{
	struct causes all = { 0 };
	char name[CAUSE_NAME_MAX];
	uint64_t sum = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "E%d", i);
		causes_note(&all, i % CAUSE_OFS, name, name, 1);
	}
	assert_true(all.n <= CAUSES_MAX);
	for (int of = 0; of < CAUSE_OFS; of++)
		sum += causes_count(&all, of);
	assert_int_equal(sum, 1000);
	assert_non_null(causes_find(&all, CAUSE_REQUEST, "other"));
}

static void test_facts(void **state)
{
	static const char *const bad[] = {
		"", "request", "request 1 2", "request 1 2 3 0", "request 1 2 3 0 ",
		"request 1 2 3 0 X", "request 1 2 3 0 \tX", "other 1 2 3 0 X\t",
		"request 0 2 3 0 X\t", "request 1 3 2 0 X\t", "request -1 2 3 0 X\t",
		"request 1 2 3 0 X\t\x1b", "request 1 2 3 0 X\ty\tz",
		"request 1 2 3 0 0123456789012345678901234567890123\t",
		"request 99999999999999999999 2 3 0 X\t",
	};
	struct causes taken = { 0 };

	(void)state;
	assert_int_equal(causes_add_fact(&taken, "request 12 5 900 3 HTTP 503\t503 Busy"), 0);
	assert_int_equal(causes_add_fact(&taken, "connection 1 0 0 0 closed\t"), 0);
	assert_int_equal(taken.n, 2);
	assert_string_equal(taken.list[0].name, "HTTP 503");
	assert_string_equal(taken.list[0].text, "503 Busy");
	assert_int_equal(taken.list[0].votes, 3);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(causes_add_fact(&taken, bad[i]), -EBADMSG);
	assert_int_equal(taken.n, 2);
}

static void test_statuses(void **state)
{
	static const char *const bad[] = { "", "40", "4040", "100", "600", "404,", ",404", "4x4",
					   "404 200", "all", "404;200" };
	struct strbuf why = STRBUF_INIT(1024);
	struct statuses s;

	(void)state;
	assert_int_equal(statuses_parse(NULL, &s, &why), 0);
	assert_false(s.given);
	assert_int_equal(statuses_parse("404,2xx", &s, &why), 0);
	assert_true(s.given && statuses_has(&s, 404) && statuses_has(&s, 200) &&
		    statuses_has(&s, 299));
	assert_false(statuses_has(&s, 300) || statuses_has(&s, 403) || statuses_has(&s, 999));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(statuses_parse(bad[i], &s, &why), -EINVAL);
		assert_true(why.len > 0);
		strbuf_reset(&why);
	}
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replies), cmocka_unit_test(test_long),
		cmocka_unit_test(test_bytes_of_no_protocol),
		cmocka_unit_test(test_count), cmocka_unit_test(test_made_up_names_are_bounded),
		cmocka_unit_test(test_facts), cmocka_unit_test(test_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
