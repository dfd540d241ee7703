/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "../sim/virtual.h"
#include "clock/convert.h"
#include "clock/cross.h"
#include "clock/follow.h"

#define HOUR 3600000000000LL
#define START 5000000000LL
#define START_REAL 1700000000000000000LL

static void test_system_clock(void **state)
{
	struct clock *clock = clock_system();
	int64_t ns, before = clock_mono_ns(clock);
	int watch = clock_set_watch(clock);
	struct pollfd poll_fd = { .fd = watch, .events = POLLIN };

	(void)state;
	assert_int_equal(clock_sleep_until(clock, before + 2000000), 0);
	assert_true(clock_mono_ns(clock) >= before + 2000000);
	assert_int_equal(clock_sleep_until(clock, -1), 0);
	assert_true(clock_real_ns(clock) > START_REAL);
	assert_int_equal(clock_read(clock, DOMAIN_TSC, &ns), -EOPNOTSUPP);
	assert_int_equal(clock_read(clock, DOMAIN_COUNT, &ns), -EOPNOTSUPP);
	assert_true(watch >= 0);
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	assert_int_equal(clock_was_set(clock, watch), 0);
	clock_set_unwatch(clock, watch);
}

static void test_system_cross(void **state)
{
	struct clock_cross real, raw;

	(void)state;
	assert_int_equal(clock_cross_sample(clock_system(), DOMAIN_REALTIME, 32, &real), 0);
	assert_true(clock_cross_error_ns(&real) < 1000000);
	assert_true(real.mono_ns + clock_cross_offset_ns(&real) > START_REAL);
	assert_int_equal(clock_cross_sample(clock_system(), DOMAIN_RAW, 32, &raw), 0);
	assert_true(clock_cross_error_ns(&raw) < 1000000);
	assert_int_equal(clock_cross_sample(clock_system(), DOMAIN_NIC, 32, &raw), -EOPNOTSUPP);
}

static void test_virtual_clock(void **state)
{
	struct clock_virtual virtual;
	struct clock *clock = &virtual.clock;
	int64_t ns;

	(void)state;
	clock_virtual_init(&virtual, START, START_REAL);
	clock_virtual_slew(&virtual, 500000);
	clock_virtual_advance(&virtual, 1000000000);
	assert_int_equal(clock_mono_ns(clock), START + 1000500000);
	assert_int_equal(clock_real_ns(clock), START_REAL + 1000500000);
	for (int i = 0; i < 1000; i++)
		clock_virtual_advance(&virtual, 3);
	assert_int_equal(clock_mono_ns(clock), START + 1000500000 + 3001);
	assert_int_equal(clock_sleep_until(clock, START + 3 * HOUR), 0);
	assert_int_equal(clock_mono_ns(clock), START + 3 * HOUR);
	clock_virtual_suspend(&virtual, HOUR);
	virtual.tai_offset_s = 37;
	assert_int_equal(clock_mono_ns(clock), START + 3 * HOUR);
	assert_int_equal(clock_real_ns(clock), START_REAL + 4 * HOUR);
	clock_read(clock, DOMAIN_BOOTTIME, &ns);
	assert_int_equal(ns, START + 4 * HOUR);
	clock_read(clock, DOMAIN_TAI, &ns);
	assert_int_equal(ns, START_REAL + 4 * HOUR + 37000000000);
	assert_int_equal(clock_read(clock, DOMAIN_TSC, &ns), -EOPNOTSUPP);
}

static void test_cross_refuses_a_step(void **state)
{
	struct clock_virtual virtual;
	struct clock_cross cross;

	(void)state;
	clock_virtual_init(&virtual, START, START_REAL);
	virtual.read_cost_ns = 50;
	assert_int_equal(clock_cross_sample(&virtual.clock, DOMAIN_REALTIME, 10, &cross), 0);
	assert_in_range(START_REAL - START, cross.lo_ns, cross.hi_ns);
	assert_int_equal(clock_cross_error_ns(&cross), 50);
	clock_virtual_set_at(&virtual, virtual.mono_ns + 700, HOUR);
	assert_int_equal(clock_cross_sample(&virtual.clock, DOMAIN_REALTIME, 10, &cross), -EAGAIN);
	assert_int_equal(clock_cross_sample(&virtual.clock, DOMAIN_REALTIME, 10, &cross), 0);
	assert_in_range(START_REAL - START + HOUR, cross.lo_ns, cross.hi_ns);
}

static void test_follow_steps(void **state)
{
	struct clock_virtual virtual;
	struct clock_follow_params params;
	struct clock_follow *follow;

	(void)state;
	clock_virtual_init(&virtual, START, START_REAL);
	assert_int_equal(clock_follow_open(&follow, &virtual.clock), 0);
	assert_int_equal(clock_follow_fd(follow), -1);
	clock_follow_last(follow, &params);
	assert_false(params.stepped);
	assert_int_equal(params.offset_ns, START_REAL - START);

	clock_virtual_slew(&virtual, -500000);
	clock_virtual_advance(&virtual, HOUR);
	assert_int_equal(clock_follow_update(follow, &params), 0);
	assert_false(params.stepped);
	assert_int_equal(params.offset_ns, START_REAL - START);

	clock_virtual_set(&virtual, -HOUR);
	assert_int_equal(clock_follow_update(follow, &params), 0);
	assert_true(params.stepped);
	assert_int_equal(params.step_ns, -HOUR);
	assert_int_equal(params.offset_ns, START_REAL - START - HOUR);

	virtual.tai_offset_s = 37;
	assert_int_equal(clock_follow_update(follow, &params), 0);
	assert_true(params.stepped);
	assert_int_equal(params.tai_offset_s, 37);
	assert_int_equal(params.step_ns, 0);
	assert_int_equal(clock_follow_update(follow, &params), 0);
	assert_false(params.stepped);
	clock_follow_free(follow);
	clock_follow_free(NULL);
}

/* A clock that is set whenever one looks. */
static int always_set(struct clock *clock, int watch)
{
	(void)clock;
	(void)watch;
	return 1;
}

static void test_follow_keeps_the_last_params(void **state)
{
	struct clock_virtual virtual;
	struct clock_follow_params params;
	struct clock_follow *follow, *none = NULL;
	struct clock_ops restless;
	const struct clock_ops *calm;

	(void)state;
	clock_virtual_init(&virtual, START, START_REAL);
	assert_int_equal(clock_follow_open(&follow, &virtual.clock), 0);
	calm = virtual.clock.ops;
	restless = *calm;
	restless.was_set = always_set;
	virtual.clock.ops = &restless;
	clock_virtual_set(&virtual, 1000);
	assert_int_equal(clock_follow_update(follow, &params), -EAGAIN);
	assert_int_equal(params.offset_ns, START_REAL - START);
	assert_int_equal(clock_follow_open(&none, &virtual.clock), -EAGAIN);
	assert_null(none);
	virtual.clock.ops = calm;
	assert_int_equal(clock_follow_update(follow, &params), 0);
	assert_true(params.stepped);
	assert_int_equal(params.step_ns, 1000);
	clock_follow_free(follow);
}

static void test_follow_the_system(void **state)
{
	struct clock_follow_params first, params;
	struct clock_follow *follow;

	(void)state;
	assert_int_equal(clock_follow_open(&follow, clock_system()), 0);
	assert_true(clock_follow_fd(follow) >= 0);
	clock_follow_last(follow, &first);
	for (int i = 0; i < 20; i++)
		assert_int_equal(clock_follow_update(follow, &params), 0);
	assert_true(params.stepped || params.error_ns <= first.error_ns);
	clock_follow_free(follow);
}

static void add(struct clock_table *table, enum clock_domain domain, int64_t mono, int64_t other,
		uint64_t error, bool discontinuity)
{
	struct clock_point point = { mono, other, error, discontinuity };

	assert_int_equal(clock_table_add(table, domain, &point), 0);
}

static void assert_converts(const struct clock_table *table, enum clock_domain from,
			    enum clock_domain to, int64_t t, int64_t value, uint64_t error)
{
	struct clock_time time;

	assert_int_equal(clock_convert(table, from, to, t, &time), 0);
	assert_int_equal(time.value, value);
	assert_int_equal(time.error_ns, error);
}

static void assert_out_of_range(const struct clock_table *table, enum clock_domain from,
				enum clock_domain to, int64_t t)
{
	struct clock_time time;

	assert_int_equal(clock_convert(table, from, to, t, &time), -ERANGE);
}

static void test_convert_line(void **state)
{
	struct clock_table table;

	(void)state;
	clock_table_init(&table);
	assert_converts(&table, DOMAIN_MONO, DOMAIN_MONO, 42, 42, 0);
	assert_out_of_range(&table, DOMAIN_MONO, DOMAIN_TSC, 42);
	assert_out_of_range(&table, DOMAIN_TSC, DOMAIN_MONO, 42);

	/* 3 ticks a nanosecond, 10 ns and 20 ns off; 1000 ppb of wander, 1 s of horizon */
	clock_table_limits(&table, DOMAIN_TSC, 1000, 1000000000);
	add(&table, DOMAIN_TSC, 1000000, 500, 10, false);
	assert_converts(&table, DOMAIN_MONO, DOMAIN_TSC, 1000000, 500, 10);
	assert_out_of_range(&table, DOMAIN_MONO, DOMAIN_TSC, 1000001);
	add(&table, DOMAIN_TSC, 11000000, 30000500, 20, false);
	assert_converts(&table, DOMAIN_MONO, DOMAIN_TSC, 2000000, 3000500, 20 + 1 + 1);
	assert_converts(&table, DOMAIN_TSC, DOMAIN_MONO, 3000500, 2000000, 20 + 1 + 1);
	assert_converts(&table, DOMAIN_TSC, DOMAIN_MONO, 30000500, 11000000, 20);
	/* ten times the gap beyond: ten times the doubt of both ends, and 100 ns of wander */
	assert_converts(&table, DOMAIN_MONO, DOMAIN_TSC, 111000000, 330000500, 20 + 100 + 300 + 1);
	assert_converts(&table, DOMAIN_TSC, DOMAIN_MONO, 200, 999900, 10 + 1 + 1 + 1);
	assert_out_of_range(&table, DOMAIN_MONO, DOMAIN_TSC, 1011000001);
	clock_table_release(&table);
	clock_table_release(NULL);
}

static void test_convert_over_steps(void **state)
{
	struct clock_table table;

	(void)state;
	clock_table_init(&table);
	clock_table_limits(&table, DOMAIN_REALTIME, 0, 100);
	add(&table, DOMAIN_REALTIME, 1000, 1000000, 5, false);
	add(&table, DOMAIN_REALTIME, 2000, 1001000, 5, false);
	add(&table, DOMAIN_REALTIME, 3000, 1000500, 7, true); /* set back by 1500 */
	add(&table, DOMAIN_REALTIME, 4000, 5000000, 5, true); /* set ahead */

	assert_converts(&table, DOMAIN_MONO, DOMAIN_REALTIME, 2000, 1001000, 5);
	assert_out_of_range(&table, DOMAIN_MONO, DOMAIN_REALTIME, 2001);
	assert_out_of_range(&table, DOMAIN_MONO, DOMAIN_REALTIME, 3001);
	assert_converts(&table, DOMAIN_MONO, DOMAIN_REALTIME, 3000, 1000500, 7);
	assert_out_of_range(&table, DOMAIN_REALTIME, DOMAIN_MONO, 1000500); /* true twice */
	assert_converts(&table, DOMAIN_REALTIME, DOMAIN_MONO, 1000400, 1400, 6);
	assert_out_of_range(&table, DOMAIN_REALTIME, DOMAIN_MONO, 2000000); /* never */
	/* one point alone goes on 1:1, up to the horizon */
	assert_converts(&table, DOMAIN_MONO, DOMAIN_REALTIME, 4100, 5000100, 5);
	assert_out_of_range(&table, DOMAIN_MONO, DOMAIN_REALTIME, 4101);
	assert_converts(&table, DOMAIN_MONO, DOMAIN_REALTIME, 950, 999950, 5 + 1 + 1);
	assert_out_of_range(&table, DOMAIN_MONO, DOMAIN_REALTIME, 899);
	clock_table_release(&table);
}

static void test_convert_through_mono(void **state)
{
	struct clock_table table;

	(void)state;
	clock_table_init(&table);
	clock_table_limits(&table, DOMAIN_RAW, 0, 1000000);
	clock_table_limits(&table, DOMAIN_REALTIME, 0, 1000000);
	add(&table, DOMAIN_RAW, 100000, 90000, 30, false);
	add(&table, DOMAIN_REALTIME, 100000, 7000000, 40, false);
	add(&table, DOMAIN_REALTIME, 150000, 7050000, 40, false);
	add(&table, DOMAIN_REALTIME, 200000, 8000000, 40, true);
	assert_converts(&table, DOMAIN_RAW, DOMAIN_REALTIME, 90000, 7000000, 30 + 40 + 1);
	assert_out_of_range(&table, DOMAIN_RAW, DOMAIN_REALTIME, 141000);
	/* at 200010 +- 30 it is unknown whether the clock had been set */
	assert_out_of_range(&table, DOMAIN_RAW, DOMAIN_REALTIME, 190010);
	assert_converts(&table, DOMAIN_RAW, DOMAIN_REALTIME, 190031, 8000031, 30 + 40 + 1);
	clock_table_release(&table);
}

static void test_convert_refuses(void **state)
{
	static const struct clock_point bad[] = {
		{ 1000, 2001, 0, false }, { 999, 2001, 0, true }, { 1001, 2000, 0, false },
		{ INT64_MAX, 2001, 0, false }, { 1001, INT64_MAX, 0, false },
		{ 1001, INT64_MIN, 0, true }, { 1001, 2001, UINT64_MAX, false },
	};
	struct clock_table table;

	(void)state;
	clock_table_init(&table);
	add(&table, DOMAIN_NIC, 1000, 2000, 0, false);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(clock_table_add(&table, DOMAIN_NIC, &bad[i]), -EINVAL);
	assert_out_of_range(&table, DOMAIN_MONO, DOMAIN_NIC, INT64_MAX);
	assert_out_of_range(&table, DOMAIN_NIC, DOMAIN_MONO, INT64_MIN);
	assert_converts(&table, DOMAIN_MONO, DOMAIN_NIC, 1000, 2000, 0);

	/* the widest gap there is */
	clock_table_release(&table);
	clock_table_init(&table);
	add(&table, DOMAIN_NIC, -CONVERT_TIME_MAX, -CONVERT_TIME_MAX, 0, false);
	add(&table, DOMAIN_NIC, CONVERT_TIME_MAX, CONVERT_TIME_MAX, 0, false);
	assert_converts(&table, DOMAIN_MONO, DOMAIN_NIC, 12345, 12345, 1);
	clock_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_clock),
		cmocka_unit_test(test_system_cross),
		cmocka_unit_test(test_virtual_clock),
		cmocka_unit_test(test_cross_refuses_a_step),
		cmocka_unit_test(test_follow_steps),
		cmocka_unit_test(test_follow_keeps_the_last_params),
		cmocka_unit_test(test_follow_the_system),
		cmocka_unit_test(test_convert_line),
		cmocka_unit_test(test_convert_over_steps),
		cmocka_unit_test(test_convert_through_mono),
		cmocka_unit_test(test_convert_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
