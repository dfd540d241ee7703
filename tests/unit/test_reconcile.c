/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that is made up: its clocks are slewed, set and read. Whatever is read must be what the
 * log of its changes converts to, or be unknown; a second computation, with a line per update and
 * nothing cleverer, is the reference.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "brief.h"
#include "clock/changes.h"
#include "clock_log.h"
#include "event/clocks.h"
#include "event/memsource.h"

#define NS_PER_S 1000000000LL
#define HOUR (3600 * NS_PER_S)
#define SHIFT 24
#define TICK 8000000 /* a tick's length in counts of the 2.4 GHz counter: 300 Hz */
#define PUBLISH 2000 /* ticks that publishing takes, at the most */
#define MULT 6990507u

struct kernel {
	struct rng rng;
	struct clock_timekeeper tk;
	uint64_t now; /* ticks */
	uint64_t seq;
};

static struct kernel kernel_new(uint64_t seed)
{
	struct kernel k = { .now = 1000000000000ULL };

	rng_init(&k.rng, seed);
	k.tk = (struct clock_timekeeper){
		.mono = { k.now, 12345, 400 * NS_PER_S, MULT, SHIFT },
		.real_ns = 1700000000 * NS_PER_S, .tai_ns = 1700000037 * NS_PER_S,
	};
	return k;
}

static int64_t kernel_ns(const struct clock_timekeeper *tk, enum clock_domain domain,
			 uint64_t ticks)
{
	int64_t ns;

	assert_int_equal(timekeeper_ns(tk, domain, ticks, &ns), 0);
	return ns;
}

/* Anchors a line anew at `ticks`, which changes nothing. */
static void accumulate(struct clock_line *line, uint64_t ticks)
{
	const __int128 q = (__int128)(ticks - line->cycle_last) * line->mult + line->fraction;

	line->cycle_last = ticks;
	line->base_ns += (int64_t)(q >> SHIFT);
	line->fraction = (uint64_t)(q & ((1 << SHIFT) - 1));
}

/* As timekeeping_adjust() of kernel/time/timekeeping.c: the lines meet now, not at cycle_last. */
static void adjust(struct kernel *k, struct clock_timekeeper *tk, uint32_t mult)
{
	const int64_t more = (int64_t)mult - tk->mono.mult;
	const __int128 q = (__int128)tk->mono.fraction + ((__int128)tk->mono.base_ns << SHIFT) -
			   (__int128)(k->now - tk->mono.cycle_last) * more;

	tk->mono.mult = mult;
	tk->mono.base_ns = (int64_t)(q >> SHIFT);
	tk->mono.fraction = (uint64_t)(q & ((1 << SHIFT) - 1));
}

static uint32_t mult_of(int64_t ppm)
{
	return (uint32_t)(MULT + MULT * ppm / 1000000);
}

/* Publishes a timekeeper after the counter has gone on; *visible: when readers see it. */
static struct clock_change publish(struct kernel *k, const struct clock_timekeeper *tk,
				   uint64_t *visible)
{
	struct clock_change change = { .tk = *tk, .seq = ++k->seq };

	k->now += rng_below(&k->rng, PUBLISH);
	change.before_ns = kernel_ns(&k->tk, DOMAIN_MONO, k->now);
	k->now += rng_below(&k->rng, PUBLISH);
	*visible = k->now;
	k->now += rng_below(&k->rng, PUBLISH);
	change.after_ns = kernel_ns(&k->tk, DOMAIN_MONO, k->now);
	k->tk = *tk;
	return change;
}

static bool chance_of_two(struct kernel *k)
{
	return rng_below(&k->rng, 2);
}

enum { TICKS, SLEWS, STEPS };

/* The next update: a tick that changes nothing, a slew, or that a clock is set. */
static struct clock_change next_change(struct kernel *k, int what, uint64_t *visible)
{
	struct clock_timekeeper tk = k->tk;
	const uint64_t chance = rng_below(&k->rng, 8);
	int64_t by;

	k->now += 1 + rng_below(&k->rng, TICK);
	accumulate(&tk.mono, k->now - rng_below(&k->rng, (k->now - tk.mono.cycle_last) / 2 + 1));
	if (what >= SLEWS && chance < 4)
		adjust(k, &tk, mult_of((int64_t)rng_below(&k->rng, 1001) - 500));
	else if (what >= STEPS && chance == 4) {
		by = chance_of_two(k) ? HOUR : TICK; /* soon shown twice, or perhaps never */
		by = (int64_t)rng_below(&k->rng, 2 * (uint64_t)by) - by;
		tk.real_ns += by;
		tk.tai_ns += by;
	} else if (what >= STEPS && chance == 5) {
		tk.real_ns -= NS_PER_S; /* a leap second */
	}
	return publish(k, &tk, visible);
}

static const enum clock_domain clocks[] = {
	DOMAIN_MONO, DOMAIN_REALTIME, DOMAIN_TAI,
};
#define CLOCKS (sizeof(clocks) / sizeof(clocks[0]))

/* One reading: its value, its time, and its clock. */
struct reading {
	uint64_t ticks;
	int64_t ns[CLOCKS];
};

struct tally {
	uint64_t right, wrong, unknown;
};

static void check_one(const struct clock_reconcile *r, enum clock_domain from,
		      enum clock_domain to, int64_t t, int64_t wanted, int64_t more_ns,
		      struct tally *tally)
{
	struct clock_time result;

	if (clock_reconcile_convert(r, from, to, t, &result))
		tally->unknown++;
	else if (llabs(result.value - wanted) <= (int64_t)result.error_ns * more_ns)
		tally->right++;
	else
		tally->wrong++;
}

/* Every clock from the TSC, and between each two; 3 ticks are at most 2 ns here. */
static void check_reading(const struct clock_reconcile *r, const struct reading *reading,
			  struct tally *tally)
{
	for (size_t i = 0; i < CLOCKS; i++) {
		check_one(r, DOMAIN_TSC, clocks[i], (int64_t)reading->ticks, reading->ns[i], 1,
			  tally);
		check_one(r, clocks[i], DOMAIN_TSC, reading->ns[i], (int64_t)reading->ticks, 3,
			  tally);
		for (size_t j = 0; j < CLOCKS; j++)
			check_one(r, clocks[i], clocks[j], reading->ns[i], reading->ns[j], 1,
				  tally);
	}
}

static struct reading read_all(const struct kernel *k, uint64_t ticks)
{
	struct reading reading = { .ticks = ticks };

	for (size_t i = 0; i < CLOCKS; i++)
		reading.ns[i] = kernel_ns(&k->tk, clocks[i], ticks);
	return reading;
}

#define READINGS 8
#define UPDATES_MAX 4000

/*
 * Lets a kernel run and reads its clocks between any two updates; `take` is given each update. Then
 * everything is converted.
 */
static struct tally run(uint64_t seed, int what, int updates,
			void (*take)(void *ctx, const struct clock_change *change),
			const struct clock_reconcile *r, void *ctx)
{
	static struct reading readings[UPDATES_MAX * READINGS];
	struct kernel k = kernel_new(seed);
	struct tally tally = { 0 };
	size_t n = 0;

	for (int i = 0; i < updates; i++) {
		struct kernel before = k;
		uint64_t visible, begin = k.now;
		struct clock_change change = next_change(&k, what, &visible);

		for (int j = 0; i && j < READINGS; j++)
			readings[n++] = read_all(&before, begin + rng_below(&k.rng,
									visible - begin));
		take(ctx, &change);
	}
	for (size_t i = 0; i < n; i++)
		check_reading(r, &readings[i], &tally);
	return tally;
}

struct logs {
	struct clock_reconcile known;
	struct clock_changes changes;
	uint64_t leave_out; /* every so many-th change, and renumber the others if that is asked */
	bool renumber;
	bool spoil; /* these changes are not left out: their values are unusable */
	bool lost;  /* the last one was */
	uint64_t n, left_out;
};

static void logs_init(struct logs *logs)
{
	*logs = (struct logs){ .n = 0 };
	clock_reconcile_init(&logs->known);
	clock_changes_init(&logs->changes, clock_log_taker(&logs->known));
}

/* As the reader of the kernel's log: what cannot be used is lost, and time goes on. */
static void take_spoiled(struct logs *logs, struct clock_change change)
{
	change.tk.mono.mult = 0;
	assert_int_equal(clock_changes_add(&logs->changes, &change), -EINVAL);
	clock_changes_lose(&logs->changes);
	logs->lost = true;
}

static void take(void *ctx, const struct clock_change *change)
{
	struct logs *logs = ctx;
	struct clock_change next = *change;

	logs->n++;
	if (logs->lost) /* the clocks are held until shortly before the next change */
		assert_int_equal(clock_changes_hold(&logs->changes, change->before_ns - 1), 0);
	logs->lost = false;
	if (logs->leave_out && logs->n % logs->leave_out == 0) {
		logs->left_out++;
		if (logs->spoil)
			take_spoiled(logs, next);
		return;
	}
	if (logs->renumber)
		next.seq -= logs->left_out;
	assert_int_equal(clock_changes_add(&logs->changes, &next), 0);
	assert_int_equal(clock_changes_hold(&logs->changes, change->after_ns + 10), 0);
}

static void test_slews(void **state)
{
	const int seeds = brief() ? 2 : 20;

	(void)state;
	for (int seed = 0; seed < seeds; seed++) {
		struct logs logs;
		struct tally tally;

		logs_init(&logs);
		tally = run((uint64_t)seed, SLEWS, 1000, take, &logs.known, &logs);
		assert_int_equal(tally.wrong, 0);
		/* Nothing is set, nothing is lost: only what is around the begin is unknown. */
		assert_int_equal(tally.unknown, 0);
		assert_int_equal(logs.changes.losses, 0);
		assert_true(logs.changes.changes > 300);
		clock_reconcile_release(&logs.known);
	}
}

static void test_exact(void **state)
{
	struct kernel k = kernel_new(3);
	struct logs logs;

	(void)state;
	logs_init(&logs);
	for (int i = 0; i < 1000; i++) {
		uint64_t visible;
		struct kernel before = k;
		struct clock_change change = next_change(&k, SLEWS, &visible);
		const uint64_t at = before.now + (visible - before.now) / 2;
		struct clock_time t;

		take(&logs, &change);
		if (!i || at > before.now + TICK)
			continue;
		/* Half way, no publication is near: to the nanosecond, and said so. */
		assert_int_equal(clock_reconcile_convert(&logs.known, DOMAIN_TSC, DOMAIN_REALTIME,
							 (int64_t)at, &t), 0);
		if (at > before.now + 10 * PUBLISH)
			assert_int_equal(t.error_ns, 0);
		assert_true(llabs(t.value - kernel_ns(&before.tk, DOMAIN_REALTIME, at)) <=
			    (int64_t)t.error_ns);
	}
	clock_reconcile_release(&logs.known);
}

static void test_steps(void **state)
{
	(void)state;
	for (int seed = 0; seed < (brief() ? 2 : 10); seed++) {
		struct logs logs;
		struct tally tally;

		logs_init(&logs);
		tally = run((uint64_t)seed, STEPS, 300, take, &logs.known, &logs);
		assert_int_equal(tally.wrong, 0);
		assert_int_equal(logs.changes.losses, 0);
		assert_true(logs.changes.steps > 50);
		assert_true(clock_log_breaks(&logs.known, DOMAIN_REALTIME) >
			    clock_log_breaks(&logs.known, DOMAIN_TAI));
		assert_int_equal(clock_log_breaks(&logs.known, DOMAIN_TSC), 0);
		assert_true(tally.unknown > 0); /* shown twice */
		assert_true(tally.right > tally.unknown);
		clock_reconcile_release(&logs.known);
	}
}

/*
 * Left out, which their numbers show, or with values that cannot be used: whatever they changed,
 * the clocks are unknown until the next change.
 */
static void test_missing_changes(void **state)
{
	(void)state;
	for (int spoil = 0; spoil < 2; spoil++) {
		struct logs logs;
		struct tally tally;

		logs_init(&logs);
		logs.leave_out = 51; /* the last one is not the last change */
		logs.spoil = spoil;
		tally = run(5, STEPS, 1000, take, &logs.known, &logs);
		assert_int_equal(tally.wrong, 0);
		assert_int_equal(logs.changes.losses, logs.left_out);
		assert_true(tally.unknown > 0);
		clock_reconcile_release(&logs.known);
	}
}

/* Without their numbers: the lines don't meet. Not of one that changed nothing, or too late. */
static void test_lines_that_do_not_meet(void **state)
{
	struct logs logs;
	struct tally tally;

	(void)state;
	logs_init(&logs);
	logs.leave_out = 50;
	logs.renumber = true;
	tally = run(5, SLEWS, 1000, take, &logs.known, &logs);
	assert_true(logs.changes.losses > 0);
	assert_true(logs.changes.losses <= logs.left_out);
	assert_true(tally.unknown > 0);
	clock_reconcile_release(&logs.known);
}

static void take_at_cycle_last(void *ctx, const struct clock_change *change)
{
	struct clock_reconcile *r = ctx;
	const struct clock_line *line = &change->tk.mono;
	struct clock_stretch s = {
		.from = line->cycle_last, .mono_ns = line->base_ns, .fraction = line->fraction,
		.mult = line->mult, .shift = line->shift,
	};

	if (r->logs[DOMAIN_TSC].known.len)
		vec_last(&r->logs[DOMAIN_TSC].known)->until = s.from;
	assert_int_equal(clock_reconcile_add(r, DOMAIN_TSC, &s), 0);
}

/* The test above can fail: parameters that hold from where they are anchored are wrong. */
static void test_cycle_last_is_wrong(void **state)
{
	struct clock_reconcile r;
	struct tally tally;

	(void)state;
	clock_reconcile_init(&r);
	tally = run(7, SLEWS, 1000, take_at_cycle_last, &r, &r);
	assert_true(tally.wrong > 1000);
	clock_reconcile_release(&r);
	clock_reconcile_init(&r);
	tally = run(7, TICKS, 1000, take_at_cycle_last, &r, &r);
	assert_int_equal(tally.wrong, 0); /* as long as nobody steers the clock it isn't seen */
	clock_reconcile_release(&r);
}

/* ---- in a stream ---- */

struct stream {
	struct event_clocks_out out;
	struct event_memsource *memory;
	struct clock_changes changes;
	struct clock_reconcile *known;
	struct clock_taker stream;
};

static int put_both(void *ctx, enum clock_domain domain, const struct clock_stretch *s)
{
	struct stream *stream = ctx;

	assert_int_equal(clock_reconcile_add(stream->known, domain, s), 0);
	return stream->stream.put(stream->stream.ctx, domain, s);
}

static void take_both(void *ctx, const struct clock_change *change)
{
	struct stream *stream = ctx;

	assert_int_equal(clock_changes_add(&stream->changes, change), 0);
	assert_int_equal(clock_changes_hold(&stream->changes, change->after_ns + 10), 0);
}

static void take_nothing(void *ctx, const struct clock_change *change)
{
	(void)ctx;
	(void)change;
}

/* All that was put, but every `leave_out`-th parameter. */
static void read_back(struct stream *stream, struct event_clocks *clocks_in, uint64_t leave_out)
{
	struct event_block block;
	struct event event;
	uint64_t n = 0;

	event_clocks_init(clocks_in, UINT32_MAX);
	while (event_source_next(event_memsource_source(stream->memory), &block) > 0) {
		size_t at = 0;

		while (event_block_next(&block, &at, &event)) {
			if (leave_out && event.kind == EV_CLOCK_PARAM && ++n % leave_out == 0)
				continue;
			assert_int_equal(event_clocks_add(clocks_in, &event), 0);
		}
	}
}

static void stream_run(uint64_t leave_out, struct tally *direct, struct tally *read,
		       struct event_clocks *in)
{
	struct stream stream = { .known = malloc(sizeof(*stream.known)) };

	assert_non_null(stream.known);
	clock_reconcile_init(stream.known);
	assert_int_equal(event_memsource_new(&stream.memory, 16 << 20), 0);
	stream.stream = event_clocks_taker(&stream.out, event_memsource_sink(stream.memory));
	clock_changes_init(&stream.changes, (struct clock_taker){ put_both, &stream });
	*direct = run(13, STEPS, 500, take_both, stream.known, &stream);
	read_back(&stream, in, leave_out);
	*read = run(13, STEPS, 500, take_nothing, &in->reconcile, NULL);
	event_memsource_free(stream.memory);
	clock_reconcile_release(stream.known);
	free(stream.known);
}

static void test_stream(void **state)
{
	struct tally direct, read;
	struct event_clocks in;

	(void)state;
	stream_run(0, &direct, &read, &in);
	assert_int_equal(direct.wrong, 0);
	assert_memory_equal(&direct, &read, sizeof(direct));
	assert_int_equal(in.missing + in.refused, 0);
	event_clocks_release(&in);
}

/* Missing records in a damaged file are noticed, and no conversion is wrong. */
static void test_damaged_stream(void **state)
{
	struct tally direct, read;
	struct event_clocks in;

	(void)state;
	stream_run(97, &direct, &read, &in);
	assert_int_equal(read.wrong, 0);
	assert_true(in.missing > 0);
	assert_true(read.unknown > direct.unknown);
	assert_true(read.right > direct.right / 2);
	event_clocks_release(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slews),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_missing_changes),
		cmocka_unit_test(test_lines_that_do_not_meet),
		cmocka_unit_test(test_cycle_last_is_wrong),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_damaged_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
