/* SPDX-License-Identifier: Apache-2.0 */
/* The queue between two threads: order, fullness, wrapping, and nothing torn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "load/spsc.h"

#define PLACES 64
#define MANY 200000

struct record {
	uint64_t a, b, c;
};

static void full_and_empty(void **state)
{
	static struct spsc_queue ring; /* in the sanitizer's stack gcc aligns nothing to 64 */
	struct record r = {};
	uint64_t n, i;

	(void)state;
	assert_int_equal(spsc_init(&ring, sizeof(r), PLACES), 0);
	spsc_peek(&ring, UINT64_MAX, &n);
	assert_int_equal(n, 0);
	for (i = 0; i < PLACES; i++, r.a++)
		assert_true(spsc_push(&ring, &r));
	assert_false(spsc_push(&ring, &r));
	assert_int_equal(spsc_ready(&ring), PLACES);
	spsc_peek(&ring, 10, &n);
	assert_int_equal(n, 10);
	spsc_consume(&ring, n);
	for (i = 0; i < 10; i++, r.a++)
		assert_true(spsc_push(&ring, &r));
	assert_false(spsc_push(&ring, &r));
	/* Records that wrap around come in two parts. */
	spsc_peek(&ring, UINT64_MAX, &n);
	assert_int_equal(n, PLACES - 10);
	spsc_consume(&ring, n);
	assert_int_equal(((const struct record *)spsc_peek(&ring, UINT64_MAX, &n))->a, PLACES);
	assert_int_equal(n, 10);
	spsc_release(&ring);
}

static void *produce(void *arg)
{
	struct spsc_queue *ring = arg;
	uint64_t i;

	for (i = 0; i < MANY; i++) {
		const struct record r = { i, i * 3, ~i };

		while (!spsc_push(ring, &r))
			sched_yield();
	}
	return NULL;
}

static void two_threads(void **state)
{
	static struct spsc_queue ring; /* in the sanitizer's stack gcc aligns nothing to 64 */
	pthread_t thread;
	uint64_t next = 0, n, i;

	(void)state;
	assert_int_equal(spsc_init(&ring, sizeof(struct record), PLACES), 0);
	assert_int_equal(pthread_create(&thread, NULL, produce, &ring), 0);
	while (next < MANY) {
		const struct record *r = spsc_peek(&ring, 7, &n);

		for (i = 0; i < n; i++, next++) {
			assert_int_equal(r[i].a, next);
			assert_int_equal(r[i].b, next * 3);
			assert_int_equal(r[i].c, ~next);
		}
		spsc_consume(&ring, n);
		if (!n)
			sched_yield();
	}
	pthread_join(thread, NULL);
	spsc_release(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_and_empty),
		cmocka_unit_test(two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
