// SPDX-License-Identifier: Apache-2.0
/* The queue between two threads: order, fullness, wrapping, and nothing torn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "load/ring.h"

#define PLACES 64
#define MANY 200000

struct record {
	uint64_t a, b, c;
};

static void full_and_empty(void **state)
{
	static struct ring ring; /* in the sanitizer's stack gcc aligns nothing to 64 */
	struct record r = {};
	uint64_t n, i;

	(void)state;
	assert_int_equal(ring_init(&ring, sizeof(r), PLACES), 0);
	ring_peek(&ring, UINT64_MAX, &n);
	assert_int_equal(n, 0);
	for (i = 0; i < PLACES; i++, r.a++)
		assert_true(ring_push(&ring, &r));
	assert_false(ring_push(&ring, &r));
	assert_int_equal(ring_ready(&ring), PLACES);
	ring_peek(&ring, 10, &n);
	assert_int_equal(n, 10);
	ring_take(&ring, n);
	for (i = 0; i < 10; i++, r.a++)
		assert_true(ring_push(&ring, &r));
	assert_false(ring_push(&ring, &r));
	/* What wraps comes in two parts. */
	ring_peek(&ring, UINT64_MAX, &n);
	assert_int_equal(n, PLACES - 10);
	ring_take(&ring, n);
	assert_int_equal(((const struct record *)ring_peek(&ring, UINT64_MAX, &n))->a, PLACES);
	assert_int_equal(n, 10);
	ring_release(&ring);
}

static void *produce(void *arg)
{
	struct ring *ring = arg;
	uint64_t i;

	for (i = 0; i < MANY; i++) {
		const struct record r = { i, i * 3, ~i };

		while (!ring_push(ring, &r))
			sched_yield();
	}
	return NULL;
}

static void two_threads(void **state)
{
	static struct ring ring; /* in the sanitizer's stack gcc aligns nothing to 64 */
	pthread_t thread;
	uint64_t next = 0, n, i;

	(void)state;
	assert_int_equal(ring_init(&ring, sizeof(struct record), PLACES), 0);
	assert_int_equal(pthread_create(&thread, NULL, produce, &ring), 0);
	while (next < MANY) {
		const struct record *r = ring_peek(&ring, 7, &n);

		for (i = 0; i < n; i++, next++) {
			assert_int_equal(r[i].a, next);
			assert_int_equal(r[i].b, next * 3);
			assert_int_equal(r[i].c, ~next);
		}
		ring_take(&ring, n);
		if (!n)
			sched_yield();
	}
	pthread_join(thread, NULL);
	ring_release(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_and_empty),
		cmocka_unit_test(two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
