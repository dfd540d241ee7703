/* SPDX-License-Identifier: Apache-2.0 */
/* Names of foreign recordings on a terminal: in tables, in JSON and in messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "output/json_writer.h"

static const struct {
	const char *raw, *clean, *json;
} names[] = {
	{ "memcached", "memcached", "\"memcached\"" },
	{ "Größe 速い عربي 🦆", "Größe 速い عربي 🦆", "\"Größe 速い عربي 🦆\"" }, /* control */
	{ "a\033[2Jb", "a?[2Jb", "\"a\\u001b[2Jb\"" },
	{ "a\nhostlat: b", "a?hostlat: b", "\"a\\u000ahostlat: b\"" },
	{ "a\xc2\x9b" "31mb", "a?31mb", "\"a\\u009b31mb\"" },
	{ "a\xff", "a?", "\"a\xef\xbf\xbd\"" },
	{ "gpj.\u202eexe", "gpj.?exe", "\"gpj.\\u202eexe\"" },
	{ "a\u2066b\u2069", "a?b?", "\"a\\u2066b\\u2069\"" },
	{ "pay\u200bpal\ufeff", "pay?pal?", "\"pay\\u200bpal\\ufeff\"" },
	{ "a\u2028b", "a?b", "\"a\\u2028b\"" },
	{ "a\U000e0041b", "a?b", "\"a\\udb40\\udc41b\"" },
};

static void test_clean(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct strbuf out = STRBUF_INIT(1000);

		utf8_put_clean(&out, names[i].raw);
		assert_string_equal(strbuf_str(&out), names[i].clean);
		strbuf_release(&out);
	}
}

static void test_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct strbuf out = STRBUF_INIT(1000);
		struct json_writer w;

		json_writer_init(&w, &out, 0);
		json_string(&w, NULL, names[i].raw);
		assert_string_equal(strbuf_str(&out), names[i].json);
		strbuf_release(&out);
	}
}

static void test_log(void **state)
{
	const int saved = dup(STDERR_FILENO), fd = memfd_create("log", MFD_CLOEXEC);
	char text[4000] = "", expected[4000] = "";

	(void)state;
	assert_true(saved >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		log_warning("%s: no such unit", names[i].raw);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	close(fd);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
			 "hostlat: warning: %s: no such unit\n", names[i].clean);
	assert_string_equal(text, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
