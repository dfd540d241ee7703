/* SPDX-License-Identifier: Apache-2.0 */
/* A card's clock that is made up: converted within its bound, and noticed when it is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/rng.h"
#include "clock/phc.h"

#define NS_PER_S 1000000000LL
#define REAL (1700000000LL * NS_PER_S) /* realtime - monotonic */
#define BEGIN (500 * NS_PER_S)
#define TICK 100000000LL

/* TAI, and by `ppb` faster. */
struct card {
	int64_t ppb, set_ns;
};

static int64_t card_at(const struct card *card, int64_t mono)
{
	return mono + REAL + 37 * NS_PER_S + card->set_ns +
	       (mono - BEGIN) / 1000 * card->ppb / 1000000;
}

static struct ptp_clock_time from_ns(int64_t ns)
{
	return (struct ptp_clock_time){ .sec = ns / NS_PER_S, .nsec = ns % NS_PER_S };
}

/* As the kernel reads it, from `mono` on: each reading takes up to 2 us, the card's is in it. */
static struct ptp_sys_offset_extended read_card(const struct card *card, int64_t mono,
						struct rng *rng)
{
	struct ptp_sys_offset_extended r = { .n_samples = 5 };

	for (unsigned int i = 0; i < r.n_samples; i++) {
		const int64_t width = 500 + (int64_t)rng_below(rng, 1500);
		const int64_t at = mono + (int64_t)rng_below(rng, width);

		r.ts[i][0] = from_ns(mono + REAL);
		r.ts[i][1] = from_ns(card_at(card, at));
		r.ts[i][2] = from_ns(mono + width + REAL);
		mono += width;
	}
	return r;
}

static int update(struct clock_phc *phc, const struct card *card, int64_t mono, struct rng *rng)
{
	const struct ptp_sys_offset_extended r = read_card(card, mono, rng);
	struct clock_cross cross;

	/* Realtime is known to 40 ns, and is in fact off by 30. */
	assert_int_equal(clock_phc_cross(&r, REAL + 30, 40, &cross), 0);
	assert_true(cross.lo_ns <= card_at(card, mono) - mono + 1 &&
		    cross.hi_ns >= card_at(card, mono) - mono - 1);
	return clock_phc_add(phc, &cross);
}

static void is_within_bound(const struct clock_phc *phc, const struct card *card, int64_t mono,
			    uint64_t bound)
{
	struct clock_time at;
	int64_t off;

	assert_int_equal(clock_phc_to_mono(phc, card_at(card, mono), &at), 0);
	off = at.value - mono;
	/* 2 ns: card_at() rounds. */
	assert_in_range(off < 0 ? -off : off, 0, at.error_ns + 2);
	assert_in_range(at.error_ns, 1, bound);
}

static void converts(void **state)
{
	static const int64_t ppbs[] = { 0, 40000, -100000, 900 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int k = 0; k < 4; k++) {
		const struct card card = { .ppb = ppbs[k] };
		struct clock_phc phc;

		assert_int_equal(clock_phc_open(&phc, -1), 0);
		for (int64_t tick = 0; tick < 50; tick++) {
			const int64_t now = BEGIN + tick * TICK;

			assert_int_equal(update(&phc, &card, now, &rng), 0);
			for (int64_t at = 0; at < TICK; at += TICK / 7)
				is_within_bound(&phc, &card, now + at, tick ? 5000 : 120000);
			if (tick)
				is_within_bound(&phc, &card, now - TICK / 2, 5000);
		}
		clock_phc_close(&phc);
	}
}

static void notices_a_set_clock(void **state)
{
	static const int64_t steps[] = { 10000, -10000, 3600 * NS_PER_S, -3600 * NS_PER_S };
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	for (int k = 0; k < 4; k++) {
		struct card card = { .ppb = 20000 };
		struct clock_phc phc;
		int64_t now = BEGIN;

		assert_int_equal(clock_phc_open(&phc, -1), 0);
		for (int i = 0; i < 5; i++, now += TICK)
			assert_int_equal(update(&phc, &card, now, &rng), 0);
		card.set_ns = steps[k];
		assert_int_equal(update(&phc, &card, now, &rng), 1);
		is_within_bound(&phc, &card, now + TICK / 2, 120000);
		now += TICK;
		assert_int_equal(update(&phc, &card, now, &rng), 0);
		is_within_bound(&phc, &card, now + TICK / 2, 5000);
		clock_phc_close(&phc);
	}
}

static void says_what_it_cannot(void **state)
{
	struct ptp_sys_offset_extended r = { .n_samples = 1 };
	struct clock_cross cross;
	struct clock_phc phc;
	struct clock_time at;

	(void)state;
	assert_int_equal(clock_phc_open(&phc, -1), 0);
	assert_int_equal(clock_phc_to_mono(&phc, REAL, &at), -ERANGE);
	r.ts[0][0] = from_ns(REAL + 100);
	r.ts[0][1] = r.ts[0][2] = from_ns(REAL);
	assert_int_equal(clock_phc_cross(&r, REAL, 40, &cross), -EBADMSG);
	r.ts[0][0] = from_ns(REAL);
	assert_int_equal(clock_phc_cross(&r, REAL, 40, &cross), 0);
	assert_int_equal(clock_phc_add(&phc, &cross), 0);
	assert_int_equal(clock_phc_to_mono(&phc, REAL + 59 * NS_PER_S, &at), 0);
	assert_int_equal(clock_phc_to_mono(&phc, REAL + 61 * NS_PER_S, &at), -ERANGE);
	assert_int_equal(clock_phc_to_mono(&phc, UINT64_MAX, &at), -ERANGE);
	clock_phc_close(&phc);
	assert_int_equal(clock_phc_open(&phc, 99999), -ENOENT);
	clock_phc_close(&phc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(converts),
		cmocka_unit_test(notices_a_set_clock),
		cmocka_unit_test(says_what_it_cannot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
