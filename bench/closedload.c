// SPDX-License-Identifier: Apache-2.0
/*
 * closedload memcached|http HOST PORT CONNECTIONS SECONDS: a closed loop of gets, one outstanding
 * on each connection. Prints as one line: requests, CPU time of this process per request in ns,
 * the median and 99th percentile of the latency in ns, and requests per second.
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

static const char *request = "get k\r\n";
static uint64_t sent_ns[CONNECTIONS_MAX];
static int sockets[CONNECTIONS_MAX];
static uint32_t samples[SAMPLES_MAX];
static uint32_t n_samples;

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

static void ask(unsigned int i)
{
	sent_ns[i] = now(CLOCK_MONOTONIC);
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
			ask(events[i].data.u32);
		}
	}
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t cpu, began;
	unsigned int n;

	if (argc != 6) {
		fprintf(stderr, "usage: closedload memcached|http HOST PORT CONNECTIONS SECONDS\n");
		return 1;
	}
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
	for (unsigned int i = 0; i < n; i++)
		ask(i);
	began = now(CLOCK_MONOTONIC);
	loop(epoll, began + (uint64_t)(atof(argv[5]) * 1e9));
	began = now(CLOCK_MONOTONIC) - began;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (!n_samples)
		return 2;
	qsort(samples, n_samples, sizeof(samples[0]), by_value);
	printf("%u %.1f %u %u %.1f\n", n_samples, (double)cpu / n_samples, samples[n_samples / 2],
	       samples[(uint64_t)n_samples * 99 / 100], n_samples / (began / 1e9));
	return 0;
}
