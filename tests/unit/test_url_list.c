/* SPDX-License-Identifier: Apache-2.0 */
/* Files of --urls, the targets that they make, and how requests and connections are shared. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bug.h"
#include "load/target_urls.h"

/* Reads a file with this text; returns its error, with the sentence in `why`. */
static int read_list(struct url_list *list, const char *text, size_t size, struct strbuf *why)
{
	const int fd = memfd_create("urls", MFD_CLOEXEC);
	char path[64];
	int err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	strbuf_reset(why);
	err = url_list_make(list, NULL, 0, path, why);
	close(fd);
	return err;
}

static void test_targets(void **state)
{
	static const char text[] =
		"\xef\xbb\xbf# a comment\n\n"
		"http://a:80/x 3\r\n"
		"  http://a:80/y?q=1\t0.5  \n"
		"http://b/x\n"
		"http://a:80 2k\n"
		"http+unix:///run/s:/x\nhttp+unix:///run/s:/y\nhttp+unix:///run/s\n"
		"http+unix://%2Frun%2Fs/x\nhttp+unix://%2Frun%2Fs/y\n"
		"http://u:p@a:80/x";
	struct strbuf why = STRBUF_INIT(4096), shown = STRBUF_INIT(4096);
	struct url_list list;

	(void)state;
	assert_int_equal(read_list(&list, text, strlen(text), &why), 0);
	assert_int_equal(list.n, 10);
	assert_int_equal(list.n_targets, 5);
	assert_int_equal(list.targets[0].n_urls, 3);
	assert_true(list.targets[0].weight == 2003.5);
	assert_int_equal(list.targets[1].n_urls, 1);
	assert_int_equal(list.targets[2].n_urls, 3);
	assert_int_equal(list.targets[3].n_urls, 2);
	assert_string_equal(list.items[1].url, "http://a:80/y?q=1");
	assert_int_equal(list.items[3].target, 0);
	url_list_put_target(&list, 0, &shown);
	assert_string_equal(strbuf_str(&shown), "http://a:80");
	strbuf_reset(&shown);
	url_list_put_target(&list, 1, &shown);
	assert_string_equal(strbuf_str(&shown), "http://b/x");
	url_list_release(&list);
	strbuf_release(&shown);
	strbuf_release(&why);
}

/* The order of arguments counts, and each is a target of its own. */
static void test_arguments(void **state)
{
	static const char *const urls[] = { "http://a/x", "http://a/x", "redis://a/1" };
	struct strbuf why = STRBUF_INIT(4096);
	struct url_list list;
	uint32_t *dealt;

	(void)state;
	assert_int_equal(url_list_make(&list, urls, 3, NULL, &why), 0);
	assert_int_equal(list.n_targets, 3);
	dealt = target_urls_deal(&list, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(dealt[i], i % 3);
	free(dealt);
	url_list_release(&list);
	strbuf_release(&why);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "the file has no URL" }, { "# nothing\n\n", "the file has no URL" },
		{ "http://a/\nx\n", "line 2: 'x' has no scheme" },
		{ "http://a/ 0", "line 1: the weight after the URL must be a number above 0" },
		{ "http://a/ -1", "the weight after the URL" }, { "http://a/ 1 2", "the weight" },
		{ "http://a/ x", "the weight after the URL" }, { "http://a/ nan", "the weight" },
		{ "http://a/#top", "a fragment is never sent" },
		{ "http://a/\nhttps://a/\n", "line 2: all URLs of the file must have the same" },
		{ "http://a/\nredis://a/\n", "line 2: all URLs of the file must have the same" },
	};
	struct strbuf why = STRBUF_INIT(4096), many = STRBUF_INIT(1 << 20);
	struct url_list list;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(read_list(&list, cases[i].text, strlen(cases[i].text), &why),
				 -EINVAL);
		if (!strstr(strbuf_str(&why), cases[i].words))
			fail_msg("'%s' says '%s'", cases[i].text, strbuf_str(&why));
		url_list_release(&list);
	}
	assert_int_equal(read_list(&list, "http://a/\0", 10, &why), -EINVAL);
	assert_non_null(strstr(strbuf_str(&why), "not a text file"));
	url_list_release(&list);
	for (int i = 0; i < 10001; i++)
		strbuf_printf(&many, "http://h%d/%d\n", i % 64, i);
	assert_int_equal(read_list(&list, strbuf_str(&many), many.len, &why), -EINVAL);
	assert_non_null(strstr(strbuf_str(&why), "line 10001: the file has more than 10000 URLs"));
	url_list_release(&list);
	strbuf_reset(&many);
	for (int i = 0; i < 65; i++)
		strbuf_printf(&many, "http://h%d/\n", i);
	assert_int_equal(read_list(&list, strbuf_str(&many), many.len, &why), -EINVAL);
	assert_non_null(strstr(strbuf_str(&why), "line 65: the file has more than 64 servers"));
	url_list_release(&list);
	assert_int_equal(url_list_make(&list, NULL, 0, "/no/such/file", &why), -ENOENT);
	url_list_release(&list);
	strbuf_release(&many);
	strbuf_release(&why);
}

static void test_connections(void **state)
{
	static const char text[] = "http://a/ 70\nhttp://b/ 20\nhttp://c/ 10\nhttp://d/ 0.001\n";
	struct strbuf why = STRBUF_INIT(4096);
	uint32_t counts[4] = { 0 }, *dealt;
	struct url_list list;

	(void)state;
	assert_int_equal(read_list(&list, text, strlen(text), &why), 0);
	dealt = target_urls_deal(&list, 101);
	for (uint32_t i = 0; i < 101; i++)
		counts[dealt[i]]++;
	assert_int_equal(counts[0], 70);
	assert_int_equal(counts[1], 20);
	assert_int_equal(counts[2], 10);
	assert_int_equal(counts[3], 1);
	free(dealt);
	url_list_release(&list);
	strbuf_release(&why);
}

static void test_draws(void **state)
{
	static const char text[] = "http://a/x 6\nhttp://a/y 3\nhttp://b/ 5\nhttp://a/z\n";
	struct strbuf why = STRBUF_INIT(4096);
	struct load_target t = { 0 };
	uint32_t counts[3] = { 0 };
	struct url_list list;
	struct rng rng;

	(void)state;
	assert_int_equal(read_list(&list, text, strlen(text), &why), 0);
	assert_int_equal(target_parse(list.targets[0].url, &t.target, &why), 0);
	assert_int_equal(workload_parse(&t.workload, NULL, &t.target, &why), 0);
	assert_int_equal(target_urls_init(&t, &list, 0, &why), 0);
	assert_int_equal(t.n_urls, 3);
	rng_init(&rng, 1);
	for (int i = 0; i < 100000; i++) {
		const struct workload *w = target_urls_draw(&t, &rng);

		for (int k = 0; k < 3; k++)
			counts[k] += w == &t.urls[k].workload;
	}
	/* Six standard deviations. */
	assert_true(fabs(counts[0] - 60000.0) < 6 * 155);
	assert_true(fabs(counts[1] - 30000.0) < 6 * 145);
	assert_int_equal(counts[0] + counts[1] + counts[2], 100000);
	target_urls_release(&t);
	workload_release(&t.workload);
	url_list_release(&list);
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets), cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_connections),
		cmocka_unit_test(test_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
