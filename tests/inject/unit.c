/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a cmocka program, together with inject.c: instead of running the tests once, it
 * runs each in child processes, in each of which one allocation fails.
 *
 * Allocations that have the same callers count as one: the first of them fails. An assertion that
 * fails then is no fault. It ends the child where it stands, so that all that the test's functions
 * hold is still found in their frames, and LeakSanitizer reports what nobody holds.
 *
 * HOSTLAT_INJECT_UNIT="TESTS CALLERS SECONDS SEED" chooses how many tests of the program, and how
 * many callers of each, 0 is all; and after which time no more are begun. A test that alone takes
 * longer is left out. Standard error has a line before and after each child, for `run_unit`.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <netdb.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject.h"

#define LIMIT_S 60		/* beyond the program's time; a child that is not over then hangs */
#define FRAMES 16
#define KNOWN (1u << 16)	/* places in the table of callers; at most half of them are taken */

/* All processes share it. */
static struct shared {
	uint64_t known[KNOWN]; /* hashes of callers; 0 is free */
	unsigned int n_known;
	unsigned int n; /* callers that the test in hand has and no test before it had */
	unsigned long calls[KNOWN / 2]; /* which allocation is the first that they make */
} *shared;

static struct {
	unsigned int tests, callers, seconds, seed;
	time_t until;
} choice;

static bool looking;

static uint64_t callers(void)
{
	void *frames[FRAMES];
	const int n = backtrace(frames, FRAMES);
	uint64_t hash = 14695981039346656037u;

	for (int i = 0; i < n; i++)
		hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211u;
	return hash ? hash : 1;
}

/* True if these callers are new; they are known from now on. */
static bool add(uint64_t hash)
{
	unsigned int at = hash % KNOWN;

	for (; shared->known[at]; at = (at + 1) % KNOWN)
		if (shared->known[at] == hash)
			return false;
	if (shared->n_known == KNOWN / 2)
		return false;
	shared->known[at] = hash;
	shared->n_known++;
	return true;
}

void inject_seen(unsigned long n)
{
	if (looking && add(callers()))
		shared->calls[shared->n++] = n;
}

/* A child that ends early leaves its folder behind: run_unit removes it. */
char *mkdtemp(char *path)
{
	static char *(*next)(char *path);
	char *made;

	if (!next)
		next = (char *(*)(char *))dlsym(RTLD_NEXT, "mkdtemp");
	made = next(path);
	if (made)
		fprintf(stderr, "\ninject: folder %s\n", made);
	return made;
}

/* Returns by how much time limits grow: tools/check sets it where others have the CPUs. */
static unsigned int patience(void)
{
	const char *factor = getenv("HOSTLAT_PATIENCE");

	return factor && *factor > '1' && *factor <= '9' ? (unsigned int)(*factor - '0') : 1;
}

/* Runs the test. Allocation n fails; with 0 none does, and the callers are noted. */
static void child(const struct CMUnitTest *test, void *state, unsigned long n)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm((n ? choice.seconds + LIMIT_S : choice.seconds) * patience());
	looking = !n;
	inject_allocation(n);
	test->test_func(&state);
	inject_allocation(0);
	if (!n)
		_exit(EXIT_SUCCESS);
	exit(EXIT_SUCCESS);
}

/* Wherever the child ended, the fixture is taken down here. */
static void one(const struct CMUnitTest *test, unsigned long n)
{
	void *state = test->initial_state;
	int status = 0;
	pid_t pid;

	if (test->setup_func && test->setup_func(&state))
		return;
	fprintf(stderr, "inject: %s %lu\n", test->name, n);
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(test, state, n);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	kill(-pid, SIGKILL); /* processes that it has started */
	fprintf(stderr, "\ninject: ended %d\n", status);
	if (test->teardown_func)
		test->teardown_func(&state);
}

/* Calls `visit` for `most` of n numbers in random order; for all with 0. */
static void draw(unsigned int n, unsigned int most, void (*visit)(unsigned int, const void *),
		 const void *ctx)
{
	unsigned int order[n + 1];

	for (unsigned int i = 0; i < n; i++) {
		const unsigned int j = (unsigned int)rand_r(&choice.seed) % (i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (unsigned int i = 0; i < n && (!most || i < most) && time(NULL) < choice.until; i++)
		visit(order[i], ctx);
}

static void fail_call(unsigned int i, const void *test)
{
	one(test, shared->calls[i]);
}

static void fail_test(unsigned int i, const void *tests)
{
	const struct CMUnitTest *test = (const struct CMUnitTest *)tests + i;

	shared->n = 0;
	one(test, 0);
	draw(shared->n, choice.callers, fail_call, test);
}

/*
 * The first backtrace() loads a library. The first getaddrinfo() loads the table of name services:
 * glibc 2.36 crashes or waits forever if it has no memory for that.
 */
static void load_libraries(void)
{
	struct addrinfo *found;

	callers();
	if (!getaddrinfo("localhost", "domain", NULL, &found))
		freeaddrinfo(found);
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *const tests, const size_t n,
			    CMFixtureFunction setup, CMFixtureFunction teardown)
{
	const char *words = getenv("HOSTLAT_INJECT_UNIT");
	void *state = NULL;

	(void)name;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || !words ||
	    sscanf(words, "%u %u %u %u", &choice.tests, &choice.callers, &choice.seconds,
		   &choice.seed) != 4)
		abort();
	choice.until = time(NULL) + choice.seconds;
	load_libraries();
	if (setup && setup(&state))
		return EXIT_FAILURE;
	draw((unsigned int)n, choice.tests, fail_test, tests);
	if (teardown)
		teardown(&state);
	return EXIT_SUCCESS;
}
