/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of day from a recording whose clock was slewed by 500 ppm and stepped by 3 s: within the
 * stated bound, where one offset and one rate, taken at the beginning, are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "clock/changes.h"
#include "event/memsource.h"
#include "report/times.h"

#define NS_PER_S 1000000000LL
#define SHIFT 24
#define MULT 6990507u               /* 2.4 GHz */
#define PPM_500 (MULT / 2000)
#define TICKS_PER_MS 2400000
#define START_TICKS 1000000000000ULL
#define START_NS (400 * NS_PER_S)
#define START_REAL_NS (1700000000 * NS_PER_S + START_NS) /* 2023-11-14T22:20:00Z */
#define RUN_MS 8000

/* ---- a host whose clock is changed ---- */

struct host {
	struct event_memsource *memory;
	struct event_clocks_out out;
	struct clock_changes changes;
	struct clock_timekeeper tk;
	uint64_t seq;
};

struct moment {
	uint64_t ticks;
	int64_t mono_ns, real_ns;
};

static int64_t shown(const struct host *h, enum clock_domain domain, uint64_t ticks)
{
	int64_t ns;

	assert_int_equal(timekeeper_ns(&h->tk, domain, ticks, &ns), 0);
	return ns;
}

/* Readers see the new parameters from `ticks` on; before and after are 40 ns from that. */
static void publish(struct host *h, const struct clock_timekeeper *tk, uint64_t ticks)
{
	const struct clock_change change = {
		.tk = *tk, .seq = ++h->seq,
		.before_ns = shown(h, DOMAIN_MONO, ticks - 96),
		.after_ns = shown(h, DOMAIN_MONO, ticks + 96),
	};

	h->tk = *tk;
	assert_int_equal(clock_changes_add(&h->changes, &change), 0);
}

/* From `ticks` on the rate is another, and the line goes on from where it was. */
static void slew(struct host *h, uint64_t ticks, uint32_t mult)
{
	struct clock_timekeeper tk = h->tk;
	const __int128 q = (__int128)(ticks - tk.mono.cycle_last) * tk.mono.mult +
			   tk.mono.fraction;

	tk.mono.cycle_last = ticks;
	tk.mono.base_ns += (int64_t)(q >> SHIFT);
	tk.mono.fraction = (uint64_t)(q & ((1 << SHIFT) - 1));
	tk.mono.mult = mult;
	publish(h, &tk, ticks);
}

static void step(struct host *h, uint64_t ticks, int64_t by_ns)
{
	struct clock_timekeeper tk = h->tk;

	tk.real_ns += by_ns;
	publish(h, &tk, ticks);
}

static void host_begin(struct host *h)
{
	*h = (struct host){ .tk = {
		.mono = { START_TICKS, 0, START_NS, MULT, SHIFT },
		.real_ns = START_REAL_NS - START_NS, .tai_ns = START_REAL_NS,
	} };
	assert_int_equal(event_memsource_new(&h->memory, 1 << 20), 0);
	clock_changes_init(&h->changes, event_clocks_taker(&h->out,
							   event_memsource_sink(h->memory)));
	publish(h, &h->tk, START_TICKS + 96);
}

/* +500 ppm after 2 s, +3 s after 4 s, -500 ppm after 6 s; a reading in the middle of each ms. */
static void host_run(struct host *h, struct moment moments[RUN_MS])
{
	for (uint64_t ms = 0; ms < RUN_MS; ms++) {
		const uint64_t now = START_TICKS + ms * TICKS_PER_MS;

		if (ms == 2000)
			slew(h, now, MULT + PPM_500);
		if (ms == 4000)
			step(h, now, 3 * NS_PER_S);
		if (ms == 6000)
			slew(h, now, MULT - PPM_500);
		moments[ms].ticks = now + TICKS_PER_MS / 2;
		moments[ms].mono_ns = shown(h, DOMAIN_MONO, moments[ms].ticks);
		moments[ms].real_ns = shown(h, DOMAIN_REALTIME, moments[ms].ticks);
	}
	assert_int_equal(clock_changes_hold(&h->changes, moments[RUN_MS - 1].mono_ns + 1), 0);
}

static void read_stream(struct event_memsource *memory, struct event_clocks *clocks)
{
	struct event_block block;
	struct event event;

	while (event_source_next(event_memsource_source(memory), &block) > 0) {
		size_t at = 0;

		while (event_block_next(&block, &at, &event))
			assert_int_equal(event_clocks_add(clocks, &event), 0);
	}
	event_memsource_free(memory);
}

static bool is_within(int64_t value, int64_t wanted, uint64_t bound)
{
	return (uint64_t)llabs(value - wanted) <= bound;
}

static void times_across_a_step_and_slews(void **state)
{
	static struct moment moments[RUN_MS];
	struct clock_time day, of_tsc;
	struct event_clocks clocks;
	struct clock_step found;
	struct host host;
	uint64_t wrong = 0, one_offset_wrong = 0, one_rate_wrong = 0;
	size_t at = 0;

	(void)state;
	host_begin(&host);
	host_run(&host, moments);
	event_clocks_init(&clocks, UINT32_MAX);
	read_stream(host.memory, &clocks);
	for (size_t i = 0; i < RUN_MS; i++) {
		const struct moment *m = &moments[i];
		const int64_t offset = m->mono_ns + START_REAL_NS - START_NS;
		const int64_t rate = START_REAL_NS + (int64_t)(m->ticks - START_TICKS) * 10 / 24;

		assert_int_equal(event_clocks_realtime(&clocks, (uint64_t)m->mono_ns, &day), 0);
		assert_int_equal(clock_reconcile_convert(&clocks.reconcile, DOMAIN_TSC,
							 DOMAIN_REALTIME, (int64_t)m->ticks,
							 &of_tsc), 0);
		assert_in_range(day.error_ns + of_tsc.error_ns, 0, 20);
		wrong += !is_within(day.value, m->real_ns, day.error_ns) ||
			 !is_within(of_tsc.value, m->real_ns, of_tsc.error_ns);
		one_offset_wrong += !is_within(offset, m->real_ns, day.error_ns);
		one_rate_wrong += !is_within(rate, m->real_ns, of_tsc.error_ns + 1000);
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(one_offset_wrong, RUN_MS - 4000); /* all since the step */
	assert_in_range(one_rate_wrong, RUN_MS - 2010, RUN_MS - 2000); /* all since the slew */
	assert_true(event_clocks_realtime_step(&clocks, &at, &found));
	assert_int_equal(found.by_ns, 3 * NS_PER_S);
	assert_in_range(found.width_ns, 70, 90);
	assert_false(event_clocks_realtime_step(&clocks, &at, &found));
	event_clocks_release(&clocks);
}

/* A recording knows no clock step after its last parameter, so times after it are unknown. */
static void times_of_a_cut_recording(void **state)
{
	struct event_clocks clocks;
	struct clock_time day;
	struct host host;

	(void)state;
	host_begin(&host);
	assert_int_equal(clock_changes_hold(&host.changes, START_NS + NS_PER_S), 0);
	event_clocks_init(&clocks, 1U << DOMAIN_REALTIME);
	read_stream(host.memory, &clocks);
	assert_int_equal(event_clocks_realtime(&clocks, START_NS + NS_PER_S, &day), 0);
	assert_int_equal(event_clocks_realtime(&clocks, START_NS + NS_PER_S + 1, &day), -ERANGE);
	assert_int_equal(event_clocks_realtime(&clocks, UINT64_MAX, &day), -ERANGE);
	assert_int_equal(clocks.reconcile.logs[DOMAIN_TSC].known.len, 0);
	event_clocks_release(&clocks);
}

/* ---- by EV_CLOCK of intervals ---- */

static void put(struct times *t, uint16_t kind, uint64_t time, const void *payload, uint32_t size)
{
	const struct event event = { .kind = kind, .time = time, .size = size,
				     .payload = payload };

	assert_int_equal(times_feed(t, &event), 0);
}

static void put_interval(struct times *t, int64_t seconds, int64_t offset_ns, uint64_t error_ns,
			 uint32_t flags)
{
	const uint64_t end = (uint64_t)(START_NS + seconds * NS_PER_S);
	const struct event_clock clock = {
		.mono_ns = end - 1000, .realtime_minus_mono_ns = offset_ns, .error_ns = error_ns,
		.flags = flags,
	};
	const struct event_interval interval = { .from_ns = end - NS_PER_S, .to_ns = end };

	put(t, EV_CLOCK, clock.mono_ns, &clock, sizeof(clock));
	put(t, EV_INTERVAL, end, &interval, sizeof(interval));
}

static void assert_text(const struct times *t, int64_t ms, const char *wanted)
{
	const struct provenance who = { .version = "" };
	struct report r;
	const char *text;

	report_init(&r, &who);
	text = times_text(t, &r, (uint64_t)(START_NS + ms * NS_PER_S / 1000), START_NS, 6);
	if (wanted)
		assert_string_equal(text ? text : "unknown", wanted);
	else
		assert_null(text);
	report_release(&r);
}

#define OFFSET (START_REAL_NS - START_NS)

static void times_by_intervals(void **state)
{
	const struct provenance who = { .version = "" };
	struct report r;
	struct times t;

	(void)state;
	times_init(&t, TIMES_AUTO);
	put(&t, EV_GROUP, START_NS, "", 0);
	assert_text(&t, 0, NULL);
	put_interval(&t, 1, OFFSET, 40, 0);
	assert_text(&t, 500, "22:20:00.500000Z");   /* not stepped before, either */
	assert_text(&t, -500, "22:19:59.500000Z");
	put_interval(&t, 2, OFFSET + 10, 30, 0);
	put_interval(&t, 3, OFFSET + 3 * NS_PER_S, 50, CLOCK_STEPPED);
	put_interval(&t, 4, OFFSET + 3 * NS_PER_S, 50, 0);
	assert_text(&t, 1999, "22:20:01.999000Z");
	assert_text(&t, 2500, NULL);              /* before the step, or after it */
	assert_text(&t, 3500, "22:20:06.500000Z");
	assert_text(&t, 4001, NULL);
	t.style = TIMES_MONOTONIC;
	assert_text(&t, 2500, "402.500000 s");
	t.style = TIMES_TRACE;
	assert_text(&t, 2500, "2.500000 s");
	t.style = TIMES_AUTO;
	report_init(&r, &who);
	times_add_span_text(&t, &r, "", START_NS, START_NS + 4 * NS_PER_S);
	assert_string_equal(r.summary.first->string,
			    "2023-11-14T22:20:00.000Z to 22:20:07.000Z ±50 ns");
	assert_string_equal(r.findings.first->string, "The realtime clock was stepped by +3.0 s "
			    "within the 1.0 s before 2023-11-14T22:20:05.999Z.");
	assert_int_equal(r.findings.count, 1);
	times_add_span_text(&t, &r, "", START_NS + 3 * NS_PER_S, START_NS + 4 * NS_PER_S);
	assert_int_equal(r.findings.count, 1); /* the step was before */
	report_release(&r);
	times_release(&t);
}

#define DAY_NS (86400 * NS_PER_S)

static void put_clock(struct times *t, int64_t mono_ns)
{
	const struct event_clock clock = {
		.mono_ns = (uint64_t)mono_ns, .realtime_minus_mono_ns = OFFSET, .error_ns = 40,
	};

	put(t, EV_CLOCK, clock.mono_ns, &clock, sizeof(clock));
}

/* A host that has been up for longer than a stretch can be, and a run that lasts longer. */
static void times_after_long_uptime(void **state)
{
	struct times t;

	(void)state;
	times_init(&t, TIMES_AUTO);
	for (int64_t day = 400; day <= 800; day += 50) {
		put_clock(&t, day * DAY_NS);
		assert_int_equal(times_realtime(&t, (uint64_t)(day * DAY_NS)).u64,
				 day * DAY_NS + OFFSET);
	}
	assert_int_equal(times_realtime(&t, (uint64_t)(399 * DAY_NS)).u64, 399 * DAY_NS + OFFSET);
	assert_int_equal(times_realtime(&t, (uint64_t)(700 * DAY_NS + 1)).u64,
			 700 * DAY_NS + 1 + OFFSET);
	times_release(&t);
}

/* The bound beside a span, in text and JSON, where both kinds of events convert its times. */
static void assert_span(const struct times *t, int64_t from_ms, int64_t to_ms, const char *wanted,
			const uint64_t *error_ns)
{
	const uint64_t from_ns = (uint64_t)(START_NS + from_ms * NS_PER_S / 1000);
	const uint64_t to_ns = (uint64_t)(START_NS + to_ms * NS_PER_S / 1000);
	const struct provenance who = { .version = "" };
	struct object *o;
	struct report r;

	report_init(&r, &who);
	times_add_span_text(t, &r, "", from_ns, to_ns);
	assert_string_equal(r.summary.first->string, wanted);
	o = object_new(&r);
	times_add_span(t, o, from_ns, to_ns);
	assert_string_equal(o->last->name, "realtime_error_ns");
	assert_int_equal(o->last->value.type, error_ns ? VALUE_NS : VALUE_NULL);
	if (error_ns)
		assert_int_equal(o->last->value.u64, *error_ns);
	report_release(&r);
}

/* EV_CLOCK_PARAM for 1 s, exact but for its first moment; EV_CLOCK, ±40 ns, up to 2 s. */
static void the_bound_of_a_span(void **state)
{
	static const uint64_t exact, bound = 40;
	struct host host;
	struct times t;

	(void)state;
	host_begin(&host);
	assert_int_equal(clock_changes_hold(&host.changes, START_NS + NS_PER_S), 0);
	times_init(&t, TIMES_AUTO);
	read_stream(host.memory, &t.clocks);
	put_interval(&t, 1, OFFSET, 40, 0);
	put_interval(&t, 2, OFFSET, 40, 0);
	assert_span(&t, 1, 1000, "2023-11-14T22:20:00.001Z to 22:20:01.000Z, exact", &exact);
	assert_span(&t, 1, 2000, "2023-11-14T22:20:00.001Z to 22:20:02.000Z ±40 ns", &bound);
	assert_span(&t, 1500, 2000, "2023-11-14T22:20:01.500Z to 22:20:02.000Z ±40 ns", &bound);
	assert_span(&t, 1, 2001, "2023-11-14T22:20:00.001Z to n/a", &exact);
	assert_span(&t, 2001, 2002, "times of day unknown", NULL);
	times_release(&t);
}

/* Times that go back or that no host has are refused, and what was known stays. */
static void impossible_clocks(void **state)
{
	const uint64_t begin = 400 * DAY_NS;
	const uint64_t times[] = {
		begin - 1, 0, 1ULL << 63, (1ULL << 63) + begin, UINT64_MAX,
	};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct times t;
		size_t lines;

		times_init(&t, TIMES_AUTO);
		put_clock(&t, begin);
		put_clock(&t, begin + 1000);
		lines = t.clocks.followed.logs[DOMAIN_REALTIME].known.len;
		put_clock(&t, (int64_t)times[i]);
		assert_int_equal(times_realtime(&t, begin + 1000).u64, begin + 1000 + OFFSET);
		assert_int_equal(times_realtime(&t, begin + 1001).type, VALUE_NULL);
		assert_int_equal(t.clocks.followed.logs[DOMAIN_REALTIME].known.len,
				 lines);
		times_release(&t);
	}
}

/* A stream without intervals, as load writes, ends where its clock was last read. */
static void times_without_intervals(void **state)
{
	struct times t;

	(void)state;
	times_init(&t, TIMES_AUTO);
	put(&t, EV_GROUP, START_NS, "", 0);
	assert_int_equal(t.clocks.end_ns, START_NS);
	put_clock(&t, START_NS + 500);
	put(&t, EV_GROUP, START_NS + 900, "", 0);
	assert_int_equal(t.clocks.end_ns, START_NS + 500);
	assert_int_equal(times_realtime(&t, t.clocks.end_ns).u64, START_NS + 500 + OFFSET);
	times_release(&t);
}

/* No digit is finer than the bound. */
static void as_many_digits_as_are_known(void **state)
{
	static const struct {
		uint64_t error_ns;
		const char *text;
	} cases[] = {
		{ 1000, "22:20:00.500000Z" }, { 1001, "22:20:00.500Z" },
		{ 1000001, "22:20:00Z" }, { NS_PER_S + 1, NULL },
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct times t;

		times_init(&t, TIMES_WALL);
		put(&t, EV_GROUP, START_NS, "", 0);
		put_interval(&t, 1, OFFSET, cases[i].error_ns, 0);
		assert_text(&t, 500, cases[i].text);
		times_release(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_across_a_step_and_slews),
		cmocka_unit_test(times_of_a_cut_recording),
		cmocka_unit_test(times_by_intervals),
		cmocka_unit_test(times_after_long_uptime),
		cmocka_unit_test(times_without_intervals),
		cmocka_unit_test(the_bound_of_a_span),
		cmocka_unit_test(impossible_clocks),
		cmocka_unit_test(as_many_digits_as_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
