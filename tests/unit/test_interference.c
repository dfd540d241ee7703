/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's counters and clocks show interference on the load generator's host, tick by tick. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "../sim/virtual.h"
#include "event/memsource.h"
#include "load/interference.h"

#define NS_PER_S 1000000000ULL
#define TICK_NS (NS_PER_S / 10)

struct host {
	struct clock_virtual clock;
	struct interference_host noise;
	struct event_memsource *queue;
	uint64_t now;
	uint64_t amount[NOISE_MAX]; /* amounts of the last tick */
	uint32_t count[NOISE_MAX];
};

/* Two CPUs; counters in ticks of USER_HZ. */
static void set_stat(struct host *h, unsigned int steal0, unsigned int steal1, unsigned int soft0,
		     unsigned int soft1)
{
	char text[256];
	int len = snprintf(text, sizeof(text),
			   "cpu  9 9 9 9 9 9 %u %u 0 0\ncpu0 9 9 9 9 9 9 %u %u 0 0\n"
			   "cpu1 9 9 9 9 9 9 %u %u 0 0\nintr 1\n",
			   soft0 + soft1, steal0 + steal1, soft0, steal0, soft1, steal1);

	assert_int_equal(ftruncate(h->noise.stat, 0), 0);
	assert_int_equal(pwrite(h->noise.stat, text, (size_t)len, 0), len);
}

static void host_init(struct host *h)
{
	*h = (struct host){ .now = 100 * NS_PER_S };
	clock_virtual_init(&h->clock, (int64_t)h->now, 0);
	h->clock.read_cost_ns = 50;
	interference_host_init(&h->noise, &h->clock.clock);
	close(h->noise.stat);
	h->noise.stat = memfd_create("stat", MFD_CLOEXEC);
	assert_true(h->noise.stat > 0);
	assert_int_equal(event_memsource_new(&h->queue, 1 << 20), 0);
}

static void host_release(struct host *h)
{
	interference_host_release(&h->noise);
	event_memsource_free(h->queue);
}

static void take(struct host *h, const struct event_block *block)
{
	struct event_noise noise;
	struct event event;
	size_t at = 0;

	while (event_block_next(block, &at, &event)) {
		event_copy(&event, &noise, sizeof(noise));
		assert_true(noise.begin <= noise.end && noise.end == h->now);
		h->amount[noise.what] += noise.amount;
		h->count[noise.what]++;
	}
}

static void tick(struct host *h, uint64_t cpus, uint32_t threads)
{
	struct event_block block;

	memset(h->amount, 0, sizeof(h->amount));
	memset(h->count, 0, sizeof(h->count));
	clock_virtual_advance(&h->clock, TICK_NS);
	h->now += TICK_NS;
	assert_int_equal(interference_host_tick(&h->noise, event_memsource_sink(h->queue), 0,
						h->now, cpus, threads),
			 0);
	while (event_source_next(event_memsource_source(h->queue), &block) == 1)
		take(h, &block);
}

static void only_cpus_of_load_threads_count(void **state)
{
	const uint64_t unit = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	struct host h;

	(void)state;
	host_init(&h);
	set_stat(&h, 100, 200, 30, 40);
	tick(&h, 1, 1);
	assert_true(!h.count[NOISE_STEAL] && !h.count[NOISE_SOFTIRQ]);
	assert_false(h.noise.unread);
	tick(&h, 5, 2);
	assert_true(h.noise.unread); /* a third CPU has no counters */
	set_stat(&h, 101, 207, 32, 90);
	tick(&h, 1, 1);
	assert_int_equal(h.amount[NOISE_STEAL], unit);
	assert_int_equal(h.amount[NOISE_SOFTIRQ], 2 * unit);
	/* The thread has moved: what the other CPU spent before is not its business. */
	set_stat(&h, 108, 210, 33, 91);
	tick(&h, 2, 1);
	assert_int_equal(h.amount[NOISE_STEAL], 3 * unit);
	assert_int_equal(h.amount[NOISE_SOFTIRQ], unit);
	set_stat(&h, 109, 211, 33, 91);
	tick(&h, 3, 2);
	assert_int_equal(h.amount[NOISE_STEAL], 2 * unit);
	assert_int_equal(h.count[NOISE_SOFTIRQ], 0);
	host_release(&h);
}

static void suspend_is_a_gap(void **state)
{
	struct host h;

	(void)state;
	host_init(&h);
	assert_false(h.noise.unread);
	tick(&h, 0, 2);
	assert_true(h.noise.unread); /* counters that can't be read are not taken for zero ... */
	tick(&h, 1, 2); /* unreadable counters hide no later interference */
	assert_true(h.noise.unread);
	clock_virtual_slew(&h.clock, 500000);
	tick(&h, 1, 2);
	assert_int_equal(h.count[NOISE_GAP], 0);
	clock_virtual_slew(&h.clock, 0);
	clock_virtual_suspend(&h.clock, 7 * NS_PER_S);
	tick(&h, 1, 2);
	assert_int_equal(h.count[NOISE_GAP], 2); /* one for each thread */
	assert_true(h.amount[NOISE_GAP] <= 14 * NS_PER_S);
	assert_true(h.amount[NOISE_GAP] > 14 * NS_PER_S - 1000);
	tick(&h, 1, 2);
	assert_int_equal(h.count[NOISE_GAP], 0);
	host_release(&h);
}

static void counter_of_one_thread(void **state)
{
	static struct interference_thread
		noise; /* in the sanitizer's stack gcc aligns nothing to 64 */

	(void)state;
	assert_int_equal(interference_thread_init(&noise), 0);
	assert_int_equal(interference_preempted(&noise), 0);
	assert_true(noise.unread);
	noise.schedstat = memfd_create("schedstat", MFD_CLOEXEC);
	assert_int_equal(pwrite(noise.schedstat, "700 20 3\n", 9, 0), 9);
	assert_int_equal(interference_preempted(&noise), 20);
	assert_false(noise.unread);
	interference_thread_release(&noise);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_cpus_of_load_threads_count),
		cmocka_unit_test(suspend_is_a_gap),
		cmocka_unit_test(counter_of_one_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
