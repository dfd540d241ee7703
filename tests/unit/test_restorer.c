/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/restorer.h"

#define LIMIT_MS 60000
#define POLL_US 1000

/* How a process ends that has a restorer. */
enum end { CALLED_OFF, KILLED, CRASHED, EXITED };

/* In memory that processes share. */
static struct shared {
	int restored; /* so often */
	int hold;     /* restorers wait until it is 0 */
} *shared;

static void restore(void *ctx)
{
	for (int i = 0; i < LIMIT_MS && __atomic_load_n(&shared->hold, __ATOMIC_SEQ_CST); i++)
		usleep(POLL_US);
	__atomic_add_fetch(&shared->restored, *(int *)ctx, __ATOMIC_SEQ_CST);
}

static void __attribute__((noreturn)) begin_and_end(enum end how)
{
	struct restorer r;
	int one = 1;

	if (restorer_start(&r, 0, restore, &one))
		_exit(2);
	if (how == CALLED_OFF)
		restorer_call_off(&r);
	if (how == KILLED)
		raise(SIGKILL);
	if (how == CRASHED) {
		signal(SIGABRT, SIG_DFL);
		abort();
	}
	_exit(0);
}

/* How often it acted, once it has, or at the end of a process that has waited for it. */
static int restored(bool awaited)
{
	for (int i = 0; i < LIMIT_MS && awaited; i++) {
		if (__atomic_load_n(&shared->restored, __ATOMIC_SEQ_CST))
			break;
		usleep(POLL_US);
	}
	return __atomic_load_n(&shared->restored, __ATOMIC_SEQ_CST);
}

static int restored_after(enum end how)
{
	pid_t pid;

	shared->restored = 0;
	pid = fork();
	if (!pid)
		begin_and_end(how);
	waitpid(pid, NULL, 0);
	return restored(how != CALLED_OFF);
}

static void test_restores_if_nobody_calls_it_off(void **state)
{
	(void)state;
	assert_int_equal(restored_after(KILLED), 1);
	assert_int_equal(restored_after(CRASHED), 1);
	assert_int_equal(restored_after(EXITED), 1);
	assert_int_equal(restored_after(CALLED_OFF), 0);
}

static void test_keeps_no_pipe_open(void **state)
{
	struct pollfd reading = { .events = POLLIN };
	int ends[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	shared->restored = 0;
	shared->hold = 1;
	pid = fork();
	if (!pid)
		begin_and_end(KILLED);
	close(ends[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	reading.fd = ends[0];
	assert_int_equal(poll(&reading, 1, LIMIT_MS), 1);
	assert_true(reading.revents & POLLHUP);
	assert_int_equal(shared->restored, 0);
	__atomic_store_n(&shared->hold, 0, __ATOMIC_SEQ_CST);
	assert_int_equal(restored(true), 1);
	close(ends[0]);
}

static void test_none(void **state)
{
	struct restorer none = { 0 };

	(void)state;
	restorer_call_off(&none);
}

static int set_up(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	return shared == MAP_FAILED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restores_if_nobody_calls_it_off),
		cmocka_unit_test(test_keeps_no_pipe_open),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
