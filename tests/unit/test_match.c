/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel stamps to requests: coalescing, retransmission, wrap, loss, late ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/rng.h"
#include "load/match.h"

enum { SCHED, SND, ACK };

static void each_request_gets_its_stamp(void **state)
{
	struct match m;
	struct match_tx tx[2];

	(void)state;
	match_init(&m);
	match_expect(&m, &tx[0], 99);
	match_expect(&m, &tx[1], 199);
	assert_int_equal(match_stamp(&m, SCHED, 99, 10), 1);
	assert_int_equal(match_stamp(&m, SND, 99, 11), 1);
	assert_int_equal(match_stamp(&m, SCHED, 199, 20), 1);
	assert_int_equal(match_stamp(&m, ACK, 99, 30), 1);
	assert_int_equal(tx[0].ns[SCHED], 10);
	assert_int_equal(tx[0].ns[SND], 11);
	assert_int_equal(tx[0].ns[ACK], 30);
	assert_int_equal(tx[1].ns[SCHED], 20);
	assert_int_equal(tx[1].ns[SND], 0);
	assert_int_equal(tx[1].ns[ACK], 0);
	assert_false(tx[0].again || tx[1].again);
}

static void coalesced(void **state)
{
	struct match m;
	struct match_tx tx[3];
	int i;

	(void)state;
	match_init(&m);
	for (i = 0; i < 3; i++)
		match_expect(&m, &tx[i], 100 * i + 99);
	assert_int_equal(match_stamp(&m, SND, 199, 5), 2);
	assert_int_equal(tx[0].ns[SND], 5);
	assert_int_equal(tx[1].ns[SND], 5);
	assert_int_equal(tx[2].ns[SND], 0);
	/* In the middle of the third: not its last byte. */
	assert_int_equal(match_stamp(&m, SND, 250, 6), 0);
	assert_int_equal(tx[2].ns[SND], 0);
	assert_int_equal(match_stamp(&m, SND, 299, 7), 1);
	assert_int_equal(tx[2].ns[SND], 7);
}

static void retransmitted(void **state)
{
	struct match m;
	struct match_tx tx[2];

	(void)state;
	match_init(&m);
	match_expect(&m, &tx[0], 99);
	match_expect(&m, &tx[1], 199);
	assert_int_equal(match_stamp(&m, SND, 199, 5), 2);
	assert_int_equal(match_stamp(&m, SND, 99, 900), 0);
	assert_true(tx[0].again);
	assert_false(tx[1].again);
	assert_int_equal(tx[0].ns[SND], 5);
	assert_int_equal(match_stamp(&m, SND, 199, 901), 0);
	assert_true(tx[1].again);
	assert_int_equal(tx[1].ns[SND], 5);
}

static void sequence_numbers_wrap_around(void **state)
{
	struct match m;
	struct match_tx tx[4];
	const uint32_t last[4] = { UINT32_MAX - 100, UINT32_MAX, 99, 199 };
	int i;

	(void)state;
	match_init(&m);
	for (i = 0; i < 4; i++)
		match_expect(&m, &tx[i], last[i]);
	assert_int_equal(match_stamp(&m, SND, UINT32_MAX - 100, 1), 1);
	assert_int_equal(match_stamp(&m, SND, 99, 2), 2);
	assert_int_equal(tx[1].ns[SND], 2);
	assert_int_equal(tx[2].ns[SND], 2);
	assert_int_equal(tx[3].ns[SND], 0);
	/* From before the wrap: repeated, not new. */
	assert_int_equal(match_stamp(&m, SND, UINT32_MAX, 3), 0);
	assert_true(tx[1].again);
	assert_int_equal(match_stamp(&m, ACK, 199, 4), 4);
	assert_int_equal(tx[0].ns[ACK], 4);
}

static void missing_and_late(void **state)
{
	struct match m;
	struct match_tx tx[3];
	int i;

	(void)state;
	match_init(&m);
	for (i = 0; i < 3; i++)
		match_expect(&m, &tx[i], 10 * i + 9);
	/* The first one's reply came; its stamp did not: it is given up. */
	match_forget(&m, &tx[0]);
	match_forget(&m, &tx[0]);
	memset(&tx[0], 0xa5, sizeof(tx[0]));
	assert_int_equal(match_stamp(&m, SCHED, 9, 1), 0);
	assert_int_equal(match_stamp(&m, SCHED, 19, 2), 1);
	/* The middle one goes while the cursor of another kind stands on it. */
	match_forget(&m, &tx[1]);
	assert_int_equal(match_stamp(&m, SND, 29, 3), 1);
	assert_int_equal(tx[2].ns[SND], 3);
	match_forget(&m, &tx[2]);
	assert_int_equal(match_stamp(&m, ACK, 29, 4), 0);
	match_expect(&m, &tx[0], 39);
	assert_int_equal(match_stamp(&m, ACK, 39, 5), 1);
	assert_int_equal(tx[0].ns[ACK], 5);
}

/* Any segmentation of any requests, from any number: each gets the first stamp that covers it. */
static void random_streams(void **state)
{
	enum { N = 64, ROUNDS = 500 };
	struct match_tx tx[N];
	struct match m;
	struct rng rng;
	int round, i;

	(void)state;
	rng_init(&rng, 7);
	for (round = 0; round < ROUNDS; round++) {
		uint32_t start = rng_u64(&rng), last[N], at = start;
		uint64_t expected[N] = {}, now = 1;

		match_init(&m);
		for (i = 0; i < N; i++) {
			at += 1 + rng_below(&rng, 3000);
			last[i] = at - 1;
			match_expect(&m, &tx[i], last[i]);
		}
		for (at = start; at - start < last[N - 1] - start + 1; now++) {
			uint32_t end = at + 1 + rng_below(&rng, 4000);

			if (end - start > last[N - 1] - start + 1)
				end = last[N - 1] + 1;
			match_stamp(&m, SND, end - 1, now);
			for (i = 0; i < N; i++) {
				if (!expected[i] && last[i] - start < end - start)
					expected[i] = now;
			}
			at = end;
		}
		for (i = 0; i < N; i++)
			assert_int_equal(tx[i].ns[SND], expected[i]);
	}
}

static void distances(void **state)
{
	(void)state;
	assert_int_equal(match_distance(100, 150, 0), 50);
	assert_int_equal(match_distance(100, 100, 0), 1);
	assert_int_equal(match_distance(100, 95, 5), 1);
	assert_int_equal(match_distance(100, 94, 5), 0);
	assert_int_equal(match_distance(0, 94, 5), 0);
	assert_int_equal(match_distance(100, 0, 500), 0);
	assert_int_equal(match_distance(1, 1ULL << 32, 0), UINT32_MAX);
	assert_int_equal(match_distance(1, (1ULL << 32) + 1, 0), 0);
}

/* Stamps of another clock: their place is converted, their duration is not. */
static void foreign_clock_is_converted(void **state)
{
	uint32_t before, after;

	(void)state;
	assert_true(match_place(1000, 2000, 1100, 0, 700, &before, &after));
	assert_int_equal(before, 100);
	assert_int_equal(after, 200);
	/* Converted to before it was sent, or to after it was done: by no more than the error. */
	assert_true(match_place(1000, 2000, 950, 51, 700, &before, &after));
	assert_int_equal(before, 1);
	assert_int_equal(after, 299);
	assert_false(match_place(1000, 2000, 950, 50, 700, &before, &after));
	assert_true(match_place(1000, 2000, 1350, 51, 700, &before, &after));
	assert_int_equal(before, 299);
	assert_int_equal(after, 1);
	assert_false(match_place(1000, 2000, 1350, 50, 700, &before, &after));
	/* A moment: one stamp is missing. */
	assert_true(match_place(1000, 2000, 1800, 0, 0, &before, &after));
	assert_int_equal(before, 800);
	assert_int_equal(after, 200);
	/* Longer than the whole; a request that took no time; too long ago. */
	assert_true(match_place(1000, 2000, 1000, 9, 998, &before, &after));
	assert_false(match_place(1000, 2000, 1000, 9, 999, &before, &after));
	assert_false(match_place(1000, 1000, 1000, 9, 0, &before, &after));
	assert_false(match_place(1000, 1ULL << 40, 2000, 9, 50, &before, &after));
}

/*
 * A clock of a card that is 3 us off after conversion, with a bound of 4: of each request the way
 * by the card's clock comes out to the nanosecond, and where it lies within the bound.
 */
static void by_the_card(void **state)
{
	const uint64_t card = 1700000000000000000, off = 3000, bound = 4000;
	struct rng rng;
	struct match m;
	uint32_t id = UINT32_MAX - 500000;

	(void)state;
	rng_init(&rng, 7);
	match_init(&m);
	for (int i = 0; i < 10000; i++) {
		const uint64_t sent = 1000000000ULL + i * 1000000ULL;
		const uint64_t snd = sent + 1 + rng_below(&rng, 20000);
		const uint64_t rx = snd + rng_below(&rng, 500000);
		const uint64_t done = rx + 1 + rng_below(&rng, 9000);
		uint32_t before, after;
		struct match_tx tx;
		uint64_t length;

		id += 100;
		match_expect(&m, &tx, id);
		assert_int_equal(match_stamp(&m, 3, id, card + snd), 1);
		length = card + rx - tx.ns[3];
		assert_true(match_place(sent, done, tx.ns[3] - card + off, bound, length, &before,
					&after));
		assert_int_equal(done - sent - before - after, rx - snd);
		assert_in_range(before + bound, snd - sent, snd - sent + 2 * bound);
		match_forget(&m, &tx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_gets_its_stamp),
		cmocka_unit_test(coalesced),
		cmocka_unit_test(retransmitted),
		cmocka_unit_test(sequence_numbers_wrap_around),
		cmocka_unit_test(missing_and_late),
		cmocka_unit_test(random_streams),
		cmocka_unit_test(distances),
		cmocka_unit_test(foreign_clock_is_converted),
		cmocka_unit_test(by_the_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
