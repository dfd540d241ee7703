/* SPDX-License-Identifier: Apache-2.0 */
/* A killed process leaves things in tracefs: they go. Those of a living one stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/tracefs.h"

static char root[] = "/tmp/hostlat-tracefs-XXXXXX";

static const char *in(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void put(const char *name, const char *text)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void assert_text(const char *name, const char *expected)
{
	char text[64] = "";
	int fd = open(in(name), O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	/* a file of tracefs would have only what was written last */
	assert_memory_equal(text, expected, strlen(expected));
}

static bool is_there(const char *name)
{
	return !access(in(name), F_OK);
}

static int make_root(void **state)
{
	(void)state;
	memcpy(root + strlen(root) - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(root));
	assert_int_equal(mkdir(in("instances"), 0700), 0);
	put("max_graph_depth", "7");
	put("current_tracer", "fun");
	put("set_ftrace_filter", "x");
	put("trace_clock", "mono ");
	put("tracing_on", "0");
	return 0;
}

static int remove_root(void **state)
{
	static const char *const names[] = {
		"max_graph_depth", "current_tracer", "set_ftrace_filter", "trace_clock",
		"tracing_on",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in(names[i]));
	return rmdir(in("instances")) || rmdir(root);
}

/* A process that has an instance, until it is killed. */
static pid_t owner(const char *name)
{
	int ready[2];
	pid_t child;
	char c;

	assert_int_equal(mkdir(in(name), 0700), 0);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		int fd = open(in(name), O_RDONLY | O_DIRECTORY);

		if (fd >= 0 && !flock(fd, LOCK_EX) && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void end(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Process 1 lives, but it has not made the instance: a PID says nothing. */
static void test_dead(void **state)
{
	(void)state;
	assert_int_equal(mkdir(in("instances/hostlat-1"), 0700), 0);
	assert_int_equal(mkdir(in("instances/other"), 0700), 0);
	assert_int_equal(mkdir(in("instances/hostlat-x"), 0700), 0);
	tracefs_clean(root);
	assert_false(is_there("instances/hostlat-1"));
	assert_text("max_graph_depth", "0");
	assert_text("current_tracer", "fun");
	assert_int_equal(rmdir(in("instances/other")), 0);
	assert_int_equal(rmdir(in("instances/hostlat-x")), 0);
}

/* Its PID is of no process here, as one of another PID namespace may be. */
static void test_living(void **state)
{
	pid_t child = owner("instances/hostlat-2147483647");

	(void)state;
	assert_int_equal(mkdir(in("instances/hostlat-1"), 0700), 0);
	tracefs_clean(root);
	assert_true(is_there("instances/hostlat-2147483647"));
	assert_false(is_there("instances/hostlat-1"));
	assert_text("max_graph_depth", "7");
	end(child);
	tracefs_clean(root);
	assert_false(is_there("instances/hostlat-2147483647"));
	assert_text("max_graph_depth", "0");
}

static void test_shared(void **state)
{
	pid_t child = owner("instances/hostlat-5-shared");

	(void)state;
	tracefs_clean(root);
	assert_text("current_tracer", "fun");
	end(child);
	tracefs_clean(root);
	assert_text("current_tracer", "nop");
	assert_text("trace_clock", "local");
	assert_text("tracing_on", "1");
}

/* Nobody else may be in the middle of making one; who waits in vain changes nothing. */
static void test_in_the_making(void **state)
{
	pid_t child;

	(void)state;
	assert_int_equal(rmdir(in("instances")), 0);
	child = owner("instances");
	assert_int_equal(mkdir(in("instances/hostlat-3"), 0700), 0);
	tracefs_clean(root);
	assert_true(is_there("instances/hostlat-3"));
	end(child);
	tracefs_clean(root);
	assert_false(is_there("instances/hostlat-3"));
}

static void test_none(void **state)
{
	(void)state;
	tracefs_clean("/no/such/folder");
	assert_int_equal(rmdir(in("instances")), 0);
	tracefs_clean(root);
	assert_text("max_graph_depth", "7");
	assert_int_equal(mkdir(in("instances"), 0700), 0);
}

#define in_root(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_root(test_dead),	     in_root(test_living), in_root(test_shared),
		in_root(test_in_the_making), in_root(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
