/* SPDX-License-Identifier: Apache-2.0 */
/* Where a thread's time went: each state by itself, and that what is missing is never sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../sim/trace.h"
#include "diagnose/thread_profile.h"
#include "diagnose_rig.h"

#define US 1000

/* The times of "app" from 20 us to 1 ms of a script, in us. */
static void expect_us(const char *script, const uint32_t us[static THREAD_STATES])
{
	const struct diagnose_options options = { .selection = { .to = 1, .against_to = 1 } };
	const int fd = rig_file(script);
	struct thread_profile profile;
	struct event_reader *reader;
	struct diagnosis *d;

	assert_int_equal(event_reader_new(&reader, fd), 0);
	assert_int_equal(diagnosis_new(&d, &options), 0);
	assert_int_equal(diagnosis_run(d, reader, NULL), 0);
	thread_profile_init(&profile, tasks_by_tid(&d->own.tasks, 11));
	assert_int_equal(vec_push(&profile.stretches, (struct thread_stretch){
		TRACE_START + 20 * US, TRACE_START + 1000 * US }), 0);
	assert_int_equal(thread_profile_fill(d, &profile, 1), 0);
	assert_int_equal(profile.total_ns, 980 * US);
	for (int i = 0; i < THREAD_STATES; i++)
		assert_int_equal(profile.ns[i], us[i] * US);
	thread_profile_release(&profile);
	diagnosis_free(d);
	event_reader_free(reader);
	close(fd);
}

#define ENDS MESSAGE "1500us 1 run hog\n1600us 1 run idle\nuntil 2ms\n"

/* Woken at 105 us, on a CPU from 110 us to 135 us, after which nobody wakes it. */
static void test_states(void **state)
{
	(void)state;
	expect_us(WAITS COMES READS ENDS, (const uint32_t[THREAD_STATES]){
		[THREAD_ASLEEP] = 85 + 865, [THREAD_CPU_WAIT] = 5, [THREAD_ON_CPU] = 25 });
	expect_us(WAITS COMES READS ENDS "113us 0 irq 30\n114us 0 irq-end\n",
		  (const uint32_t[THREAD_STATES]){
		[THREAD_ASLEEP] = 85 + 865, [THREAD_CPU_WAIT] = 5, [THREAD_ON_CPU] = 24,
		[THREAD_INTERRUPTED] = 1 });
	expect_us(WAITS COMES READS ENDS "140us 0 wake app 0\n145us 0 run app\n"
		  "150us 0 run idle stopped\n", (const uint32_t[THREAD_STATES]){
		[THREAD_ASLEEP] = 85 + 5, [THREAD_CPU_WAIT] = 5 + 5, [THREAD_ON_CPU] = 25 + 5,
		[THREAD_STOPPED] = 850 });
}

/* The waking before a short run on a CPU does not end the sleep after that run. */
static void test_short_run_without_waking(void **state)
{
	(void)state;
	expect_us(WAITS COMES READS ENDS "500us 0 run app\n510us 0 run idle\n",
		  (const uint32_t[THREAD_STATES]){
		[THREAD_ASLEEP] = 85 + 490, [THREAD_CPU_WAIT] = 5, [THREAD_ON_CPU] = 25 + 10,
		[THREAD_UNKNOWN] = 365 });
}

/* Two wakings in a row: the run between them is missing. */
static void test_run_missing_between_wakings(void **state)
{
	(void)state;
	expect_us(WAITS COMES READS ENDS "300us 1 wake app 0\n400us 1 wake app 0\n",
		  (const uint32_t[THREAD_STATES]){
			[THREAD_ASLEEP] = 85, [THREAD_CPU_WAIT] = 5, [THREAD_ON_CPU] = 25,
			[THREAD_UNKNOWN] = 865 });
	expect_us(WAITS COMES READS ENDS "300us 1 wake app 0\n400us 1 wake app 0\n"
		  "410us 0 run app\n420us 0 run idle\n", (const uint32_t[THREAD_STATES]){
			[THREAD_ASLEEP] = 85 + 580, [THREAD_CPU_WAIT] = 5,
			[THREAD_ON_CPU] = 25 + 10, [THREAD_UNKNOWN] = 275 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_short_run_without_waking),
		cmocka_unit_test(test_run_missing_between_wakings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
