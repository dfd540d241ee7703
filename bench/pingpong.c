/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingpong SECONDS BYTES CONTROL CPU CPU: two threads, each on its CPU, that hand a message of so
 * many bytes to and fro over a TCP connection of this network namespace, with TCP_NODELAY and that
 * congestion control. Prints as one line: round trips, their median and 99th percentile in ns, and
 * the CPU time of both threads per round trip in ns.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BYTES_MAX 65536u
#define SAMPLES_MAX (1u << 22)
#define WARM_UP 1000u

static uint32_t samples[SAMPLES_MAX];
static size_t bytes;
static int cpus[2];

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static int configured(int fd, const char *control)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, (socklen_t)strlen(control)))
		die(control);
	return fd;
}

/* Both ends of a connection. */
static void connect_both(int *ends, const char *control)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || ends[0] < 0 || bind(listener, (struct sockaddr *)&a, len) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&a, &len) ||
	    connect(ends[0], (struct sockaddr *)&a, len))
		die("connect");
	ends[1] = accept(listener, NULL, NULL);
	if (ends[1] < 0)
		die("accept");
	close(listener);
	configured(ends[0], control);
	configured(ends[1], control);
}

/* False: the other end has closed. */
static int take(int fd, char *buffer)
{
	for (size_t got = 0; got < bytes;) {
		ssize_t n = recv(fd, buffer, bytes - got, 0);

		if (n < 0)
			die("recv");
		if (!n)
			return 0;
		got += (size_t)n;
	}
	return 1;
}

static void give(int fd, const char *buffer)
{
	if (send(fd, buffer, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		die("send");
}

static void *answer(void *arg)
{
	static char buffer[BYTES_MAX];
	int fd = *(int *)arg;

	pin(cpus[1]);
	while (take(fd, buffer))
		give(fd, buffer);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t play(int fd, uint64_t length_ns, uint64_t *cpu_ns)
{
	static char buffer[BYTES_MAX];
	uint64_t end = 0, before, after = 0;
	uint32_t n = 0;

	for (uint32_t turn = 0; !n || (after < end && n < SAMPLES_MAX); turn++) {
		if (turn == WARM_UP) {
			*cpu_ns = now(CLOCK_PROCESS_CPUTIME_ID);
			end = now(CLOCK_MONOTONIC) + length_ns;
		}
		before = now(CLOCK_MONOTONIC);
		give(fd, buffer);
		take(fd, buffer);
		after = now(CLOCK_MONOTONIC);
		if (turn >= WARM_UP)
			samples[n++] = (uint32_t)(after - before);
	}
	*cpu_ns = now(CLOCK_PROCESS_CPUTIME_ID) - *cpu_ns;
	return n;
}

int main(int argc, char **argv)
{
	uint64_t cpu_ns = 0;
	pthread_t other;
	int ends[2];
	uint32_t n;

	bytes = argc == 6 ? strtoul(argv[2], NULL, 10) : 0;
	if (!bytes || bytes > BYTES_MAX) {
		fprintf(stderr, "pingpong SECONDS BYTES CONTROL CPU CPU\n");
		return 1;
	}
	cpus[0] = atoi(argv[4]);
	cpus[1] = atoi(argv[5]);
	connect_both(ends, argv[3]);
	pin(cpus[0]);
	errno = pthread_create(&other, NULL, answer, &ends[1]);
	if (errno)
		die("pthread_create");
	n = play(ends[0], (uint64_t)(strtod(argv[1], NULL) * 1e9), &cpu_ns);
	shutdown(ends[0], SHUT_WR);
	pthread_join(other, NULL);
	qsort(samples, n, sizeof(samples[0]), by_value);
	printf("%u %u %u %.1f\n", n, samples[n / 2], samples[(uint64_t)n * 99 / 100],
	       (double)cpu_ns / n);
	return 0;
}
