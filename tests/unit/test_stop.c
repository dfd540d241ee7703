/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stop.h"

static void test_signal_wakes_poll(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM };
	struct stop stop;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct pollfd fd = { .events = POLLIN };

		assert_int_equal(stop_init(&stop), 0);
		fd.fd = stop.fd;
		assert_int_equal(poll(&fd, 1, 0), 0);
		assert_false(stop_requested(&stop));
		raise(signals[i]);
		assert_int_equal(poll(&fd, 1, 1000), 1);
		assert_true(stop_requested(&stop));
		assert_true(stop_requested(&stop));
		assert_int_equal(stop.signal, signals[i]);
		stop_release(&stop);
	}
}

/* Signals that nobody asked about don't kill the process when the mask is lifted. */
static void test_release_drops_pending(void **state)
{
	struct stop stop = { 0 };
	sigset_t mask;

	(void)state;
	stop_release(&stop);
	stop_release(NULL);
	assert_int_equal(stop_init(&stop), 0);
	raise(SIGINT);
	raise(SIGTERM);
	stop_release(&stop);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
	assert_int_equal(sigismember(&mask, SIGINT), 0);
	assert_int_equal(sigismember(&mask, SIGTERM), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signal_wakes_poll),
		cmocka_unit_test(test_release_drops_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
