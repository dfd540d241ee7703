/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/protocol.h"
#include "load/sizes.h"
#include "load/workload.h"
#include "load/workload_file.h"

#define DRAWS 100000

static void make(struct workload *w, const char *text)
{
	struct strbuf why = STRBUF_INIT(4096);

	if (workload_parse(w, text, NULL, &why))
		fail_msg("%s: %s", text, strbuf_str(&why));
	assert_int_equal(why.len, 0);
	strbuf_release(&why);
}

/* ---- Sizes: the table's answer is the definition's, the smallest with P(size <= it) > u ---- */

static void test_sizes_exact(void **state)
{
	static const char *const texts[] = {
		"fixed:200", "0", "uniform:3:17", "uniform:0:50000000", "exponential:50",
		"exponential:100000", "lognormal:300:2", "bimodal:0.5:16:21", "normal:30:5", "etc",
		"gev:30.7984:8.20449:0.078688", "pareto:0:214.476:0.348238", "gamma:3000:0.1",
	};
	struct strbuf why = STRBUF_INIT(4096);
	struct sizes *s = malloc(sizeof(*s));
	struct rng rng;

	(void)state;
	assert_non_null(s);
	rng_init(&rng, 31);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct dist d;

		assert_int_equal(dist_parse(texts[i], DIST_UNIT_BYTES, &d, &why), 0);
		sizes_init(s, &d, 2, 1 << 20);
		for (int n = 0; n < 20000; n++) {
			double u = n < 2000 ? n / 2000.0 : rng_uniform(&rng);
			uint32_t size;

			if (n >= 19900)
				u = 1 - rng_uniform(&rng) * 1e-12;
			u = fmin(u, 1 - 0x1p-53);
			size = sizes_at(s, u);
			assert_true(size >= 2 && size <= 1 << 20 && size <= sizes_largest(s));
			if (size < 1 << 20)
				assert_true(u < dist_cdf(&d, size + 0.5));
			if (size > 2)
				assert_true(u >= dist_cdf(&d, size - 0.5));
		}
	}
	free(s);
	strbuf_release(&why);
}

/* ---- Keys ---- */

static int compare_keys(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* All different, the same again for the same number, their sizes as declared. */
static void test_key_text(void **state)
{
	const size_t n = 100000;
	char (*keys)[WORKLOAD_KEY_MAX + 1] = calloc(n, sizeof(*keys));
	struct workload w;
	double sum = 0, mean;

	(void)state;
	assert_non_null(keys);
	make(&w, "keys=100000,key=gev:30.7984:8.20449:0.078688");
	for (size_t i = 0; i < n; i++) {
		char again[WORKLOAD_KEY_MAX];
		size_t size = workload_key_text(&w, i, keys[i]);

		assert_true(size >= 5 && size <= WORKLOAD_KEY_MAX && strlen(keys[i]) == size);
		assert_int_equal(workload_key_text(&w, i, again), size);
		assert_memory_equal(again, keys[i], size);
		sum += (double)size;
	}
	/* mu + sigma (g1 - 1) / k, five standard errors: the deviation is about 12 bytes. */
	mean = 30.7984 + 8.20449 * (tgamma(1 - 0.078688) - 1) / 0.078688;
	assert_true(fabs(sum / (double)n - mean) < 0.19);
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 1; i < n; i++)
		assert_string_not_equal(keys[i - 1], keys[i]);
	workload_release(&w);
	free(keys);
}

static void test_key_digits(void **state)
{
	char text[WORKLOAD_KEY_MAX];
	struct workload w;

	(void)state;
	make(&w, "keys=1000000000,key=1");
	assert_int_equal(workload_key_text(&w, 0, text), 9);
	assert_memory_equal(text, "000000000", 9);
	assert_int_equal(workload_key_text(&w, 999999999, text), 9);
	assert_memory_equal(text, "999999999", 9);
	workload_release(&w);
	make(&w, "keys=10,key=250");
	assert_int_equal(workload_key_text(&w, 7, text), 250);
	assert_true(text[0] == '0' && text[249] == '7');
	workload_release(&w);
}

static double share_below(const char *text, uint64_t bound)
{
	struct workload w;
	struct rng rng;
	int below = 0;

	make(&w, text);
	rng_init(&rng, 37);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t key = workload_key(&w, &rng);

		assert_true(key < w.keys);
		below += key < bound;
	}
	workload_release(&w);
	return (double)below / DRAWS;
}

static void test_popularity(void **state)
{
	double zipf10 = 0, zipf1000 = 0;

	(void)state;
	for (int k = 1; k <= 1000; k++) {
		zipf1000 += pow(k, -0.99);
		zipf10 += k <= 10 ? pow(k, -0.99) : 0;
	}
	assert_true(fabs(share_below("keys=1000", 100) - 0.1) < 0.005);
	assert_true(fabs(share_below("keys=1000,popularity=zipf:0.99", 10) - zipf10 / zipf1000) <
		    0.008);
	assert_true(fabs(share_below("keys=1000,popularity=normal:500:100", 600) - 0.8413) < 0.006);
	assert_true(share_below("keys=7,popularity=normal:500:100", 6) < 0.0001);
	assert_true(share_below("keys=1", 1) == 1);
}

/* ---- The mix and the values ---- */

static void test_mix(void **state)
{
	struct workload w;
	struct rng rng;
	int operations[OPERATIONS] = { 0 }, small = 0, stored = 0;

	(void)state;
	make(&w, "etc,read=90%");
	rng_init(&rng, 41);
	for (int i = 0; i < DRAWS; i++) {
		operations[workload_operation(&w, &rng)]++;
		small += workload_value_size(&w, &rng) < 15;
		stored += workload_stored_size(&w, (uint64_t)i) < 15;
		assert_int_equal(workload_stored_size(&w, (uint64_t)i),
				 workload_stored_size(&w, (uint64_t)i));
	}
	assert_true(fabs((double)operations[OPERATION_GET] / DRAWS - 0.9) < 0.005);
	assert_int_equal(operations[OPERATION_DELETE], 0);
	/* The head of the table; 15 bytes begin at the tail's 0. */
	assert_true(fabs((double)small / DRAWS - 0.44155) < 0.008);
	assert_true(fabs((double)stored / DRAWS - 0.44155) < 0.008);
	workload_release(&w);
	make(&w, "etc");
	assert_true(fabs(w.share[OPERATION_GET] / w.share[OPERATION_SET] - 30) < 1e-9);
	assert_true(w.key_size.kind == DIST_KIND_GEV && w.key_size.a == 30.7984 &&
		    w.key_size.b == 8.20449 && w.key_size.c == 0.078688);
	workload_release(&w);
	make(&w, "usr");
	for (int i = 0; i < 1000; i++)
		assert_int_equal(workload_value_size(&w, &rng), 2);
	assert_true(w.share[OPERATION_GET] == 0.998);
	workload_release(&w);
	make(&w, NULL);
	assert_true(workload_operation(&w, &rng) == OPERATION_GET && w.keys == 10000);
	workload_release(&w);
}

/* A seed gives the same mix of reads and writes as in earlier versions. */
static void test_mix_is_stable_across_versions(void **state)
{
	static const double reads[] = { 0, 1e-9, 0.1, 0.2, 0.7, 0.9, 1 };
	struct rng rng, same;
	struct workload w;
	char text[32];

	(void)state;
	rng_init(&rng, 43);
	same = rng;
	for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
		snprintf(text, sizeof(text), "read=%.9f", reads[i]);
		make(&w, text);
		for (int k = 0; k < 10000; k++) {
			bool read = reads[i] >= 1 || rng_uniform(&same) < reads[i];

			assert_int_equal(workload_operation(&w, &rng),
					 read ? OPERATION_GET : OPERATION_SET);
		}
		assert_int_equal(rng_u64(&rng), rng_u64(&same));
		workload_release(&w);
	}
}

/*
 * Shares are as declared; an operation without one is never drawn, whatever rounding does to their
 * sum.
 */
static void test_shares_are_as_declared(void **state)
{
	static const struct {
		const char *text;
		double share[OPERATIONS];
	} rows[] = {
		{ "delete=0.25", { 0.75, 0, 0.25 } },
		{ "delete=1", { 0, 0, 1 } },
		{ "read=0.5,gets=0.25,cas=0.25", { 0.5, 0, 0, 0, 0.25, 0.25 } },
		{ "read=0.2,delete=0.8", { 0.2, 0, 0.8 } },
		{ "read=0.7,delete=30%", { 0.7, 0, 0.3 } },
		{ "read=0.5,delete=0.2", { 0.5, 0.3, 0.2 } },
		{ "read=0,delete=0.1", { 0, 0.9, 0.1 } },
		{ "etc,delete=0.38", { 0.6, 0.02, 0.38 } },
	};
	struct workload w;
	struct rng rng;

	(void)state;
	rng_init(&rng, 47);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int n[OPERATIONS] = { 0 };

		make(&w, rows[i].text);
		for (int k = 0; k < DRAWS; k++)
			n[workload_operation(&w, &rng)]++;
		for (int k = 0; k < OPERATIONS; k++) {
			assert_true(fabs(w.share[k] - rows[i].share[k]) < 1e-9);
			assert_true(fabs((double)n[k] / DRAWS - rows[i].share[k]) < 0.008);
			assert_true(rows[i].share[k] > 0 || n[k] == 0);
		}
		workload_release(&w);
	}
}

/* ---- Refused settings ---- */

static void test_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "keys=0", "keys takes 1 to 1000000000, not '0'" },
		{ "keys=1000000001", "keys takes 1 to 1000000000" },
		{ "keys=1K", "keys takes 1 to 1000000000" },
		{ "keys=", "keys takes 1 to 1000000000" },
		{ "kyes=1", "did you mean keys?" },
		{ "=1", "unknown key ''" },
		{ "keys=1,,", "must be KEY=VALUE" },
		{ "keys=1,etc", "'etc' must be KEY=VALUE" },
		{ "keys=1,keys=1", "keys is given twice" },
		{ "keys=1,base=etc", "base takes etc or usr, before all other settings" },
		{ "ect,keys=1", "base takes etc or usr" },
		{ "read=1.1", "read takes a fraction" },
		{ "delete=2", "delete takes a fraction" },
		{ "read=0.9,delete=0.2", "the shares of operations add up to 1.1, more than 1" },
		{ "write=0.5", "unknown key 'write': use base" },
		{ "key=251", "key takes sizes up to 250 bytes here, not 251" },
		{ "key=uniform:1:1K", "key takes sizes up to 250 bytes" },
		{ "value=65M", "value takes sizes up to 67108864 bytes" },
		{ "value=bimodal:0.1:65M:1", "value takes sizes up to 67108864 bytes" },
		{ "value=5us", "a number of bytes" },
		{ "value=zipf:1", "use VALUE" },
		{ "service=5", "(ns, us, ms" },
		{ "popularity=zipf", "popularity takes uniform, zipf:EXPONENT" },
		{ "popularity=uniform:1:2", "popularity takes uniform, zipf:EXPONENT" },
		{ "popularity=exponential:5", "popularity takes uniform, zipf:EXPONENT" },
		{ "/nonexistent/x.yaml", "No such file" },
		{ "ect", "did you mean etc?" },
		{ "/", "Is a directory" },
	};
	struct strbuf why = STRBUF_INIT(4096);
	struct workload w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		strbuf_reset(&why);
		assert_true(workload_parse(&w, rows[i][0], NULL, &why) < 0);
		if (!strstr(strbuf_str(&why), rows[i][1]))
			fail_msg("'%s': %s", rows[i][0], strbuf_str(&why));
		assert_null(w.tables);
	}
	strbuf_release(&why);
}

/* An operation is refused where its protocol has none of that kind. */
static void test_operations(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct workload w;
	struct target t;

	(void)state;
	assert_int_equal(target_parse("memcached://h", &t, &why), 0);
	assert_int_equal(workload_parse(&w, "head=0.1", &t, &why), -EINVAL);
	assert_string_equal(strbuf_str(&why), "workload: memcached has no head");
	assert_int_equal(workload_parse(&w, "head=0", &t, &why), 0);
	workload_release(&w);
	strbuf_release(&why);
}

/* A value that does not fit into a datagram is refused only where there are datagrams. */
static void test_value_too_large_for_a_datagram(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct workload w;
	struct target t;

	(void)state;
	assert_int_equal(target_parse("udp+memcached://h", &t, &why), 0);
	assert_int_equal(workload_parse(&w, "value=2K", &t, &why), -EINVAL);
	assert_non_null(strstr(strbuf_str(&why), "up to 1400 bytes here"));
	assert_int_equal(workload_parse(&w, "etc", &t, &why), 0);
	assert_true(workload_request_max(&w) < 3 * 1024 + 512);
	workload_release(&w);
	assert_int_equal(target_parse("memcached://h", &t, &why), 0);
	assert_int_equal(workload_parse(&w, "value=2K", &t, &why), 0);
	workload_release(&w);
	strbuf_release(&why);
}

/* ---- Files ---- */

static int parse_file(const char *text, struct workload *w, struct strbuf *why)
{
	char name[] = "/tmp/hostlat-workload-XXXXXX";
	int fd = mkstemp(name), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	strbuf_reset(why);
	err = workload_parse(w, name, NULL, why);
	unlink(name);
	return err;
}

static void test_file(void **state)
{
	static const char *const texts[] = {
		"# a pool\nbase: usr\nkeys: 500\n\"value\": 'uniform:1:9'\n"
		"read: 50%\npopularity: zipf:1\nkey: normal:30:5\n",
		"---\n\n  base: usr # its name\n  keys:   500\t# many\r\n  value: \"uniform:1:9\"\n"
		"  read: 50%\n  popularity: zipf:1\n  key: normal:30:5",
		"\xef\xbb\xbf" "base: usr\nkeys: 500\nvalue: uniform:1:9\nread: 50%\n"
		"popularity: zipf:1\nkey: normal:30:5\n",
		"base = usr\nkeys=500\n'value' = uniform:1:9\nread = 0.5\n#popularity = uniform\n"
		"popularity = zipf:1\nkey=normal:30:5\n",
	};
	struct strbuf why = STRBUF_INIT(8192);
	struct workload w;
	char *large;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (parse_file(texts[i], &w, &why))
			fail_msg("%zu: %s", i, strbuf_str(&why));
		assert_true(w.keys == 500 && w.value_size.b == 9);
		assert_true(w.share[OPERATION_GET] == 0.5 && w.share[OPERATION_DELETE] == 0);
		assert_int_equal(w.popularity.kind, DIST_KIND_ZIPF);
		assert_int_equal(w.key_size.kind, DIST_KIND_NORMAL);
		workload_release(&w);
	}
	large = malloc(70000);
	assert_non_null(large);
	memset(large, '#', 69999);
	large[69999] = '\0';
	assert_int_equal(parse_file(large, &w, &why), -EFBIG);
	free(large);
	strbuf_release(&why);
}

static void test_file_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "", ": the file has no settings" },
		{ "# keys: 1\n---\n", ": the file has no settings" },
		{ "etc\n", "line 1: each line must be 'key: value' or 'key = value'" },
		{ ": 1\n", "line 1: each line" },
		{ "keys: 1\n\nvlaue: 3\n", "line 3: unknown key 'vlaue'" },
		{ "keys: 1\nkeys: 1\n", "line 2: keys is given twice" },
		{ "keys: 1\nbase: etc\n", "line 2: base takes etc or usr, before all other" },
		{ "keys:\n  - 1\n", "line 1: each line" },
		{ "keys:\n  a: 1\n", "line 1: each line" },
		{ "- keys: 1\n", "line 1: each line" },
		{ "keys: -1\n", "line 1: keys takes 1 to 1000000000, not '-1'" },
		{ "keys: -\n", "line 1: each line" },
		{ "{ keys: 1 }\n", "line 1: each line" },
		{ "keys: 1\nvalue: &a 1\n", "line 2: each line" },
		{ "keys: 1\nvalue: *a\n", "line 2: each line" },
		{ "keys: !!int 1\n", "line 1: each line" },
		{ "keys: |\n  1\n", "line 1: each line" },
		{ "keys: 1\n---\nvalue: 1\n", "line 2: each line" },
		{ "keys: [1]\n", "line 1: each line must be 'key: value' or 'key = value'; other "
				  "YAML is not supported" },
		{ "keys: 1#2\n", "line 1: keys takes 1 to 1000000000, not '1#2'" },
		{ "keys: '1\n", "line 1: keys takes 1 to 1000000000, not ''1'" },
		{ "keys: 1\nread: lots\n", "line 2: read takes a fraction" },
		{ "? keys\n", "line 1: each line" },
	};
	static const char zero[] = "keys: 1\0\n";
	struct workload_settings settings;
	struct strbuf why = STRBUF_INIT(8192);
	struct workload w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(parse_file(rows[i][0], &w, &why), -EINVAL);
		if (!strstr(strbuf_str(&why), rows[i][1]))
			fail_msg("'%s': %s", rows[i][0], strbuf_str(&why));
	}
	strbuf_reset(&why);
	workload_settings_init(&settings, &w);
	assert_int_equal(workload_file_parse(&settings, "f", zero, sizeof(zero) - 1, &why),
			 -EINVAL);
	assert_string_equal(strbuf_str(&why),
			    "workload: f is not a text file: it contains a zero byte");
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_exact),
		cmocka_unit_test(test_key_text),
		cmocka_unit_test(test_key_digits),
		cmocka_unit_test(test_popularity),
		cmocka_unit_test(test_mix),
		cmocka_unit_test(test_mix_is_stable_across_versions),
		cmocka_unit_test(test_shares_are_as_declared),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_value_too_large_for_a_datagram),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_file_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
