/* SPDX-License-Identifier: Apache-2.0 */
/* Source addresses of --bind as people write them, their turns, and addresses of other hosts. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "load/sources.h"

static const char *at(const struct sources *s, int family, uint32_t turn)
{
	static char text[64];
	struct strbuf out = STRBUF_INIT(sizeof(text));
	const struct net_address *address = sources_at(s, family, turn);

	if (!address)
		return "none";
	net_address_text(address, &out);
	snprintf(text, sizeof(text), "%s", strbuf_str(&out));
	strbuf_release(&out);
	return text;
}

static void test_parse(void **state)
{
	static const char *const refused[] = {
		"", ",", "127.0.0.1,", "localhost", "127.0.0.1:80", "127.0.0.256", "[::1]",
		"0.0.0.0", "::", "127.0.0.1,127.0.0.1", "::1,0::1", "fe80::1", "::1%",
		"fe80::1%nosuchdevice", "127.0.0.1 ,127.0.0.2", "10.0.0.0/8",
		"00000000000000000000000000000000000000000000000000000000000000000000000000001",
	};
	struct strbuf why = STRBUF_INIT(1024), many = STRBUF_INIT(4096);
	struct sources s;

	(void)state;
	assert_int_equal(sources_parse("127.0.0.1,::1,127.0.0.2", &s, &why), 0);
	assert_int_equal(sources_count(&s), 3);
	assert_string_equal(at(&s, AF_INET, 0), "127.0.0.1:0");
	assert_string_equal(at(&s, AF_INET, 1), "127.0.0.2:0");
	assert_string_equal(at(&s, AF_INET, 2), "127.0.0.1:0");
	assert_string_equal(at(&s, AF_INET6, UINT32_MAX), "[::1]:0");
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		strbuf_reset(&why);
		if (!sources_parse(refused[i], &s, &why))
			fail_msg("'%s' was taken", refused[i]);
		assert_non_null(strstr(strbuf_str(&why), "--bind takes up to 64 different"));
	}
	for (int i = 0; i < SOURCES_MAX; i++)
		strbuf_printf(&many, "%s127.0.1.%d", i ? "," : "", i);
	assert_int_equal(sources_parse(strbuf_str(&many), &s, &why), 0);
	strbuf_puts(&many, ",::1");
	assert_int_equal(sources_parse(strbuf_str(&many), &s, &why), -EINVAL);
	strbuf_release(&many);
	strbuf_release(&why);
}

static void test_families(void **state)
{
	struct strbuf why = STRBUF_INIT(1024);
	struct sources s;

	(void)state;
	assert_int_equal(sources_parse(NULL, &s, &why), 0);
	assert_true(sources_reach(&s, AF_INET) && sources_reach(&s, AF_INET6));
	assert_null(sources_at(&s, AF_INET, 0));
	assert_int_equal(sources_check(&s, false, &why), 0);
	assert_int_equal(sources_check(&s, true, &why), 0);
	assert_int_equal(sources_parse("127.0.0.1", &s, &why), 0);
	assert_true(sources_reach(&s, AF_INET));
	assert_false(sources_reach(&s, AF_INET6));
	strbuf_release(&why);
}

/* 192.0.2.0/24 is of no host (RFC 5737). */
static void test_check(void **state)
{
	static const char given[] = "127.0.0.1,192.0.2.1,127.0.0.2";
	struct strbuf why = STRBUF_INIT(1024);
	struct sources s;

	(void)state;
	assert_int_equal(sources_parse("127.0.0.1,127.0.0.2", &s, &why), 0);
	assert_int_equal(sources_check(&s, false, &why), 0);
	assert_int_equal(sources_count(&s), 2);
	assert_int_equal(sources_parse(given, &s, &why), 0);
	assert_int_equal(sources_check(&s, false, &why), -EADDRNOTAVAIL);
	assert_string_equal(strbuf_str(&why), "--bind 192.0.2.1: this host does not have this "
			    "address (ip address lists those that it has)");
	assert_int_equal(sources_parse(given, &s, &why), 0);
	assert_int_equal(sources_check(&s, true, &why), 0);
	assert_int_equal(sources_count(&s), 2);
	assert_int_equal(why.len, 0);
	assert_string_equal(at(&s, AF_INET, 1), "127.0.0.2:0");
	assert_int_equal(sources_parse("192.0.2.1,2001:db8::1", &s, &why), 0);
	assert_true(sources_check(&s, true, &why) < 0);
	assert_non_null(strstr(strbuf_str(&why), "--bind 2001:db8::1: "));
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse), cmocka_unit_test(test_families),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
