/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"

static void test_empty(void **state)
{
	struct strbuf zeroed = { 0 };

	(void)state;
	assert_string_equal(strbuf_str(&zeroed), "");
	strbuf_add(&zeroed, "", 0);
	assert_int_equal(zeroed.error, 0);
	strbuf_putc(&zeroed, 'x');
	assert_int_equal(zeroed.error, -E2BIG);
	strbuf_release(&zeroed);
	strbuf_release(NULL);
}

static void test_building(void **state)
{
	struct strbuf sb = STRBUF_INIT(1000);

	(void)state;
	strbuf_puts(&sb, "one");
	strbuf_putc(&sb, ' ');
	strbuf_printf(&sb, "%d-%s", 2, "three");
	strbuf_fill(&sb, '.', 3);
	strbuf_add(&sb, "\0z", 2);
	assert_int_equal(sb.error, 0);
	assert_int_equal(sb.len, 16);
	assert_memory_equal(strbuf_str(&sb), "one 2-three...\0z", 17);
	strbuf_truncate(&sb, 3);
	assert_string_equal(strbuf_str(&sb), "one");
	strbuf_release(&sb);
	assert_int_equal(sb.max, 1000);
}

/* The limit is exact, an addition is made whole or not at all, and the first error stays. */
static void test_limit(void **state)
{
	(void)state;
	for (size_t max = 0; max < 200; max++) {
		struct strbuf sb = STRBUF_INIT(max);

		strbuf_fill(&sb, 'a', max);
		assert_int_equal(sb.error, 0);
		assert_int_equal(strlen(strbuf_str(&sb)), max);
		strbuf_printf(&sb, "%s", "b");
		assert_int_equal(sb.error, -E2BIG);
		strbuf_truncate(&sb, max / 2);
		strbuf_putc(&sb, 'c');
		assert_int_equal(sb.len, max / 2);
		strbuf_reset(&sb);
		strbuf_fill(&sb, 'd', max + 1);
		assert_int_equal(sb.error, -E2BIG);
		assert_int_equal(sb.len, 0);
		strbuf_release(&sb);
	}
}

static void test_huge_addition(void **state)
{
	struct strbuf sb = STRBUF_INIT(SIZE_MAX);

	(void)state;
	strbuf_puts(&sb, "x");
	strbuf_fill(&sb, 'y', SIZE_MAX - 1);
	assert_int_equal(sb.error, -ENOMEM);
	assert_string_equal(strbuf_str(&sb), "x");
	strbuf_release(&sb);
}

static void test_detach(void **state)
{
	struct strbuf sb = STRBUF_INIT(4);
	char *text;

	(void)state;
	text = strbuf_detach(&sb);
	assert_string_equal(text, "");
	free(text);
	strbuf_puts(&sb, "four");
	text = strbuf_detach(&sb);
	assert_string_equal(text, "four");
	free(text);
	assert_string_equal(strbuf_str(&sb), "");
	strbuf_puts(&sb, "five5");
	assert_null(strbuf_detach(&sb));
}

static void test_shortage(void **state)
{
	struct strbuf sb = STRBUF_INIT(SIZE_MAX);

	(void)state;
	strbuf_fetch_shortage();
	strbuf_puts(&sb, "x");
	strbuf_fill(&sb, 'y', SIZE_MAX - 1);
	assert_int_equal(sb.error, -ENOMEM);
	strbuf_release(&sb);
	assert_int_equal(strbuf_fetch_shortage(), -ENOMEM);
	assert_int_equal(strbuf_fetch_shortage(), 0);
	sb = (struct strbuf)STRBUF_INIT(1);
	strbuf_puts(&sb, "at the limit");
	assert_int_equal(sb.error, -E2BIG);
	assert_int_equal(strbuf_fetch_shortage(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	      cmocka_unit_test(test_building),
		cmocka_unit_test(test_limit),	      cmocka_unit_test(test_huge_addition),
		cmocka_unit_test(test_detach),	      cmocka_unit_test(test_shortage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
