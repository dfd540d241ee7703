/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that writes down what it does: each receive and send call, with the time before and
 * after it. What a recording claims can be held against that.
 *
 *	logged --address A [--netns NAME] [--threads N] [--read BYTES] [--reply BYTES | --lines |
 *	       --lines-each] [--timeout-ms N] [--cpu N] LOG
 *
 * All threads wait on one epoll instance; a connection is served by one of them at a time. Each
 * read is answered by --reply bytes; with --lines each line (up to \n) of what is read is answered
 * by "END\r\n", all in one call or each in its own. --timeout-ms: it doesn't wait for readiness,
 * but in receive calls that time out. The first line on stdout is the port. It ends with stdin,
 * and then writes LOG, a line for each call in order of time:
 *
 *	read|send REMOTE_PORT TID BEFORE AFTER OFFSET BYTES NULL	(CLOCK_MONOTONIC, ns)
 *
 * NULL is what this machine takes for a system call that does nothing, right behind that one: from
 * one reading of the clock to the next.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS_MAX (1u << 20)
#define CONNS_MAX 4096
#define BUFFER 65536
#define REPLY "END\r\n"

struct call {
	bool is_send;
	uint16_t port;
	pid_t tid;
	uint64_t before, after, offset, null;
	uint32_t bytes;
};

struct conn {
	uint16_t port;
	uint64_t in, out; /* bytes so far */
};

enum answer { REPLY_BYTES, REPLY_LINES, REPLY_LINES_EACH };

static struct call calls[CALLS_MAX];
static _Atomic uint32_t n_calls;
static struct conn conns[CONNS_MAX]; /* by descriptor */
static int events, listener;
static enum answer answer;
static uint32_t reply_size, read_size = BUFFER, timeout_ms;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t null_call(uint64_t since)
{
	syscall(SYS_getppid);
	return now() - since;
}

static void note(struct call call, struct conn *c, ssize_t bytes)
{
	uint64_t *at = call.is_send ? &c->out : &c->in;
	uint32_t i = atomic_fetch_add(&n_calls, 1);

	if (i >= CALLS_MAX) {
		fprintf(stderr, "too many calls\n");
		exit(1);
	}
	call.port = c->port;
	call.tid = gettid();
	call.offset = *at;
	call.bytes = (uint32_t)bytes;
	*at += (uint64_t)bytes;
	calls[i] = call;
}

static void reply(int fd, const char *data, size_t size)
{
	struct call call = { .is_send = true };

	for (size_t at = 0; at < size;) {
		ssize_t n;

		call.before = now();
		n = send(fd, data + at, size - at, MSG_NOSIGNAL);
		call.after = now();
		if (n <= 0)
			return;
		call.null = null_call(call.after);
		note(call, &conns[fd], n);
		at += (size_t)n;
	}
}

static void answer_to(int fd, const char *data, size_t size)
{
	static const char zeros[BUFFER];
	char replies[BUFFER];
	size_t n = 0;

	if (answer == REPLY_BYTES && reply_size)
		reply(fd, zeros, reply_size);
	for (size_t i = 0; answer != REPLY_BYTES && i < size; i++) {
		if (data[i] != '\n' || n + strlen(REPLY) > sizeof(replies))
			continue;
		memcpy(replies + n, REPLY, strlen(REPLY));
		n += strlen(REPLY);
		if (answer == REPLY_LINES_EACH) {
			reply(fd, replies, n);
			n = 0;
		}
	}
	reply(fd, replies, n);
}

/* False: nothing more will come. */
static bool serve(int fd)
{
	static _Thread_local char data[BUFFER];
	struct call call = { .before = now() };
	ssize_t n = recv(fd, data, read_size, 0);

	call.after = now();
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	call.null = null_call(call.after);
	note(call, &conns[fd], n);
	answer_to(fd, data, (size_t)n);
	return true;
}

static void wait_for(int fd, int op)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = fd };

	if (epoll_ctl(events, op, fd, &e))
		fail("epoll_ctl");
}

static void take_one(void)
{
	struct timeval wait = { .tv_usec = timeout_ms * 1000 };
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);
	int on = 1, fd = accept(listener, (struct sockaddr *)&peer, &size);

	if (fd < 0)
		return;
	if (fd >= CONNS_MAX) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	conns[fd] = (struct conn){
		.port = ntohs(((struct sockaddr_in *)&peer)->sin_port), /* IPv6: the same place */
	};
	if (!timeout_ms) {
		wait_for(fd, EPOLL_CTL_ADD);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	while (serve(fd))
		;
	close(fd);
}

static void *work(void *arg)
{
	struct epoll_event e;

	for (;;) {
		if (epoll_wait(events, &e, 1, -1) != 1)
			continue;
		if (e.data.fd == listener) {
			take_one();
			wait_for(listener, EPOLL_CTL_MOD);
		} else if (serve(e.data.fd)) {
			wait_for(e.data.fd, EPOLL_CTL_MOD);
		} else {
			close(e.data.fd);
		}
	}
	return arg;
}

static void enter(const char *netns)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail(netns);
	close(fd);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
}

static void listen_at(const char *address)
{
	struct sockaddr_storage a = {};
	struct sockaddr_in *v4 = (void *)&a;
	struct sockaddr_in6 *v6 = (void *)&a;
	socklen_t size = sizeof(a);

	a.ss_family = strchr(address, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(a.ss_family, address, a.ss_family == AF_INET ? (void *)&v4->sin_addr :
		      (void *)&v6->sin6_addr) != 1)
		fail(address);
	listener = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (void *)&a, sizeof(a)) || listen(listener, 128) ||
	    getsockname(listener, (void *)&a, &size))
		fail("listen");
	printf("%u\n", ntohs(v4->sin_port));
	fflush(stdout);
}

static void write_log(const char *path)
{
	FILE *f = fopen(path, "w");
	uint32_t n = atomic_load(&n_calls);

	if (!f)
		fail(path);
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%s %u %d %llu %llu %llu %u %llu\n", calls[i].is_send ? "send" : "read",
			calls[i].port, calls[i].tid, (unsigned long long)calls[i].before,
			(unsigned long long)calls[i].after, (unsigned long long)calls[i].offset,
			calls[i].bytes, (unsigned long long)calls[i].null);
	if (fclose(f))
		fail(path);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "address", 1, NULL, 'a' }, { "netns", 1, NULL, 'n' }, { "threads", 1, NULL, 't' },
		{ "read", 1, NULL, 'r' }, { "reply", 1, NULL, 'p' }, { "lines", 0, NULL, 'l' },
		{ "lines-each", 0, NULL, 'e' }, { "timeout-ms", 1, NULL, 'o' },
		{ "cpu", 1, NULL, 'c' }, { NULL, 0, NULL, 0 },
	};
	const char *address = "127.0.0.1", *netns = NULL;
	int threads = 1, cpu = -1, c;
	pthread_t thread;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'a')
			address = optarg;
		else if (c == 'n')
			netns = optarg;
		else if (c == 't')
			threads = atoi(optarg);
		else if (c == 'r')
			read_size = (uint32_t)atoi(optarg);
		else if (c == 'p')
			reply_size = (uint32_t)atoi(optarg);
		else if (c == 'l' || c == 'e')
			answer = c == 'l' ? REPLY_LINES : REPLY_LINES_EACH;
		else if (c == 'o')
			timeout_ms = (uint32_t)atoi(optarg);
		else if (c == 'c')
			cpu = atoi(optarg);
		else
			return 2;
	}
	if (optind + 1 != argc || read_size > BUFFER || reply_size > BUFFER)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (netns)
		enter(netns);
	if (cpu >= 0)
		pin(cpu);
	events = epoll_create1(EPOLL_CLOEXEC);
	listen_at(address);
	wait_for(listener, EPOLL_CTL_ADD);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, work, NULL))
			fail("pthread_create");
	while (read(0, &c, 1) > 0)
		;
	write_log(argv[optind]);
	return 0;
}
