/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/bug.h"
#include "store/rowbinary.h"

#define BYTES_MAX (4u << 20)

struct toy {
	uint64_t number;
	const char *name;
	const char *text;
};

static const struct store_column columns[] = {
	{ "name", STORE_TEXT, offsetof(struct toy, name), "" },
	{ "number", STORE_U64, offsetof(struct toy, number), "" },
	{ "text", STORE_TEXT, offsetof(struct toy, text), "" },
};
static const struct store_table table = {
	.name = "toys", .columns = columns, .n = ARRAY_LEN(columns), .row_size = sizeof(struct toy)
};

static ssize_t measure(const void *bytes, size_t size)
{
	return rowbinary_measure(&table, bytes, size);
}

/* The bytes, from ClickHouse's documentation of the format. */
static void test_bytes_of_a_row(void **state)
{
	static const char expected[] = "\2ab\7\6\5\4\3\2\1\0\3'\n\\";
	const struct toy toy = { .number = 0x01020304050607, .name = "ab", .text = "'\n\\" };
	struct strbuf out = STRBUF_INIT(BYTES_MAX);

	(void)state;
	rowbinary_write(&table, &toy, &out);
	assert_int_equal(out.len, sizeof(expected) - 1);
	assert_memory_equal(out.buf, expected, out.len);
	strbuf_release(&out);
}

/* Writes a row, finds no shorter one complete, and reads it from memory of its size. */
static void there_and_back(const struct toy *toy)
{
	struct strbuf out = STRBUF_INIT(BYTES_MAX);
	unsigned char *bytes;
	struct toy back;

	rowbinary_write(&table, toy, &out);
	bytes = malloc(out.len);
	assert_non_null(bytes);
	memcpy(bytes, out.buf, out.len);
	for (size_t n = 0; n < out.len; n += n < 300 ? 1 : 9973)
		assert_int_equal(measure(bytes, n), 0);
	assert_int_equal(measure(bytes, out.len), out.len);
	rowbinary_read(&table, bytes, &back);
	assert_int_equal(back.number, toy->number);
	assert_string_equal(back.name, toy->name);
	assert_string_equal(back.text, toy->text);
	free(bytes);
	strbuf_release(&out);
}

static void test_there_and_back(void **state)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 129, 16383, 16384, STORE_TEXT_MAX };
	struct strbuf text = STRBUF_INIT(STORE_TEXT_MAX);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		strbuf_reset(&text);
		strbuf_fill(&text, '\xfe', sizes[i]);
		there_and_back(&(struct toy){ INT64_MAX, strbuf_str(&text), "x" });
		there_and_back(&(struct toy){ 0, "", strbuf_str(&text) });
	}
	strbuf_release(&text);
}

static void test_several_rows(void **state)
{
	struct strbuf out = STRBUF_INIT(BYTES_MAX);
	struct toy back[2];
	ssize_t n;

	(void)state;
	rowbinary_write(&table, &(struct toy){ 1, "first", "a" }, &out);
	rowbinary_write(&table, &(struct toy){ 2, "", "b" }, &out);
	n = measure(out.buf, out.len);
	assert_int_equal(n, 6 + 8 + 2);
	assert_int_equal(measure(out.buf + n, out.len - (size_t)n), 1 + 8 + 2);
	rowbinary_read(&table, (unsigned char *)out.buf, &back[0]);
	rowbinary_read(&table, (unsigned char *)out.buf + n, &back[1]);
	assert_string_equal(back[0].name, "first");
	assert_string_equal(back[0].text, "a");
	assert_string_equal(back[1].name, "");
	assert_int_equal(back[1].number, 2);
	strbuf_release(&out);
}

static void test_bytes_that_are_no_row(void **state)
{
	(void)state;
	/* lengths: 2^20 + 1 bytes, 5 bytes that go on, 2^35 - 1 bytes */
	assert_int_equal(measure("\x81\x80\x40", 3), -EBADMSG);
	assert_int_equal(measure("\x80\x80\x80\x80\x80", 5), -EBADMSG);
	assert_int_equal(measure("\xff\xff\xff\xff\x7f", 5), -EBADMSG);
	assert_int_equal(measure("\x80\x80\x80\x80", 4), 0);
	assert_int_equal(measure("\2a\0", 3), -EBADMSG);
	assert_int_equal(measure("\0\0\0\0\0\0\0\0\x80", 9), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_of_a_row),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_several_rows),
		cmocka_unit_test(test_bytes_that_are_no_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
