/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the cost of connections that come and go out of the total cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/conns_ends.h"

#define PUSH_NS 900000
#define OWN_NS 600000

static struct budget_spent account(const struct conns_ends *now, uint64_t ends_ns)
{
	struct conns_ends last = { .begun = 1000, .left_out = 500, .closed = 300 };
	struct budget_spent spent = { .cpu_ns = 2 * OWN_NS, .push_ns = 2 * PUSH_NS,
				      .ends_ns = ends_ns };
	const uint64_t all = spent.cpu_ns + spent.push_ns;

	conns_ends_account(&last, now, PUSH_NS, &spent);
	assert_int_equal(spent.cpu_ns + spent.push_ns + spent.ends_ns, all);
	assert_memory_equal(&last, now, sizeof(last));
	return spent;
}

static void all_new_connections_are_followed(void **state)
{
	const struct conns_ends now = { .begun = 1100, .left_out = 500, .closed = 400 };
	struct budget_spent spent = account(&now, OWN_NS);

	(void)state;
	assert_int_equal(spent.begun, 100);
	assert_int_equal(spent.ended, 100);
	assert_int_equal(spent.ends_ns, OWN_NS + PUSH_NS);
}

static void left_out_connections_save_nothing(void **state)
{
	const struct conns_ends now = { .begun = 1100, .left_out = 575, .closed = 325 };
	struct budget_spent spent = account(&now, OWN_NS);

	(void)state;
	assert_int_equal(spent.begun, 25);
	assert_int_equal(spent.ends_ns, OWN_NS + PUSH_NS / 4);
}

static void cost_is_at_most_what_ends_can_take(void **state)
{
	const struct conns_ends one = { .begun = 1001, .left_out = 500, .closed = 300 };
	const struct conns_ends none = { .begun = 1000, .left_out = 500, .closed = 300 };

	(void)state;
	assert_int_equal(account(&one, OWN_NS).ends_ns, 20000);
	assert_int_equal(account(&none, OWN_NS).ends_ns, 0);
	assert_int_equal(account(&none, 3 * OWN_NS).ends_ns, 0);
}

/* The two are not read at the same moment. */
static void more_left_out_than_begun(void **state)
{
	const struct conns_ends now = { .begun = 1100, .left_out = 601, .closed = 300 };

	(void)state;
	assert_int_equal(account(&now, 0).begun, 0);
	assert_int_equal(account(&now, OWN_NS).ends_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_new_connections_are_followed),
		cmocka_unit_test(left_out_connections_save_nothing),
		cmocka_unit_test(cost_is_at_most_what_ends_can_take),
		cmocka_unit_test(more_left_out_than_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
