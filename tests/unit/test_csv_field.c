/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/csv_field.h"

static void check_field(const char *text, const char *want)
{
	struct strbuf out = STRBUF_INIT(1000);

	csv_field_put(&out, text);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_release(&out);
}

static void test_quotes(void **state)
{
	(void)state;
	check_field("", "");
	check_field("plain; text", "plain; text");
	check_field("a,b", "\"a,b\"");
	check_field("a \"b\"", "\"a \"\"b\"\"\"");
	check_field("\r", "\"\r\"");
	check_field("\n", "\"\n\"");
	check_field("\t\001\177", "\t\001\177");
}

/* Each broken byte is replaced; U+FFFD itself, and what follows broken bytes, stay. */
static void test_broken_utf8(void **state)
{
	(void)state;
	check_field("\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80");
	check_field("\xef\xbf\xbd", "\xef\xbf\xbd");
	check_field("\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd");
	check_field("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd");
	check_field("\xc3,\"", "\"\xef\xbf\xbd,\"\"\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_broken_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
