/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes one CPU for a bounded time, under a name that a test or the demo can look for: all of it,
 * or bursts of BURST_US every EVERY_US. Of bursts it prints when they began and ended, a line for
 * each stretch in which it really had the CPU, at SIGTERM or when its time is over.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000ull
#define STRETCHES_MAX (1u << 16)
#define GAP_NS 20000u	/* the loop takes less, also with an interrupt */

static volatile sig_atomic_t stopped;
static struct { uint64_t begin, end; } stretches[STRETCHES_MAX];
static uint32_t n;

static void on_term(int number)
{
	stopped = number;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static bool note(uint64_t begin, uint64_t end)
{
	stretches[n].begin = begin;
	stretches[n].end = end;
	return ++n < STRETCHES_MAX;
}

static bool burst(uint64_t ns)
{
	uint64_t begin = now_ns(), last = begin, until = begin + ns, now;

	while ((now = now_ns()) < until && !stopped) {
		if (now - last > GAP_NS) {
			if (!note(begin, last))
				return false;
			begin = now;
		}
		last = now;
	}
	return note(begin, last);
}

static void bursts(uint64_t end, uint64_t burst_ns, uint64_t every_ns)
{
	for (uint64_t at = now_ns(); at < end && !stopped; at += every_ns) {
		struct timespec ts = { .tv_sec = at / NSEC_PER_SEC, .tv_nsec = at % NSEC_PER_SEC };

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
			break;
		if (!burst(burst_ns))
			break;
	}
	for (uint32_t i = 0; i < n; i++)
		printf("%llu %llu\n", (unsigned long long)stretches[i].begin,
		       (unsigned long long)stretches[i].end);
}

int main(int argc, char **argv)
{
	uint64_t end;
	cpu_set_t set;

	if (argc != 4 && argc != 6) {
		fprintf(stderr, "usage: hog CPU SECONDS NAME [BURST_US EVERY_US]\n");
		return 1;
	}
	end = now_ns() + atoi(argv[2]) * NSEC_PER_SEC;
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("hog: sched_setaffinity");
		return 1;
	}
	prctl(PR_SET_NAME, argv[3]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
	if (argc == 6) {
		signal(SIGTERM, on_term);
		bursts(end, atoi(argv[4]) * 1000ull, atoi(argv[5]) * 1000ull);
		return 0;
	}
	while (now_ns() < end)
		;
	return 0;
}
