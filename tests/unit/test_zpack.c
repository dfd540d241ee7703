/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/zpack.h"
#include "base/rng.h"

/* Packs, keeps what is told to be used and no more, and unpacks: the bytes that are used. */
static size_t there_and_back(const unsigned char *from, size_t size)
{
	unsigned char bytes[ZPACK_MAX(ZPACK_MOST) + 1], back[ZPACK_MOST + 1], *kept;
	const size_t most = ZPACK_MAX(size);
	size_t n;

	memset(bytes, 0xa5, sizeof(bytes));
	memset(back, 0xa5, sizeof(back));
	n = zpack_pack(from, size, bytes);
	assert_true(n <= most);
	assert_int_equal(bytes[most], 0xa5);
	kept = malloc(n); /* for the sanitizer: not a byte behind it is read */
	assert_non_null(kept);
	memcpy(kept, bytes, n);
	zpack_unpack(kept, back, size);
	assert_memory_equal(back, from, size);
	assert_int_equal(back[size], 0xa5);
	free(kept);
	return n;
}

static void test_all_and_none(void **state)
{
	unsigned char bytes[ZPACK_MOST];

	(void)state;
	for (size_t size = 0; size <= ZPACK_MOST; size += ZPACK_GROUP) {
		memset(bytes, 0, sizeof(bytes));
		assert_int_equal(there_and_back(bytes, size), ZPACK_MIN);
		memset(bytes, 0xff, sizeof(bytes));
		assert_int_equal(there_and_back(bytes, size), ZPACK_MAX(size));
	}
	zpack_unpack(NULL, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 0);
	zpack_unpack((unsigned char[ZPACK_MIN]){ 0 }, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 0);
}

/* Each single byte is found again at its place. */
static void test_each_byte_alone(void **state)
{
	unsigned char bytes[ZPACK_MOST] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = 1;
		assert_int_equal(there_and_back(bytes, sizeof(bytes)), ZPACK_MIN + 1 + i % 8 + 1);
		bytes[i] = 0;
	}
}

static void test_random(void **state)
{
	unsigned char bytes[ZPACK_MOST];
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 20000; round++) {
		const size_t size = ZPACK_GROUP *
				    rng_below(&rng, ZPACK_MOST / ZPACK_GROUP + 1);
		const uint64_t one_in = 1 + rng_below(&rng, 1 + rng_below(&rng, 300));

		for (size_t i = 0; i < size; i++)
			bytes[i] = rng_below(&rng, one_in) ? 0 :
				(unsigned char)rng_below(&rng, 256);
		there_and_back(bytes, size);
	}
}

static void test_too_little_room(void **state)
{
	(void)state;
	assert_int_equal(zpack_room(0, 0), 0);
	assert_int_equal(zpack_room(24, 0), 0);
	assert_int_equal(zpack_room(0, 1), 24);
	assert_int_equal(zpack_room(0, 24), 24);
	assert_int_equal(zpack_room(0, 25), 40);
	assert_int_equal(zpack_room(40, 41), 56);
	for (size_t need = 13; need <= 24; need++)
		assert_int_equal(zpack_room(24, need), 24);
	for (size_t need = 1; need <= 3000; need++) {
		const size_t room = zpack_room(0, need);

		assert_true(room >= need && room < need + 24 && room % 16 == 8);
		assert_int_equal(zpack_room(room, need), room);
		assert_int_equal(zpack_room(2 * need - 1, need), 2 * need - 1); /* it stays */
		assert_int_equal(zpack_room(2 * need, need), room); /* shrinks */
		assert_int_equal(zpack_room(need - 1, need), room);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_and_none),
		cmocka_unit_test(test_each_byte_alone),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_too_little_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
