// SPDX-License-Identifier: Apache-2.0
/* Takes one CPU for a bounded time, under a name that a test or the demo can look for. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct timespec start, now;
	cpu_set_t set;
	int seconds;

	if (argc != 4) {
		fprintf(stderr, "usage: hog CPU SECONDS NAME\n");
		return 1;
	}
	seconds = atoi(argv[2]);
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("hog: sched_setaffinity");
		return 1;
	}
	prctl(PR_SET_NAME, argv[3]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < seconds);
	return 0;
}
