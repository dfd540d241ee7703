/* SPDX-License-Identifier: Apache-2.0 */
/* The programs' table of short latencies names the cell of every value that it is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/packet/pkt_internal.h"
#include "stats/bucket_edges.h"

static __u16 cells[SHORT_ENTRIES];
static __u8 shorter[SHORT_MIN];

/* As hist_short() in bpf/record.bpf.h reckons; how many values get another cell than theirs. */
static uint32_t wrong(void)
{
	uint32_t n = 0;

	for (uint32_t v = SHORT_MIN; v <= SHORT_MAX; v++) {
		uint32_t above = v - SHORT_MIN;
		uint32_t at = (cells[above / 8] + (above & 7)) & SHORT_OFFSET;

		n += at / 8 != CELL_BUCKET + bucket_edges_index(BUCKET_SCHEMA_DEFAULT, v);
	}
	for (uint32_t v = 1; v < SHORT_MIN; v++)
		n += shorter[v] != CELL_BUCKET + bucket_edges_index(BUCKET_SCHEMA_DEFAULT, v);
	return n + (shorter[0] != CELL_ZERO);
}

static void every_value(void **state)
{
	(void)state;
	pkt_short_cells(cells, shorter);
	assert_int_equal(wrong(), 0);
}

/* An edge that is off by one is seen. */
static void control(void **state)
{
	(void)state;
	pkt_short_cells(cells, shorter);
	for (uint32_t i = 0; i < SHORT_ENTRIES; i++)
		if (cells[i] & 7)
			cells[i]--;
	assert_true(wrong() > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value),
		cmocka_unit_test(control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
