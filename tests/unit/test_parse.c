/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/rng.h"

#define UNTOUCHED 12345

struct number_case {
	const char *text;
	int err;
	uint64_t value;
};

static void check_numbers(int (*parse)(const char *, uint64_t *), const struct number_case *cases,
			  size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = UNTOUCHED;
		int err = parse(cases[i].text, &value);

		if (err != cases[i].err || value != (err ? UNTOUCHED : cases[i].value))
			fail_msg("'%s' gave %d and %" PRIu64, cases[i].text, err, value);
	}
}

static void test_u64(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "5x", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
	};

	(void)state;
	check_numbers(parse_u64, cases, ARRAY_LEN(cases));
}

static void test_duration(void **state)
{
	static const struct number_case cases[] = {
		{ "1ns", 0, 1 },
		{ "100ms", 0, 100000000 },
		{ "1.5s", 0, 1500000000 },
		{ "0.000000001s", 0, 1 },
		{ "2m", 0, 120 * NS_PER_S },
		{ "2min", 0, 120 * NS_PER_S },
		{ "1h", 0, 3600 * NS_PER_S },
		{ "1d", 0, NS_PER_DAY },
		{ "0s", 0, 0 },
		{ "213503d", 0, 213503 * NS_PER_DAY },
		{ "213504d", -ERANGE, 0 },
		{ "0.5ns", -ERANGE, 0 },
		{ "0.0000000001s", -ERANGE, 0 },
		{ "1.0000000000000000000s", -ERANGE, 0 },
		{ "5x", -EINVAL, 0 },
		{ "5", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ ".5s", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ "1,5s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1s ", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1s1s", -EINVAL, 0 },
		{ "1mi", -EINVAL, 0 },
	};

	(void)state;
	check_numbers(parse_duration, cases, ARRAY_LEN(cases));
}

static void test_size(void **state)
{
	static const struct number_case cases[] = {
		{ "4096", 0, 4096 },
		{ "4096B", 0, 4096 },
		{ "64M", 0, 64 << 20 },
		{ "64MiB", 0, 64 << 20 },
		{ "1.5K", 0, 1536 },
		{ "16777215T", 0, 16777215ULL << 40 },
		{ "16777216T", -ERANGE, 0 },
		{ "0.3K", -ERANGE, 0 },
		{ "64MB", -EINVAL, 0 },
		{ "64m", -EINVAL, 0 },
		{ "M", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	(void)state;
	check_numbers(parse_size, cases, ARRAY_LEN(cases));
}

/* A written number is read back as the same number, from every magnitude. */
static void test_round_trip(void **state)
{
	const uint64_t seed = 20240229;
	struct strbuf text = STRBUF_INIT(64);
	struct rng rng;

	(void)state;
	print_message("seed %" PRIu64 "\n", seed);
	rng_init(&rng, seed);
	for (int i = 0; i < 20000; i++) {
		uint64_t value = rng_u64(&rng) >> rng_below(&rng, 64), back;

		if (i % 2)
			value -= value % (i % 3 ? 1000 : 1024);
		strbuf_reset(&text);
		format_duration(&text, value);
		assert_int_equal(parse_duration(strbuf_str(&text), &back), 0);
		assert_int_equal(back, value);
		strbuf_reset(&text);
		format_size(&text, value);
		assert_int_equal(parse_size(strbuf_str(&text), &back), 0);
		assert_int_equal(back, value);
	}
	strbuf_release(&text);
}

static void test_format(void **state)
{
	struct strbuf text = STRBUF_INIT(256);

	(void)state;
	format_duration(&text, 10 * NS_PER_MS);
	strbuf_putc(&text, ' ');
	format_duration(&text, 1500 * NS_PER_MS);
	strbuf_putc(&text, ' ');
	format_duration(&text, NS_PER_DAY);
	strbuf_putc(&text, ' ');
	format_duration(&text, 0);
	strbuf_putc(&text, ' ');
	format_size(&text, 64 << 20);
	strbuf_putc(&text, ' ');
	format_size(&text, 1000);
	assert_string_equal(strbuf_str(&text), "10ms 1500ms 1d 0ns 64M 1000");
	strbuf_release(&text);
}

struct double_case {
	const char *text;
	int err;
	double value;
};

static void check_doubles(int (*parse)(const char *, double *), const struct double_case *cases,
			  size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double value = UNTOUCHED;
		int err = parse(cases[i].text, &value);

		if (err != cases[i].err || value != (err ? UNTOUCHED : cases[i].value))
			fail_msg("'%s' gave %d and %g", cases[i].text, err, value);
	}
}

static void test_fraction(void **state)
{
	static const struct double_case cases[] = {
		{ "1%", 0, 0.01 },	 { "0.1%", 0, 0.001 },	   { "1/64", 0, 1.0 / 64 },
		{ "0.01", 0, 0.01 },	 { "0", 0, 0 },		   { "1", 0, 1 },
		{ "100%", 0, 1 },	 { "64/64", 0, 1 },	   { "101%", -ERANGE, 0 },
		{ "100.1%", -ERANGE, 0 }, { "1.1", -ERANGE, 0 },   { "65/64", -ERANGE, 0 },
		{ "1/0", -EINVAL, 0 },	 { "1/", -EINVAL, 0 },	   { "/2", -EINVAL, 0 },
		{ "0.5/2", -EINVAL, 0 }, { "1%%", -EINVAL, 0 },	   { "1/64%", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },	 { "-1%", -EINVAL, 0 },	   { "", -EINVAL, 0 },
	};

	(void)state;
	check_doubles(parse_fraction, cases, ARRAY_LEN(cases));
}

static void test_rate(void **state)
{
	static const struct double_case cases[] = {
		{ "20000", 0, 20000 },	 { "20k", 0, 20000 },	 { "1.5M", 0, 1500000 },
		{ "0.5", 0, 0.5 },	 { "2.5k", 0, 2500 },	 { "0.001k", 0, 1 },
		{ "0", -ERANGE, 0 },	 { "0.0k", -ERANGE, 0 }, { "k", -EINVAL, 0 },
		{ "20K", -EINVAL, 0 },	 { "20kk", -EINVAL, 0 }, { "20/s", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },	 { "inf", -EINVAL, 0 },	 { "1e3", -EINVAL, 0 },
		{ "", -EINVAL, 0 },	 { "99999999999999999999", -ERANGE, 0 },
	};

	(void)state;
	check_doubles(parse_rate, cases, ARRAY_LEN(cases));
}

static void test_percent(void **state)
{
	static const struct double_case cases[] = {
		{ "99", 0, 0.99 },	{ "99.9", 0, 0.999 },	{ "99%", 0, 0.99 },
		{ "50", 0, 0.5 },	{ "0.1", 0, 0.001 },	{ "95", 0, 0.95 },
		{ "0", -ERANGE, 0 },	{ "100", -ERANGE, 0 },	{ "100.5", -ERANGE, 0 },
		{ "99.999999999999999999", -ERANGE, 0 },	{ "0.00", -ERANGE, 0 },
		{ "p99", -EINVAL, 0 },	{ "99%%", -EINVAL, 0 },	{ "", -EINVAL, 0 },
		{ "1/2", -EINVAL, 0 },
	};

	(void)state;
	check_doubles(parse_percent, cases, ARRAY_LEN(cases));
}

static void test_one_in(void **state)
{
	static const struct number_case cases[] = {
		{ "1/1", 0, 1 }, { "1/64", 0, 64 }, { "1/65536", 0, 65536 },
		{ "1/65537", -ERANGE, 0 }, { "1/0", -ERANGE, 0 },
		{ "64", -EINVAL, 0 }, { "2/64", -EINVAL, 0 }, { "1/", -EINVAL, 0 },
		{ "1/6x", -EINVAL, 0 }, { "", -EINVAL, 0 }, { "1/ 4", -EINVAL, 0 },
	};

	(void)state;
	check_numbers(parse_one_in, cases, ARRAY_LEN(cases));
}

static void test_endpoint(void **state)
{
	static const char *const refused[] = {
		"",	     "127.0.0.1",   "127.0.0.1:",	"127.0.0.1:65536", "127.0.0.1:80x",
		"[::1]",     "::1:80",	    "[::1:80",		"::1]:80",	   "[]:80",
		":80",	     "[127.0.0.1]:80", "localhost:80",	"1.2.3:80",	   "1.2.3.4 :80",
		"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:80",
	};
	struct sockaddr_storage address = { .ss_family = UNTOUCHED };
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (!parse_endpoint(refused[i], &address))
			fail_msg("'%s' was taken", refused[i]);
		assert_int_equal(address.ss_family, UNTOUCHED);
	}
	assert_int_equal(parse_endpoint("127.0.0.1:9464", &address), 0);
	memcpy(&v4, &address, sizeof(v4));
	assert_int_equal(v4.sin_family, AF_INET);
	assert_int_equal(ntohs(v4.sin_port), 9464);
	assert_int_equal(ntohl(v4.sin_addr.s_addr), INADDR_LOOPBACK);
	assert_int_equal(parse_endpoint("[::1]:0", &address), 0);
	memcpy(&v6, &address, sizeof(v6));
	assert_int_equal(v6.sin6_family, AF_INET6);
	assert_int_equal(ntohs(v6.sin6_port), 0);
	assert_memory_equal(&v6.sin6_addr, &in6addr_loopback, sizeof(v6.sin6_addr));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),	   cmocka_unit_test(test_duration),
		cmocka_unit_test(test_size),	   cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_format),	   cmocka_unit_test(test_fraction),
		cmocka_unit_test(test_endpoint),   cmocka_unit_test(test_rate),
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_one_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
