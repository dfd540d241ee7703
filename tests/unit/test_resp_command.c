/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of Redis from text: words, quotes, placeholders and weights, byte for byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/resp_command.h"

struct rig {
	struct target target;
	struct workload workload;
	struct resp_commands *commands;
	struct strbuf why;
	size_t max;
};

static int make(struct rig *r, const char *workload, const char *const *texts, uint32_t n)
{
	struct opt_list list = { .len = n };
	int err;

	*r = (struct rig){ .why = STRBUF_INIT(4096) };
	memcpy(list.items, texts, n * sizeof(*texts));
	assert_int_equal(target_parse("redis://h", &r->target, &r->why), 0);
	assert_int_equal(workload_parse(&r->workload, workload, &r->target, &r->why), 0);
	err = resp_commands_new(&r->commands, &list, &r->why);
	if (!err && r->commands)
		err = resp_commands_size(r->commands, &r->workload, &r->max, &r->why);
	r->workload.commands = r->commands;
	return err;
}

static void release(struct rig *r)
{
	resp_commands_free(r->commands);
	workload_release(&r->workload);
	strbuf_release(&r->why);
}

/* Encodes into memory of just the promised size, and into each smaller one. */
static size_t encode(const struct rig *r, uint64_t number, char *to, uint16_t *type)
{
	struct encoded_request out = { .number = number };
	char *buffer = malloc(r->max);
	struct rng rng;

	assert_non_null(buffer);
	rng_init(&rng, number);
	assert_int_equal(protocol_encode(r->target.protocol, &r->workload, &rng, 7, buffer, r->max,
					 &out), 0);
	assert_true(out.size <= r->max);
	memcpy(to, buffer, out.size);
	*type = out.type;
	free(buffer);
	return out.size;
}

#define ROW(text, expected) { text, expected, sizeof(expected) - 1 }

static void test_bytes(void **state)
{
	static const struct {
		const char *text, *expected;
		size_t size;
	} rows[] = {
		ROW("PING", "*1\r\n$4\r\nPING\r\n"),
		ROW("  GET\t{key} ", "*2\r\n$3\r\nGET\r\n$3\r\n000\r\n"),
		ROW("HSET h:{key}:{key} f x", "*4\r\n$4\r\nHSET\r\n$9\r\nh:000:000\r\n$1\r\nf\r\n"
					      "$1\r\nx\r\n"),
		ROW("GET \\{key}{seq}", "*2\r\n$3\r\nGET\r\n$6\r\n{key}7\r\n"),
		ROW("GET {{key}}:a", "*2\r\n$3\r\nGET\r\n$7\r\n{000}:a\r\n"),
		ROW("SET a {random:1}{random:1}", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\n00\r\n"),
		ROW("SET 'a b'\"c d\"\\ e ''",
		    "*3\r\n$3\r\nSET\r\n$8\r\na bc d e\r\n$0\r\n\r\n"),
		ROW("SET \"\\n\\r\\t\\\\\\\"\\x00\\xFf\\q\" '\\n\"'",
		    "*3\r\n$3\r\nSET\r\n$9\r\n\n\r\t\\\"\0\xff\\q\r\n$3\r\n\\n\"\r\n"),
		ROW("EVAL 'return {1,2}' 0",
		    "*3\r\n$4\r\nEVAL\r\n$12\r\nreturn {1,2}\r\n$1\r\n0\r\n"),
		ROW("7:ECHO 7:x", "*2\r\n$4\r\nECHO\r\n$3\r\n7:x\r\n"),
	};
	char got[4096];
	struct rig r;
	uint16_t type;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (make(&r, "keys=1,key=3", &rows[i].text, 1))
			fail_msg("%s: %s", rows[i].text, strbuf_str(&r.why));
		if (encode(&r, 7, got, &type) != rows[i].size ||
		    memcmp(got, rows[i].expected, rows[i].size))
			fail_msg("%s", rows[i].text);
		assert_int_equal(type, OPERATION_COMMAND);
		release(&r);
	}
}

static void test_refused(void **state)
{
	static const char *const rows[][2] = {
		{ " ", "--command: there is no command: ' '" },
		{ "3:", "there is no command: '3:'" },
		{ "GET 'x", "a quote is not closed: 'GET 'x'" },
		{ "GET \"x\\", "a quote is not closed" },
		{ "GET \"\\x1\"", "\\x needs two hexadecimal digits" },
		{ "GET a\nb", "write a line end as" },
		{ "0:GET x", "a weight is a number from 1 to 1000000" },
		{ "1000001:GET x", "a weight is a number from 1 to 1000000" },
		{ "99999999999999999999999:GET x", "a weight is a number" },
		{ "GET {kee}", "'{kee}' is no placeholder" },
		{ "subscribe x", "it changes how the server replies: 'subscribe x'" },
		{ "CLIENT reply OFF", "it changes how the server replies" },
	};
	struct rig r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(make(&r, NULL, &rows[i][0], 1), -EINVAL);
		if (!strstr(strbuf_str(&r.why), rows[i][1]))
			fail_msg("%s: %s", rows[i][0], strbuf_str(&r.why));
		assert_null(r.commands);
		release(&r);
	}
}

static void test_too_large(void **state)
{
	char words[2 * 300], text[RESP_COMMAND_TEXT_MAX + 2];
	const char *values = "MSET a {value} b {value}", *many = words, *longest = text;
	struct rig r;

	(void)state;
	for (size_t i = 0; i < sizeof(words); i += 2)
		memcpy(words + i, "x ", 2);
	words[sizeof(words) - 1] = '\0';
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(make(&r, NULL, &many, 1), -EINVAL);
	release(&r);
	assert_int_equal(make(&r, NULL, &longest, 1), -EINVAL);
	release(&r);
	longest = text + 1;
	assert_int_equal(make(&r, NULL, &longest, 1), 0);
	release(&r);
	assert_int_equal(make(&r, "value=64M", &values, 1), 0);
	assert_true(r.max > 128 << 20);
	release(&r);
	values = "X {value}{value}{value}{value}{value}{value}{value}{value}{value} {value}{value}"
		 "{value}{value}{value}{value}{value}";
	assert_int_equal(make(&r, "value=64M", &values, 1), -EINVAL);
	release(&r);
}

/* Weights are shares, of which no draw is lost; the values' sizes vary up to the promised one. */
static void test_weights(void **state)
{
	static const char *const texts[] = {
		"8:GET {key}", "SET {key} {value}",
		"MSET {key}:{random:1000} {value} {seq} {value}",
	};
	static char got[4096];
	unsigned int counts[ARRAY_LEN(texts)] = { 0 };
	struct rig r;
	uint16_t type;

	(void)state;
	assert_int_equal(make(&r, "keys=1000000,key=normal:60:20,value=uniform:0:1000", texts,
			      ARRAY_LEN(texts)), 0);
	for (uint64_t i = 0; i < 10000; i++) {
		encode(&r, i * 0x9e3779b97f4a7c15ULL, got, &type);
		assert_in_range(type, OPERATION_COMMAND, OPERATION_COMMAND + 2);
		counts[type - OPERATION_COMMAND]++;
	}
	assert_in_range(counts[0], 7700, 8300);
	assert_in_range(counts[1], 850, 1150);
	assert_in_range(counts[2], 850, 1150);
	release(&r);
}

static void test_settings(void **state)
{
	static const char *const texts[] = { "PING", "GET {key}", "SET x {value}" };
	struct rig r;

	(void)state;
	assert_int_equal(make(&r, NULL, texts, 0), 0);
	assert_null(r.commands);
	release(&r);
	assert_int_equal(make(&r, NULL, texts, 1), 0);
	assert_int_equal(resp_commands_settings(r.commands), 0);
	release(&r);
	assert_int_equal(make(&r, NULL, texts, 2), 0);
	assert_true(resp_commands_settings(r.commands) >> WORKLOAD_KEYS & 1);
	assert_false(resp_commands_settings(r.commands) >> WORKLOAD_VALUE & 1);
	release(&r);
	assert_int_equal(make(&r, NULL, texts, 3), 0);
	assert_true(resp_commands_settings(r.commands) >> WORKLOAD_VALUE & 1);
	release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),	  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_large), cmocka_unit_test(test_weights),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
