/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closedload memcached|http HOST PORT CONNECTIONS SECONDS [RATE]: a closed loop of gets, one
 * outstanding on each connection; with RATE, so many a second, each one's latency from when it was
 * due. Prints as one line: requests, CPU time of this process per request in ns, the median and
 * 99th percentile of the latency in ns, requests per second, and the 99.9th percentile.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
#define SAMPLES_MAX (1u << 22)
#define WAIT_NS 100000000u

static const char *request = "get k\r\n";
static uint64_t sent_ns[CONNECTIONS_MAX];
static int sockets[CONNECTIONS_MAX];
static uint32_t samples[SAMPLES_MAX];
static uint32_t n_samples;
static unsigned int idle[CONNECTIONS_MAX], n_idle; /* with RATE: connections */

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int connect_to(const char *host, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (inet_pton(AF_INET, host, &a.sin_addr) != 1) {
		errno = EINVAL;
		die(host);
	}
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void ask(unsigned int i, uint64_t due)
{
	sent_ns[i] = due;
	if (send(sockets[i], request, strlen(request), 0) != (ssize_t)strlen(request))
		die("send");
}

/* Replies are shorter than a segment: one read has all of it. */
static void answer(unsigned int i)
{
	char buf[4096];

	if (recv(sockets[i], buf, sizeof(buf), 0) <= 0)
		die("recv");
	if (n_samples < SAMPLES_MAX)
		samples[n_samples++] = now(CLOCK_MONOTONIC) - sent_ns[i];
}

static int by_value(const void *a, const void *b)
{
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

static void loop(int epoll, uint64_t end)
{
	struct epoll_event events[CONNECTIONS_MAX];

	while (now(CLOCK_MONOTONIC) < end) {
		int n = epoll_wait(epoll, events, CONNECTIONS_MAX, 1000);

		for (int i = 0; i < n; i++) {
			answer(events[i].data.u32);
			ask(events[i].data.u32, now(CLOCK_MONOTONIC));
		}
	}
}

static void paced(int epoll, uint64_t began, uint64_t end, double rate)
{
	struct epoll_event events[CONNECTIONS_MAX];
	uint64_t asked = 0, due = began;

	for (;;) {
		const uint64_t time = now(CLOCK_MONOTONIC);
		struct timespec left = { .tv_nsec = 0 };
		int n;

		for (; n_idle && due <= time; due = began + (uint64_t)(1e9 / rate * ++asked))
			ask(idle[--n_idle], due);
		if (time >= end)
			break;
		if (!n_idle)
			left.tv_nsec = WAIT_NS;
		else if (due > time)
			left.tv_nsec = due - time < WAIT_NS ? (long)(due - time) : WAIT_NS;
		n = epoll_pwait2(epoll, events, CONNECTIONS_MAX, &left, NULL);
		for (int i = 0; i < n; i++) {
			answer(events[i].data.u32);
			idle[n_idle++] = events[i].data.u32;
		}
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: closedload memcached|http HOST PORT CONNECTIONS SECONDS [RATE]\n");
	return 1;
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t cpu, began, end;
	unsigned int n;

	if (argc < 6 || argc > 7 || (argc == 7 && atof(argv[6]) < 10))
		return usage();
	if (!strcmp(argv[1], "http"))
		request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	n = atoi(argv[4]);
	if (n < 1 || n > CONNECTIONS_MAX)
		return 1;
	for (unsigned int i = 0; i < n; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u32 = i };

		sockets[i] = connect_to(argv[2], atoi(argv[3]));
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[i], &e))
			die("epoll_ctl");
	}
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	began = now(CLOCK_MONOTONIC);
	end = began + (uint64_t)(atof(argv[5]) * 1e9);
	for (unsigned int i = 0; i < n; i++) {
		idle[i] = i;
		if (argc == 6)
			ask(i, now(CLOCK_MONOTONIC));
	}
	n_idle = n;
	if (argc == 7)
		paced(epoll, began, end, atof(argv[6]));
	else
		loop(epoll, end);
	began = now(CLOCK_MONOTONIC) - began;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (!n_samples)
		return 2;
	qsort(samples, n_samples, sizeof(samples[0]), by_value);
	printf("%u %.1f %u %u %.1f %u\n", n_samples, (double)cpu / n_samples,
	       samples[n_samples / 2], samples[(uint64_t)n_samples * 99 / 100],
	       n_samples / (began / 1e9), samples[(uint64_t)n_samples * 999 / 1000]);
	return 0;
}
