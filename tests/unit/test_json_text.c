/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that is copied into the report page, what is refused and where, and the page's pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "output/html.h"
#include "output/json_text.h"

static const char *const copied[][2] = {
	{ "{}", "{}" },
	{ " {\n\t\"a\" : [ 1 , 2.50 , -0 , 1e5 , 1E-5, 0.1e+3 ]\r\n}\n",
	  "{\"a\":[1,2.50,-0,1e5,1E-5,0.1e+3]}" },
	{ "{\"a\":{},\"b\":[],\"c\":[[],{}],\"d\":\"\"}",
	  "{\"a\":{},\"b\":[],\"c\":[[],{}],\"d\":\"\"}" },
	{ "{\"a\":null,\"b\":true,\"c\":false}", "{\"a\":null,\"b\":true,\"c\":false}" },
	{ "{\"</script><!--\":\"<&>\"}",
	  "{\"\\u003c/script\\u003e\\u003c!--\":\"\\u003c\\u0026\\u003e\"}" },
	{ "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u12aF\"}",
	  "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u12aF\"}" },
	{ "{\"a\":\"\xc3\xa9 \xef\xbf\xbd \xf0\x9f\x98\x80\"}",
	  "{\"a\":\"\xc3\xa9 \xef\xbf\xbd \xf0\x9f\x98\x80\"}" },
	/* Fifteen digits are a double; sixteen may not be. */
	{ "{\"a\":[999999999999999,-999999999999999]}",
	  "{\"a\":[999999999999999,-999999999999999]}" },
	{ "{\"a\":[1000000000000000,-18446744073709551615]}",
	  "{\"a\":[\"1000000000000000\",\"-18446744073709551615\"]}" },
	{ "{\"a\":1000000000000000.5}", "{\"a\":1000000000000000.5}" },
};

/* And where the fault is. */
static const struct {
	const char *text;
	size_t line, column;
} refused[] = {
	{ "", 1, 1 },
	{ "[]", 1, 1 },
	{ "1", 1, 1 },
	{ "{", 1, 2 },
	{ "{}{}", 1, 3 },
	{ "{\"a\":1,}", 1, 8 },
	{ "{\"a\":[1,]}", 1, 9 },
	{ "{\"a\":[1 2]}", 1, 9 },
	{ "{\"a\" 1}", 1, 6 },
	{ "{a:1}", 1, 2 },
	{ "{\"a\":[}", 1, 7 },
	{ "{\"a\":]}", 1, 6 },
	{ "{\"a\":\n  nul}", 2, 3 },
	{ "{\"a\":NaN}", 1, 6 },
	{ "{\"a\":-Infinity}", 1, 7 },
	{ "{\"a\":01}", 1, 7 },
	{ "{\"a\":1.}", 1, 8 },
	{ "{\"a\":.5}", 1, 6 },
	{ "{\"a\":1e}", 1, 8 },
	{ "{\"a\":+1}", 1, 6 },
	{ "{\"a\":\"\n\"}", 1, 7 },
	{ "{\"a\":\"\\x\"}", 1, 7 },
	{ "{\"a\":\"\\u12g4\"}", 1, 7 },
	{ "{\"a\":\"\\", 1, 7 },
	{ "{\"a\":\"b", 1, 8 },
	{ "{\"a\":\"\xff\"}", 1, 7 },
	{ "{\"a\":\"\xed\xa0\x80\"}", 1, 7 },
	{ "{\"a\":\"\xc3\"}", 1, 7 },
	{ "{\"a\":/**/1}", 1, 6 },
	{ "\xef\xbb\xbf{}", 1, 1 },
	{ "{\n\n \"a\": [1,\n  x]}", 4, 3 },
};

static int copy(const char *text, size_t n, struct strbuf *out, struct json_text_fault *fault)
{
	/* Nothing behind the NUL may be looked at: a sanitizer sees it on the heap. */
	char *own = malloc(n + 1);
	int err;

	assert_non_null(own);
	memcpy(own, text, n);
	own[n] = '\0';
	err = json_text_copy(own, n, out, fault);
	free(own);
	return err;
}

static void test_copied(void **state)
{
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct json_text_fault fault;

	(void)state;
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
		strbuf_reset(&out);
		assert_int_equal(copy(copied[i][0], strlen(copied[i][0]), &out, &fault), 0);
		assert_string_equal(strbuf_str(&out), copied[i][1]);
	}
	strbuf_release(&out);
}

static void test_refused(void **state)
{
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct json_text_fault fault;

	(void)state;
	strbuf_puts(&out, "before");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(copy(refused[i].text, strlen(refused[i].text), &out, &fault),
				 -EBADMSG);
		assert_int_equal(fault.line, refused[i].line);
		assert_int_equal(fault.column, refused[i].column);
		assert_true(strlen(fault.what) > 0);
		assert_string_equal(strbuf_str(&out), "before");
	}
	assert_int_equal(copy("{\"a\":\"\0\"}", 9, &out, &fault), -EBADMSG);
	assert_int_equal(copy("{}\0", 3, &out, &fault), -EBADMSG);
	strbuf_release(&out);
}

/* Every cut of every good text is refused. */
static void test_every_cut_is_refused(void **state)
{
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct json_text_fault fault;

	(void)state;
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
		const char *text = copied[i][1];

		for (size_t n = 0; n < strlen(text); n++)
			assert_int_equal(copy(text, n, &out, &fault), -EBADMSG);
	}
	assert_int_equal(out.len, 0);
	strbuf_release(&out);
}

/* `levels` arrays in an object. */
static int copy_deep(unsigned int levels)
{
	struct strbuf text = STRBUF_INIT(1 << 16), out = STRBUF_INIT(1 << 16);
	struct json_text_fault fault;
	int err;

	strbuf_puts(&text, "{\"a\":");
	strbuf_fill(&text, '[', levels);
	strbuf_fill(&text, ']', levels);
	strbuf_putc(&text, '}');
	err = copy(strbuf_str(&text), text.len, &out, &fault);
	strbuf_release(&text);
	strbuf_release(&out);
	return err;
}

static void test_depth(void **state)
{
	(void)state;
	assert_int_equal(copy_deep(JSON_TEXT_DEPTH_MAX - 1), 0);
	assert_int_equal(copy_deep(JSON_TEXT_DEPTH_MAX), -EBADMSG);
}

static void test_full(void **state)
{
	struct strbuf out = STRBUF_INIT(8);
	struct json_text_fault fault;

	(void)state;
	strbuf_puts(&out, "1234");
	assert_int_equal(copy("{\"a\":12}", 8, &out, &fault), -E2BIG);
	assert_string_equal(strbuf_str(&out), "1234");
	strbuf_release(&out);
}

static bool is_result(const char *text)
{
	return json_text_is_result(text, strlen(text));
}

static void test_is_result(void **state)
{
	(void)state;
	assert_true(is_result("{\"hostlat\":{"));
	assert_true(is_result(" {\n  \"hostlat\" : {\n"));
	assert_false(is_result(""));
	assert_false(is_result("{\"hostlat\":1}"));
	assert_false(is_result("{\"hostlats\":{}}"));
	assert_false(is_result("{\"a\":1,\"hostlat\":{}}"));
}

static size_t occurrences(const char *text, const char *word)
{
	size_t n = 0;

	while ((text = strstr(text, word)) != NULL) {
		n++;
		text++;
	}
	return n;
}

static void test_page(void **state)
{
	static const char hostile[] = "</script></title><script>alert(1)</script>&amp;\"\\\x01\xff";
	struct strbuf out = STRBUF_INIT(1 << 22);
	struct json_text_fault fault = { 3, 4, "<what>" };
	struct html html;
	const char *page;
	size_t scripts;

	(void)state;
	html_begin(&html, &out, hostile);
	html_add_word(&html, &(struct html_word){ .name = "lock", .what = hostile });
	html_add_word(&html, &(struct html_word){ .name = hostile, .todo = "End it." });
	assert_int_equal(html_add(&html, hostile, "{\"a\":\"</script>\"}", 17, &fault), 0);
	assert_int_equal(html_add(&html, "cut", "{\"a\":", 5, &fault), -EBADMSG);
	html_leave_out(&html, hostile, &fault);
	assert_int_equal(html_add(&html, "b", "{}", 2, &fault), 0);
	html_end(&html);
	assert_int_equal(out.error, 0);
	assert_int_equal(html.documents, 2);
	page = strbuf_str(&out);
	assert_int_equal(strlen(page), out.len);
	assert_null(strstr(page, "alert(1)</script>"));
	assert_null(strstr(page, "\"cut\",\"document\""));
	assert_non_null(strstr(page, "\"line\":1,\"column\":6"));
	assert_non_null(strstr(page, "[\"lock\",null,null,\"\\u003c/script"));
	assert_non_null(strstr(page, ",null,null,null,null,\"End it.\"]"));
	/* As many as the page has by itself, which are its own two. */
	scripts = occurrences(page, "</script>");
	assert_int_equal(scripts, 2);
	assert_int_equal(occurrences(page, "</title>"), 1);
	strbuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copied), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_every_cut_is_refused), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_full), cmocka_unit_test(test_is_result),
		cmocka_unit_test(test_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
