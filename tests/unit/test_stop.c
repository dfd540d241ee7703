/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

/*
 * The first signal ends the run, whatever its kind; the second one insists; the third changes
 * nothing.
 */
static void test_second_signal_insists(void **state)
{
	struct pollfd fd = { .events = POLLIN };
	struct stop stop;

	(void)state;
	assert_int_equal(stop_init(&stop), 0);
	fd.fd = stop.fd;
	assert_false(stop_insisted(&stop));
	raise(SIGINT);
	assert_false(stop_insisted(&stop));
	assert_true(stop_requested(&stop));
	assert_false(stop_insisted(&stop));
	for (int i = 0; i < 2; i++) {
		raise(SIGINT);
		assert_int_equal(poll(&fd, 1, 1000), 1);
		assert_true(stop_insisted(&stop));
		assert_true(stop_insisted(&stop));
		assert_int_equal(poll(&fd, 1, 0), 0);
	}
	stop_release(&stop);
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

/* ---- a reader that doesn't read ---- */

static char bytes[1 << 18]; /* more than a pipe holds */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int write_all(int fd)
{
	size_t at = 0;

	while (at < sizeof(bytes)) {
		ssize_t n = stop_write(fd, bytes + at, sizeof(bytes) - at);

		if (n < 0)
			return (int)n;
		at += (size_t)n;
	}
	return 0;
}

static void test_second_signal_ends_a_write(void **state)
{
	struct stop stop;
	uint64_t begun;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(stop_init(&stop), 0);
	raise(SIGINT);
	assert_true(stop_requested(&stop));
	raise(SIGTERM);
	begun = now_ms();
	assert_int_equal(write_all(fds[1]), -ECANCELED);
	assert_true(now_ms() - begun < 5000);
	assert_true(stop_insisted(&stop));
	close(fds[0]);
	assert_int_equal(stop_write(fds[1], bytes, 1), -EPIPE);
	stop_release(&stop);
	close(fds[1]);
}

static void *read_late(void *fd)
{
	static char sink[sizeof(bytes)];
	size_t sum = 0;
	ssize_t n;

	usleep(100000);
	while (sum < sizeof(bytes) && (n = read(*(int *)fd, sink, sizeof(sink))) > 0)
		sum += (size_t)n;
	return NULL;
}

/* One signal is an end in order: a reader that is only slow gets all. */
static void test_first_signal_leaves_a_write(void **state)
{
	struct stop stop;
	pthread_t thread;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(stop_init(&stop), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_late, &fds[0]), 0);
	raise(SIGINT);
	assert_int_equal(write_all(fds[1]), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(stop_requested(&stop));
	stop_release(&stop);
	close(fds[0]);
	close(fds[1]);
}

static void test_fifo_without_a_reader(void **state)
{
	char folder[] = "/tmp/hostlat-stop.XXXXXX", path[64];
	struct stop stop;
	int fd, reader;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(stop_init(&stop), 0);
	raise(SIGINT);
	assert_int_equal(stop_open(path, O_WRONLY | O_CLOEXEC, 0), -EINTR);
	raise(SIGINT);
	assert_int_equal(stop_open(path, O_WRONLY | O_CLOEXEC, 0), -EINTR);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	fd = stop_open(path, O_WRONLY | O_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	close(fd);
	close(reader);
	stop_release(&stop);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signal_wakes_poll),
		cmocka_unit_test(test_second_signal_ends_a_write),
		cmocka_unit_test(test_first_signal_leaves_a_write),
		cmocka_unit_test(test_fifo_without_a_reader),
		cmocka_unit_test(test_second_signal_insists),
		cmocka_unit_test(test_release_drops_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
