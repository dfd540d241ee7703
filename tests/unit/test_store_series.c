/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of intervals as text, there and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "store/series.h"

#define N 40u
#define U SERIES_UNKNOWN

static void writes(const char *said, const uint8_t *cells, uint32_t n)
{
	struct strbuf out = STRBUF_INIT(4096);
	uint8_t back[N];

	series_write(&out, cells, n);
	assert_string_equal(strbuf_str(&out), said);
	assert_int_equal(series_read(said, back, n), 0);
	assert_memory_equal(back, cells, n);
	strbuf_release(&out);
}

static void test_texts(void **state)
{
	(void)state;
	writes("", (const uint8_t[]){ U, U, U }, 3);
	writes("0*3", (const uint8_t[]){ 0, 0, 0 }, 3);
	writes("?*2 250 17*2", (const uint8_t[]){ U, U, 250, 17, 17, U }, 6);
	writes("1 2 ? 3", (const uint8_t[]){ 1, 2, U, 3 }, 4);
}

static void test_random_cells(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (unsigned int turn = 0; turn < 1000; turn++) {
		struct strbuf out = STRBUF_INIT(4096);
		uint8_t cells[N], back[N];

		for (unsigned int i = 0; i < N; i++) {
			const uint64_t draw = rng_below(&rng, 4);

			cells[i] = draw == 0 ? U : draw == 1 ? 0 :
				   (uint8_t)rng_below(&rng, SERIES_STEPS + 1);
		}
		series_write(&out, cells, N);
		assert_int_equal(series_read(strbuf_str(&out), back, N), 0);
		assert_memory_equal(back, cells, N);
		strbuf_release(&out);
	}
}

static void test_no_series(void **state)
{
	static const char *const texts[] = {
		" ", "0 ", " 0", "0  0", "251", "-1", "+1", "00", "01", "0*", "0*0", "0*01", "0*41",
		"0*40 0", "?*", "??", "*3", "0x1", "1,2", "0*4294967297", "0*18446744073709551616",
		"?*39 0 0", "0\t0", "nan",
	};
	uint8_t cells[N + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		cells[N] = 9;
		assert_int_not_equal(series_read(texts[i], cells, N), 0);
		assert_int_equal(cells[N], 9);
	}
	assert_int_equal(series_read("0*40", cells, N), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_random_cells),
		cmocka_unit_test(test_no_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
