/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HdrHistogram's log, read back by a reader of its own. (HistogramLogProcessor of HdrHistogram
 * 2.1.11 for Java, Debian's libhdrhistogram-java, found the same counts, mean and percentiles in
 * such a file as the samples beside it have.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/bug.h"
#include "base/rng.h"
#include "output/hdr.h"

#define PLAIN_MAX (1 << 20)

/* Counts by the lowest value of each step. */
struct counted {
	uint64_t value[8], count[8];
	uint32_t n;
	uint64_t total;
};

static uint32_t digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	return c == '=' ? 0 : (uint32_t)(strchr(digits, c) - digits);
}

static size_t from_base64(const char *text, size_t len, unsigned char *out)
{
	size_t n = 0;

	assert_int_equal(len % 4, 0);
	for (size_t i = 0; i < len; i += 4) {
		uint32_t bits = digit(text[i]) << 18 | digit(text[i + 1]) << 12 |
				digit(text[i + 2]) << 6 | digit(text[i + 3]);

		for (int k = 0; k < 3; k++)
			out[n++] = (unsigned char)(bits >> (16 - 8 * k));
	}
	while (len && text[--len] == '=')
		n--;
	return n;
}

static uint64_t big_endian(const unsigned char *at, int bytes)
{
	uint64_t n = 0;

	for (int i = 0; i < bytes; i++)
		n = n << 8 | at[i];
	return n;
}

static int64_t take_word(const unsigned char **at)
{
	uint64_t n = 0;
	int shift = 0;

	for (;; shift += 7) {
		unsigned char byte = *(*at)++;

		if (shift == 56) {
			n |= (uint64_t)byte << 56;
			break;
		}
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

/* The first 2048 steps cover the values below 2048, then 1024 each power of two. */
static uint64_t value_at(uint64_t index)
{
	return index < 2048 ? index : (index % 1024 + 1024) << (index / 1024 - 1);
}

static void take_counts(const unsigned char *at, const unsigned char *end, struct counted *out)
{
	uint64_t index = 0;

	while (at < end) {
		int64_t n = take_word(&at);

		if (n > 0) {
			out->total += (uint64_t)n;
			if (out->n < ARRAY_LEN(out->value)) {
				out->value[out->n] = value_at(index);
				out->count[out->n++] = (uint64_t)n;
			}
		}
		index += n < 0 ? (uint64_t)-n : 1;
	}
	assert_ptr_equal(at, end);
}

static struct counted read_line(const char *line)
{
	static unsigned char packed[PLAIN_MAX], plain[PLAIN_MAX];
	const char *text = strrchr(line, ',') + 1;
	struct counted counted = { 0 };
	size_t n = from_base64(text, strcspn(text, "\n"), packed);
	uLongf size = sizeof(plain);

	assert_int_equal(big_endian(packed, 4), 0x1c849314);
	assert_int_equal(big_endian(packed + 4, 4), n - 8);
	assert_int_equal(uncompress(plain, &size, packed + 8, n - 8), Z_OK);
	assert_int_equal(big_endian(plain, 4), 0x1c849313);
	assert_int_equal(big_endian(plain + 4, 4), size - 40);
	assert_int_equal(big_endian(plain + 8, 4), 0);
	assert_int_equal(big_endian(plain + 12, 4), 3);
	assert_int_equal(big_endian(plain + 16, 8), 1);
	assert_int_equal(big_endian(plain + 24, 8), HDR_HIGHEST);
	assert_int_equal(big_endian(plain + 32, 8), 0x3ff0000000000000);
	take_counts(plain + 40, plain + size, &counted);
	return counted;
}

static void test_values(void **state)
{
	static const uint64_t values[] = { 0, 1, 2047, 2048, 2049, 1000000, UINT64_MAX };
	static const uint64_t lowest[] = { 0, 1, 2047, 2048, 999936, 3599182594048 };
	static const uint64_t counts[] = { 1, 1, 1, 2, 1, 1 };
	struct strbuf text = STRBUF_INIT(1 << 20);
	struct counted got;
	struct hdr hdr;

	(void)state;
	assert_int_equal(hdr_init(&hdr), 0);
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		hdr_record(&hdr, values[i]);
	assert_int_equal(hdr_log_line(&text, &hdr, 1500000000, 1000000000), 0);
	assert_int_equal(strncmp(strbuf_str(&text), "1.500,1.000,3601330.", 20), 0);
	got = read_line(strbuf_str(&text));
	assert_int_equal(got.n, ARRAY_LEN(counts));
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		assert_int_equal(got.value[i], lowest[i]);
		assert_int_equal(got.count[i], counts[i]);
	}
	/* The next interval begins empty. */
	strbuf_reset(&text);
	assert_int_equal(hdr_log_line(&text, &hdr, 0, 1), 0);
	assert_int_equal(read_line(strbuf_str(&text)).total, 0);
	strbuf_release(&text);
	hdr_release(&hdr);
}

/* One value at a time, of all magnitudes: its step holds it, and is at most 0.1 % wide. */
static void test_values_fit_their_step(void **state)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	struct counted got;
	struct hdr hdr;
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	assert_int_equal(hdr_init(&hdr), 0);
	for (int i = 0; i < 2000; i++) {
		uint64_t value = (rng_u64(&rng) >> (23 + rng_below(&rng, 41))) % HDR_HIGHEST;

		hdr_record(&hdr, value);
		strbuf_reset(&text);
		assert_int_equal(hdr_log_line(&text, &hdr, 0, 1), 0);
		got = read_line(strbuf_str(&text));
		assert_int_equal(got.n, 1);
		assert_int_equal(got.count[0], 1);
		assert_true(got.value[0] <= value && value - got.value[0] <= value / 1000);
	}
	strbuf_release(&text);
	hdr_release(&hdr);
}

/* Counts of every width. */
static void test_counts(void **state)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	struct hdr hdr;

	(void)state;
	assert_int_equal(hdr_init(&hdr), 0);
	for (int shift = 0; shift < 63; shift++) {
		struct counted got;

		hdr.counts[5] = 1ULL << shift;
		hdr.count = hdr.max = 5;
		strbuf_reset(&text);
		assert_int_equal(hdr_log_line(&text, &hdr, 0, 1), 0);
		got = read_line(strbuf_str(&text));
		assert_int_equal(got.value[0], 5);
		assert_int_equal(got.count[0], 1ULL << shift);
	}
	strbuf_release(&text);
	hdr_release(&hdr);
}

static void test_head(void **state)
{
	struct strbuf text = STRBUF_INIT(4096);

	(void)state;
	hdr_log_head(&text, "somebody", 1700000000500000000);
	assert_string_equal(strbuf_str(&text),
			    "#[Logged with somebody]\n"
			    "#[Histogram log format version 1.3]\n"
			    "#[StartTime: 1700000000.500 (seconds since epoch), "
			    "2023-11-14T22:13:20Z]\n"
			    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
			    "\"Interval_Compressed_Histogram\"\n");
	strbuf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_values_fit_their_step),
		cmocka_unit_test(test_counts), cmocka_unit_test(test_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
