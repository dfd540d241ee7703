/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of applications: which have their own, none shrinks, and no time is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/parse.h"
#include "conns/app_counters.h"
#include "conns_rig.h"

#define MS 1000000u

struct rig {
	struct conns_rig conns;
	struct app_counters counters;
};

static void start(struct rig *r, uint32_t named_max)
{
	rig_init(&r->conns, NULL);
	assert_int_equal(app_counters_init(&r->counters, named_max), 0);
}

static void stop(struct rig *r)
{
	app_counters_release(&r->counters);
	rig_release(&r->conns);
}

/* A second of a connection of application `app`, of which `lost_ms` are lost to a timeout. */
static struct event_conn second(struct rig *r, uint64_t cookie, uint32_t app, uint32_t lost_ms)
{
	struct event_conn e = rig_conn(&r->conns, cookie, 0);

	e.app = app;
	e.samples = e.sampled[CONN_AT_IDLE] = 20;
	if (!lost_ms)
		return e;
	e.rto = e.stalls = 1;
	e.bytes_sent = 4000;
	e.bytes_retransmitted = 1000;
	e.congestion_ns = e.stall_ns = e.longest_stall_ns = lost_ms * MS;
	e.sender_app_ns -= e.congestion_ns;
	return e;
}

static void put(struct rig *r, uint64_t cookie, uint32_t app, uint32_t lost_ms)
{
	const struct event_conn e = second(r, cookie, app, lost_ms);

	rig_put(&r->conns, &e);
}

static void interval(struct rig *r)
{
	rig_interval(&r->conns);
	assert_int_equal(app_counters_interval(&r->counters, r->conns.c), 0);
}

static struct app_counter *find(struct rig *r, const char *name)
{
	vec_for_each(&r->counters.apps, app)
		if (!strcmp(app->name, name))
			return app;
	return NULL;
}

static bool is_named(struct rig *r, const char *name)
{
	const struct app_counter *app = find(r, name);

	return app && app->named;
}

static uint64_t time_of(const struct app_counts *counts)
{
	uint64_t sum = counts->unknown_ns;

	for (int i = 0; i < WORDS_TIMES; i++)
		sum += counts->limit_ns[i];
	return sum;
}

/* All counted time, in whole seconds. */
static unsigned int counted_s(struct rig *r)
{
	uint64_t sum = time_of(&r->counters.other);

	vec_for_each(&r->counters.apps, app)
		sum += time_of(&app->counts);
	assert_int_equal(sum % NS_PER_S, 0);
	return (unsigned int)(sum / NS_PER_S);
}

static void name(struct rig *r, unsigned int n)
{
	char text[16];

	for (unsigned int i = 1; i <= n; i++) {
		snprintf(text, sizeof(text), "app%u", i);
		rig_name(&r->conns, i, text);
	}
}

static void test_the_worst_have_their_own(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 2);
	name(&r, 4);
	for (uint32_t app = 1; app <= 4; app++)
		put(&r, app, app, app % 3 * 100); /* 100, 200, 0, 100 */
	put(&r, 5, 0, 0); /* its application is unknown */
	interval(&r);
	assert_true(is_named(&r, "app2"));
	assert_true(is_named(&r, "app1")); /* by name: app4 lost as much */
	assert_false(is_named(&r, "app4"));
	assert_non_null(find(&r, APP_COUNTERS_UNKNOWN));
	assert_int_equal(app_counters_others(&r.counters), 3);
	assert_int_equal(r.counters.other.connections, 3);
	assert_int_equal(r.counters.other.lost_ns[CONN_TIMEOUT], 100 * MS);
	assert_int_equal(find(&r, "app2")->counts.lost_ns[CONN_TIMEOUT], 200 * MS);
	assert_int_equal(find(&r, "app2")->counts.events[1], 1);
	assert_int_equal(counted_s(&r), 5);
	put(&r, 2, 2, 0);
	interval(&r);
	assert_int_equal(find(&r, "app2")->counts.connections, 1); /* the same connection */
	assert_int_equal(counted_s(&r), 6);
	stop(&r);
}

/* An application that loses clearly more takes another's place; no counter shrinks or moves. */
static void test_taking_over(void **state)
{
	uint64_t other = 0, first = 0;
	struct rig r;

	(void)state;
	start(&r, 1);
	name(&r, 2);
	for (int i = 0; i < 6; i++) {
		put(&r, 1, 1, i ? 0 : 500);
		put(&r, 2, 2, i ? 800 : 0); /* after 3 of them more than 500 ms * 5/4 + 1 s */
		interval(&r);
		assert_int_equal(is_named(&r, "app1"), i < 3);
		assert_int_equal(is_named(&r, "app2"), i >= 3);
		assert_true(time_of(&r.counters.other) >= other);
		assert_true(time_of(&find(&r, "app1")->counts) >= first);
		other = time_of(&r.counters.other);
		first = time_of(&find(&r, "app1")->counts);
		assert_int_equal(counted_s(&r), 2 * (i + 1));
	}
	assert_int_equal(first, 3 * NS_PER_S);
	assert_int_equal(other, 6 * NS_PER_S);
	stop(&r);
}

/* A container that is gone leaves its place to a healthy one. */
static void test_gone(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 1);
	name(&r, 2);
	put(&r, 1, 1, 500);
	interval(&r);
	put(&r, 2, 2, 0);
	interval(&r);
	assert_false(is_named(&r, "app2"));
	r.conns.now += APP_COUNTERS_GONE_NS;
	put(&r, 2, 2, 0);
	interval(&r);
	assert_true(is_named(&r, "app2"));
	assert_false(is_named(&r, "app1"));
	assert_int_equal(app_counters_others(&r.counters), 0);
	stop(&r);
}

/* A second, half of which its few samples have to divide. */
static void put_few(struct rig *r, uint32_t samples)
{
	struct event_conn e = second(r, 1, 1, 0);

	e.samples = e.sampled[CONN_AT_SEND_BUFFER] = samples;
	e.sampled[CONN_AT_IDLE] = 0;
	e.sampled_ns[CONN_AT_SEND_BUFFER] = samples * 100 * MS;
	e.busy_ns = e.unknown_ns = e.sender_app_ns = NS_PER_S / 2;
	rig_put(&r->conns, &e);
}

static void expect_times(struct rig *r, unsigned int app_ms, unsigned int buffer_ms,
			 unsigned int unknown_ms)
{
	const struct app_counts *counts = &find(r, "app1")->counts;

	assert_int_equal(counts->limit_ns[0] / MS, app_ms);
	assert_int_equal(counts->limit_ns[1] / MS, buffer_ms);
	assert_int_equal(counts->unknown_ns / MS, unknown_ms);
}

static void test_time_waits_for_samples(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 1);
	name(&r, 1);
	put_few(&r, 3);
	interval(&r);
	expect_times(&r, 500, 0, 0);
	put_few(&r, 3);
	interval(&r);
	expect_times(&r, 1000, 1000, 0);
	/* and none is left over */
	put(&r, 1, 1, 0);
	interval(&r);
	expect_times(&r, 2000, 1000, 0);
	stop(&r);
}

/* Time without enough samples is unknown, not 0: after a minute, or at the end. */
static void test_waiting_ends(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 1);
	name(&r, 1);
	put_few(&r, 1);
	interval(&r);
	for (int i = 0; i < 58; i++) {
		interval(&r);
		expect_times(&r, 500, 0, 0);
	}
	interval(&r);
	expect_times(&r, 500, 0, 0);
	interval(&r);
	expect_times(&r, 500, 0, 500);
	put_few(&r, 4); /* with the earlier sample these would be enough */
	interval(&r);
	expect_times(&r, 1000, 0, 500);
	app_counters_finish(&r.counters);
	expect_times(&r, 1000, 0, 1000);
	stop(&r);
}

static void test_unknown_times(void **state)
{
	struct event_conn e;
	struct rig r;

	(void)state;
	start(&r, 1);
	name(&r, 1);
	e = second(&r, 1, 1, 0);
	e.known &= ~(CONN_KNOWS_TIMES | CONN_KNOWS_RTO);
	rig_put(&r.conns, &e);
	interval(&r);
	expect_times(&r, 0, 0, 1000);
	assert_int_equal(find(&r, "app1")->counts.uncounted_ns[1], NS_PER_S);
	assert_int_equal(find(&r, "app1")->counts.uncounted_ns[0], 0);
	stop(&r);
}

/* A burst after a pause loses the time of its repairs: it counts once. */
static void test_time_is_lost_once(void **state)
{
	struct event_conn e;
	struct rig r;

	(void)state;
	start(&r, 1);
	name(&r, 1);
	e = second(&r, 1, 1, 100);
	e.idle_bursts = e.idle_bursts_lost = 1;
	rig_put(&r.conns, &e);
	interval(&r);
	assert_true(rig_has(&r.conns, CONNS_INTERVAL, 1, CONN_BURST_AFTER_IDLE));
	assert_int_equal(find(&r, "app1")->lost_ns, 100 * MS);
	assert_int_equal(find(&r, "app1")->counts.lost_ns[CONN_TIMEOUT], 100 * MS);
	stop(&r);
}

static void test_a_program_called_other(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 5);
	rig_name(&r.conns, 1, "other");
	put(&r, 1, 1, 100);
	interval(&r);
	assert_null(find(&r, "other"));
	assert_int_equal(r.counters.other.connections, 1);
	assert_int_equal(counted_s(&r), 1);
	stop(&r);
}

/* Memory is bounded: applications beyond the limit are of the rest, and those gone make room. */
static void test_more_than_memory(void **state)
{
	const unsigned int n = APP_COUNTERS_MAX + 10;
	struct rig r;

	(void)state;
	start(&r, 3);
	name(&r, n + 1);
	for (uint32_t app = 1; app <= n; app++)
		put(&r, app, app, 0);
	interval(&r);
	assert_int_equal(r.counters.apps.len, APP_COUNTERS_MAX);
	assert_int_equal(counted_s(&r), n);
	r.conns.now += 2 * APP_COUNTERS_GONE_NS;
	put(&r, n + 1, n + 1, 0);
	interval(&r);
	assert_int_equal(counted_s(&r), n + 1);
	assert_int_equal(r.counters.apps.len, 4); /* the three with counters, and this one */
	stop(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_worst_have_their_own),
		cmocka_unit_test(test_taking_over),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_time_waits_for_samples),
		cmocka_unit_test(test_waiting_ends),
		cmocka_unit_test(test_unknown_times),
		cmocka_unit_test(test_time_is_lost_once),
		cmocka_unit_test(test_a_program_called_other),
		cmocka_unit_test(test_more_than_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
