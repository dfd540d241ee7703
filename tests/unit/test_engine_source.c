/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's samples and ticks, pulled while it makes them: all come, and the pulling ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "load/engine_source.h"

#define TICKS 20000u
#define PLACES 64

static void push(struct spsc_queue *ring, const void *record)
{
	while (!spsc_push(ring, record))
		sched_yield();
}

/* A tick after each sample: a puller that looks in the wrong order takes one beyond a tick. */
static void *produce(void *arg)
{
	struct load_thread *t = arg;

	for (uint64_t i = 1; i <= TICKS; i++) {
		const struct event_sample sample = { .done = i, .intended = i };
		const struct load_tick tick = {
			.number = i == TICKS ? UINT64_MAX : i, .at_ns = i, .samples = i,
		};

		push(&t->samples, &sample);
		push(&t->ticks, &tick);
	}
	return NULL;
}

static void test_races(void **state)
{
	static const struct load_config config;
	static struct load_thread thread = { .config = &config };
	uint64_t samples = 0;
	struct event_block block;
	struct engine_source *source;
	bool final = false;

	(void)state;
	assert_int_equal(spsc_init(&thread.samples, sizeof(struct event_sample), PLACES), 0);
	assert_int_equal(spsc_init(&thread.flows, sizeof(struct event_flow), PLACES), 0);
	assert_int_equal(spsc_init(&thread.ticks, sizeof(struct load_tick), PLACES), 0);
	assert_int_equal(
		spsc_init(&thread.interference.gaps, sizeof(struct interference_span), PLACES), 0);
	assert_int_equal(engine_source_new(&source, &thread, 1, 0), 0);
	assert_int_equal(pthread_create(&thread.pthread, NULL, produce, &thread), 0);
	alarm(100); /* it would go on for ever */
	while (!final) {
		const int n = event_source_next(engine_source_events(source), &block);
		struct event event;
		size_t at = 0;

		assert_true(n >= 0);
		if (n && block.kind == EV_SAMPLE)
			samples += block.count;
		while (n && block.kind != EV_SAMPLE && event_block_next(&block, &at, &event))
			final |= event.kind == EV_LOAD &&
				 ((const struct event_load *)event.payload)->flags & LOAD_FINAL;
	}
	alarm(0);
	assert_int_equal(samples, TICKS);
	pthread_join(thread.pthread, NULL);
	engine_source_free(source);
	spsc_release(&thread.samples);
	spsc_release(&thread.flows);
	spsc_release(&thread.ticks);
	spsc_release(&thread.interference.gaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_races),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
