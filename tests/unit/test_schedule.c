/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: their laws, by tests that know the rate; their bits; their files. */
#include <errno.h>
#include <fcntl.h>
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
#include "base/parse.h"
#include "brief.h"
#include "load/schedule.h"

#define GAPS 1000000
#define SEEDS 3

static struct arrival parsed(const char *text)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct arrival arrival;

	if (arrival_parse(text, &arrival, &why))
		fail_msg("%s: %s", text, strbuf_str(&why));
	assert_int_equal(why.len, 0);
	strbuf_release(&why);
	return arrival;
}

static struct schedule made(const struct arrival *arrival, double rate, double seconds,
			    uint64_t seed)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct schedule s;

	if (schedule_make(&s, arrival, rate, (uint64_t)(seconds * 1e9), seed, &why))
		fail_msg("%s", strbuf_str(&why));
	assert_int_equal(why.len, 0);
	for (size_t i = 0; i < s.n; i++) {
		if (s.at_ns[i] >= seconds * 1e9 || (i && s.at_ns[i] < s.at_ns[i - 1]))
			fail_msg("request %zu is not in its place", i);
	}
	strbuf_release(&why);
	return s;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Kolmogorov's distribution; Stephens' correction is nothing at this size. */
static double ks_p(const double *u, size_t n)
{
	double d = 0, p = 0, x;

	for (size_t i = 0; i < n; i++)
		d = fmax(d, fmax((double)(i + 1) / (double)n - u[i], u[i] - (double)i / (double)n));
	x = d * sqrt((double)n);
	for (int k = 1; k < 100; k++)
		p += 2 * (k % 2 ? 1 : -1) * exp(-2.0 * k * k * x * x);
	return fmin(p, 1);
}

/* A squared, of u known; its law for large n: 6.0 and 0.172 have p near 0.001 and 0.9965. */
static double anderson_darling(const double *u, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double low = fmax(u[i], 1e-12), high = fmax(1 - u[n - 1 - i], 1e-12);

		sum += (2.0 * (double)i + 1) * (log(low) + log(high));
	}
	return -(double)n - sum / (double)n;
}

static double *probabilities(const struct schedule *s, const struct arrival *arrival, double rate,
			     double seconds)
{
	double *u = malloc(s->n * sizeof(*u));

	assert_non_null(u);
	for (size_t i = 1; i < s->n; i++)
		u[i - 1] = arrival_gap_probability(arrival, rate, (uint64_t)(seconds * 1e9),
						   (double)s->at_ns[i - 1], (double)s->at_ns[i]);
	qsort(u, s->n - 1, sizeof(*u), compare);
	return u;
}

static void check_law(const char *law, double rate, double seconds, uint64_t seed)
{
	struct arrival arrival = parsed(law);
	struct schedule s = made(&arrival, rate, seconds, seed);
	double *u = probabilities(&s, &arrival, rate, seconds), p, ad;

	assert_true(s.complete);
	p = ks_p(u, s.n - 1);
	ad = anderson_darling(u, s.n - 1);
	if (!(p > 0.001 && p < 0.999 && ad < 6 && ad > 0.172))
		fail_msg("%s, seed %d: KS p %g, AD %g", law, (int)seed, p, ad);
	free(u);
	if (seed == 1) {
		u = probabilities(&s, &arrival, rate * 1.02, seconds);
		ad = anderson_darling(u, s.n - 1);
		if (ad < 6)
			fail_msg("%s: a wrong rate is not seen, AD %g", law, ad);
		free(u);
	}
	schedule_release(&s);
}

/*
 * Each law against itself at the known rate; and against a rate that is 2 % off. The density of
 * gamma:0.5 is infinite at 0, where times are rounded to ns: only a low rate is its law.
 */
static void test_laws(void **state)
{
	static const char *const laws[] = {
		"uniform", "uniform:0.5", "lognormal:2", "lognormal:0.5", "gamma:2", "pareto:2.5",
		"ramp:0.5:1.5", "ramp:2:0", "sine:1:1s", "sine:0.5:10s",
	};

	(void)state;
	for (uint64_t seed = 1; seed <= (brief() ? 1 : SEEDS); seed++)
		check_law("poisson", 1000, brief() ? 200 : GAPS / 1000, seed);
	for (size_t k = 0; k < ARRAY_LEN(laws); k++)
		check_law(laws[k], 1000, 200, 1);
	check_law("gamma:0.5", 1, 200000, 1);
}

/* Gaps must be independent, too: the correlation of neighbours' ranks (here: probabilities). */
static void test_independent(void **state)
{
	struct arrival arrival = parsed("poisson");
	struct schedule s = made(&arrival, 1000, GAPS / 1000, 7);
	double sum = 0, last = 0;

	(void)state;
	for (size_t i = 1; i < s.n; i++) {
		double u = arrival_gap_probability(&arrival, 1000, 0, (double)s.at_ns[i - 1],
						   (double)s.at_ns[i]) - 0.5;

		sum += 12 * u * last;
		last = u;
	}
	assert_true(fabs(sum / sqrt(GAPS)) < 4);
	schedule_release(&s);
}

/* Two agents together are Poisson: variance over mean of counts in windows of 1 ms. */
static void test_superposition(void **state)
{
	struct arrival arrival = parsed("poisson");
	struct schedule a = made(&arrival, 1000, 1000, 1), b = made(&arrival, 1000, 1000, 2);
	static uint8_t counts[GAPS];
	double sum = 0, squares = 0, mean;

	(void)state;
	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; i < a.n; i++)
		counts[a.at_ns[i] / NS_PER_MS]++;
	for (size_t i = 0; i < b.n; i++)
		counts[b.at_ns[i] / NS_PER_MS]++;
	for (size_t i = 0; i < GAPS; i++) {
		sum += counts[i];
		squares += counts[i] * counts[i];
	}
	mean = sum / GAPS;
	assert_true(fabs(mean - 2) < 0.01);
	assert_true(fabs((squares / GAPS - mean * mean) / mean - 1) < 0.01);
	schedule_release(&a);
	schedule_release(&b);
}

/* The n-th time is round(n / rate), whatever n: compared in long double where that is exact. */
static void test_fixed(void **state)
{
	static const double rates[] = { 1, 3, 1000, 20000, 0.1, 1e6 / 3, 12345.678, 1e6 };
	struct arrival arrival = parsed("fixed");
	struct schedule s;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(rates); k++) {
		double seconds = fmin(GAPS / rates[k], 1e6);

		s = made(&arrival, rates[k], seconds, 1);
		assert_int_equal(s.n, ceil(rates[k] * seconds));
		for (size_t n = 0; n < s.n; n++) {
			long double exact = (long double)n * 1e9L / (long double)rates[k];

			if (fabsl((long double)s.at_ns[n] - exact) > 0.5L + 1e-6L)
				fail_msg("%g: request %zu", rates[k], n);
		}
		schedule_release(&s);
	}
	s = made(&arrival, 3, 1e6, 1);
	assert_int_equal(s.at_ns[2999999], 999999666666667);
	assert_true(arrival_gap_probability(&arrival, 1000, 0, 5e6, 5.5e6) == 0.5);
	schedule_release(&s);
}

static double count(const struct schedule *s, double from, double to)
{
	double n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->at_ns[i] >= from * 1e9 && s->at_ns[i] < to * 1e9;
	return n;
}

/* Within 0.1 %: 10^7 requests, whose standard deviation is 0.03 %. In brief 0.3 % of 10^6. */
static void test_integrals(void **state)
{
	struct arrival ramp = parsed("ramp:0.5:1.5"), sine = parsed("sine:0.8:40s");
	const double rate = brief() ? 1e4 : 1e5, most = brief() ? 0.003 : 0.001;
	struct schedule s = made(&ramp, rate, 100, 3);

	(void)state;
	assert_true(fabs((double)s.n / (100 * rate) - 1) < most);
	assert_true(fabs(count(&s, 0, 50) / (37.5 * rate) - 1) < 1.5 * most);
	assert_true(fabs(count(&s, 50, 100) / (62.5 * rate) - 1) < 1.5 * most);
	schedule_release(&s);

	/* Two and a half periods; the last half has 0.8 * 40 / pi more seconds' worth. */
	s = made(&sine, rate, 100, 4);
	assert_true(fabs((double)s.n / (rate * (100 + 32 / M_PI)) - 1) < most);
	assert_true(fabs(count(&s, 20, 40) / (rate * (20 - 32 / M_PI)) - 1) < 1.5 * most);
	assert_true(fabs(count(&s, 40, 80) / (rate * 40) - 1) < 1.5 * most);
	schedule_release(&s);
}

/* Bursts of Poisson: the mean rate, and an index of dispersion that grows as theory says. */
static void test_onoff(void **state)
{
	struct arrival arrival = parsed("onoff:10ms:30ms");
	struct schedule s = made(&arrival, 1000, 2000, 5);
	double sum = 0, squares = 0, mean;
	static double counts[2000];

	(void)state;
	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; i < s.n; i++)
		counts[s.at_ns[i] / NS_PER_S]++;
	for (int i = 0; i < 2000; i++) {
		sum += counts[i];
		squares += counts[i] * counts[i];
	}
	mean = sum / 2000;
	/* 1 + 2 rate off^2 / (on + off), in s, for windows that are long: here 46. */
	assert_true(fabs(mean / 1000 - 1) < 0.02);
	assert_true(fabs((squares / 2000 - mean * mean) / mean / 46 - 1) < 0.15);
	assert_true(isnan(arrival_gap_probability(&arrival, 1000, 0, 1, 2)));
	schedule_release(&s);
}

static uint64_t sum_of(const struct schedule *s)
{
	uint64_t hash = s->n;

	for (size_t i = 0; i < s->n; i++)
		hash = (hash ^ s->at_ns[i]) * 0x100000001b3;
	return hash;
}

/* The same on every compiler and processor that runs this test; another seed, other times. */
static void test_bits(void **state)
{
	static const struct {
		const char *arrival;
		uint64_t sum;
	} cases[] = {
		{ "poisson", 0xd591dae4df913084 },
		{ "fixed", 0xfe7a6e3af0406480 },
		{ "uniform", 0x4731b1148ebe854d },
		{ "lognormal:2", 0x1c74fa9638b7cbf3 },
		{ "gamma:3", 0x2972a7afcad1b6f8 },
		{ "gamma:0.3", 0x93df5a4aa3daab13 },
		{ "pareto:1.5", 0xbaf1cf28177ae4f3 },
		{ "onoff:1ms:9ms", 0xf63f8dd62c3512ff },
		{ "ramp:0:2", 0x79bd61467008eca },
		{ "sine:0.9:1s", 0x7672cf02170c0ec4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arrival arrival = parsed(cases[i].arrival);
		struct schedule s = made(&arrival, 12345.6, 20, 42);
		struct schedule again = made(&arrival, 12345.6, 20, 42);
		struct schedule other = made(&arrival, 12345.6, 20, 43);

		if (sum_of(&s) != cases[i].sum)
			fail_msg("%s: %#llx", cases[i].arrival, (unsigned long long)sum_of(&s));
		assert_int_equal(sum_of(&s), sum_of(&again));
		if (arrival.kind != ARRIVAL_FIXED)
			assert_int_not_equal(sum_of(&s), sum_of(&other));
		schedule_release(&s);
		schedule_release(&again);
		schedule_release(&other);
	}
}

struct folder {
	char path[64], name[96];
};

static void make_folder(struct folder *f)
{
	snprintf(f->path, sizeof(f->path), "/tmp/hostlat-schedule-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	snprintf(f->name, sizeof(f->name), "%s/times", f->path);
}

static void remove_folder(const struct folder *f)
{
	unlink(f->name);
	rmdir(f->path);
}

static void write_text(const struct folder *f, const char *text)
{
	int fd = open(f->name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void dump(const struct schedule *s, const struct folder *f)
{
	struct outfile file;

	assert_int_equal(outfile_open(&file, f->name), 0);
	assert_int_equal(schedule_dump(s, &file), 0);
	assert_int_equal(outfile_commit(&file), 0);
	outfile_release(&file);
}

/* A dumped schedule is replayed to the ns, twice as fast and half as fast to the rounded ns. */
static void test_replay(void **state)
{
	struct arrival poisson = parsed("poisson"), fixed = parsed("fixed"), file;
	struct schedule s = made(&poisson, 5000, 20, 9), back;
	char text[128];
	struct folder f;

	(void)state;
	make_folder(&f);
	dump(&s, &f);
	file = parsed(f.name);
	back = made(&file, 1, 20, 1);
	assert_int_equal(back.n, s.n);
	assert_memory_equal(back.at_ns, s.at_ns, s.n * sizeof(*s.at_ns));
	assert_true(back.complete);
	schedule_release(&back);
	back = made(&file, 1, 10, 1);
	assert_true(back.complete && back.n < s.n && back.n > s.n / 3);
	schedule_release(&back);
	back = made(&file, 1, 40, 1);
	assert_true(!back.complete && back.n == s.n);
	schedule_release(&back);

	snprintf(text, sizeof(text), "replay:2:%s", f.name);
	file = parsed(text);
	back = made(&file, 1, 10, 1);
	assert_true(back.complete && back.n == s.n);
	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(back.at_ns[i], (s.at_ns[i] + 1) / 2);
	schedule_release(&back);
	snprintf(text, sizeof(text), "replay:0.5:%s", f.name);
	file = parsed(text);
	back = made(&file, 1, 40, 1);
	assert_true(back.complete && back.n == s.n);
	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(back.at_ns[i], s.at_ns[i] * 2);
	schedule_release(&back);
	schedule_release(&s);

	s = made(&fixed, 3, 7, 1);
	dump(&s, &f);
	file = parsed(f.name);
	back = made(&file, 1, 7, 1);
	assert_true(back.complete && back.n == 21);
	schedule_release(&back);
	schedule_release(&s);
	remove_folder(&f);
}

static void test_files(void **state)
{
	static const struct {
		const char *text, *error;
		size_t n;
	} cases[] = {
		{ "0\n0\n5\n", NULL, 3 },
		{ "1\n2", NULL, 2 },
		{ "999999999\n1000000000\nnot looked at", NULL, 1 },
		{ "1000000000", NULL, 0 },
		{ "", "line 1: the file contains no time", 0 },
		{ "1\n\n2\n", "line 2: must be a time in ns, digits only", 0 },
		{ "1\n2\r\n", "line 2: must be", 0 },
		{ "1\n2\n-3\n", "line 3: must be", 0 },
		{ "5\n4\n", "line 2: earlier than the line before", 0 },
		{ "1.5\n", "line 1: must be", 0 },
		{ "18446744073709551616\n", "line 1: too large", 0 },
	};
	struct strbuf why = STRBUF_INIT(4096);
	struct schedule s;
	struct arrival file;
	struct folder f;

	(void)state;
	make_folder(&f);
	file = parsed(f.name);
	assert_int_equal(schedule_make(&s, &file, 1, NS_PER_S, 1, &why), -ENOENT);
	assert_non_null(strstr(strbuf_str(&why), f.name));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int err;

		write_text(&f, cases[i].text);
		strbuf_reset(&why);
		err = schedule_make(&s, &file, 1, NS_PER_S, 1, &why);
		assert_int_equal(err, cases[i].error ? -EINVAL : 0);
		assert_int_equal(s.n, cases[i].n);
		if (cases[i].error && !strstr(strbuf_str(&why), cases[i].error))
			fail_msg("%s", strbuf_str(&why));
		schedule_release(&s);
	}
	strbuf_release(&why);
	remove_folder(&f);
}

static void test_limits(void **state)
{
	struct arrival arrival = parsed("poisson");
	struct strbuf why = STRBUF_INIT(4096);
	struct schedule s;

	(void)state;
	assert_int_equal(schedule_make(&s, &arrival, 1e6, 1000 * NS_PER_S, 1, &why), -E2BIG);
	assert_int_equal(schedule_make(&s, &arrival, 0, NS_PER_S, 1, &why), -EINVAL);
	assert_int_equal(schedule_make(&s, &arrival, NAN, NS_PER_S, 1, &why), -EINVAL);
	s = made(&arrival, 1e-6, 1, 1);
	assert_int_equal(s.n, 0);
	schedule_release(&s);
	arrival = parsed("fixed");
	s = made(&arrival, SCHEDULE_RATE_MAX, 0.001, 1);
	assert_int_equal(s.n, 1000000);
	assert_int_equal(s.at_ns[999999], 999999);
	schedule_release(&s);
	arrival = parsed("onoff:1us:1us");
	assert_int_equal(schedule_make(&s, &arrival, 50, 3600 * NS_PER_S, 1, &why), -E2BIG);
	arrival = parsed("pareto:1.01");
	s = made(&arrival, 50, 10, 1);
	assert_int_equal(s.n, 6729);
	schedule_release(&s);
	strbuf_release(&why);
}

static void test_parse(void **state)
{
	static const char *const wrong[] = {
		"", "poison", "poisson:1", "poisson:", "uniform:0", "uniform:1.1", "uniform:x",
		"lognormal", "lognormal:", "lognormal:0", "lognormal:1:2", "gamma:-1", "pareto:1",
		"pareto:1.00000003", "onoff:1ms", "onoff:1:1", "onoff:0s:1s", "ramp:1", "ramp:0:0",
		"ramp:1:1e2", "sine:2:1s", "sine:0.5:10", "sine:0.5", "replay", "replay:0:x",
		"replay:2:", "replay:2", "replay::x", "lognormal:1.2.3",
	};
	struct strbuf why = STRBUF_INIT(4096);
	struct arrival a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		strbuf_reset(&why);
		if (!arrival_parse(wrong[i], &a, &why))
			fail_msg("'%s' was taken", wrong[i]);
		assert_true(why.len > 0);
	}
	arrival_parse("poison", &a, &why);
	assert_non_null(strstr(strbuf_str(&why), "did you mean poisson?"));
	a = parsed("uniform");
	assert_true(a.kind == ARRIVAL_UNIFORM && a.a == 1);
	a = parsed("sine:0.5:10s");
	assert_true(a.kind == ARRIVAL_SINE && a.a == 0.5 && a.b == 1e10);
	a = parsed("replay:2.5:a:b");
	assert_true(a.kind == ARRIVAL_FILE && a.a == 2.5 && !strcmp(a.file, "a:b"));
	a = parsed("./fixed");
	assert_true(a.kind == ARRIVAL_FILE && a.a == 1 && !strcmp(a.file, "./fixed"));
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_laws),	  cmocka_unit_test(test_independent),
		cmocka_unit_test(test_superposition), cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_integrals), cmocka_unit_test(test_onoff),
		cmocka_unit_test(test_bits),	  cmocka_unit_test(test_replay),
		cmocka_unit_test(test_files),	  cmocka_unit_test(test_limits),
		cmocka_unit_test(test_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
