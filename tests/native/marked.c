/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with marks (USDT), that writes down its reads and marks, with the time before and after
 * each: what record --boundary mark claims can be held against that.
 *
 *	marked --address A [--netns NAME] LOG
 *
 * A thread for each connection. Each byte that is read is an order, and its own answer:
 *
 *	m	begin, 100 us of work, end
 *	b, e	begin only, end only
 *	n	nothing
 *	s	begin, 20 ms of sleep, end
 *	u	a datagram is sent to itself and read
 *	i	begin, a datagram is read, end
 *	h	begin here; the worker's thread, which reads nothing, does the work and ends
 *	a	begin of two, end of the second, end of the first
 *	l	MANY times: a datagram is sent to itself and read, begin, end
 *	t	the same at a real-time priority, each time after a sleep of some time
 *
 * Each message's marks have an id of its own as their argument. The first line on stdout is the
 * port. It ends with stdin, and then writes LOG: read|begin|end PORT TID BEFORE AFTER ID BYTES
 * NULL. NULL is what a system call that does nothing took behind it, from one look at the clock to
 * the next.
 */
#include <arpa/inet.h>
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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINES_MAX (1u << 18)
#define WORK_NS 100000
#define SLEEP_NS 20000000
#define BUFFER 256
#define MANY 500
#define NAP_NS 200000

/* A note as systemtap's <sys/sdt.h> makes them: where the mark is, and where its argument. */
#define MARK(name, id)                                                                             \
	__asm__ volatile("990: nop\n"                                                              \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"                            \
			 ".balign 4\n"                                                             \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                        \
			 "991: .asciz \"stapsdt\"\n"                                               \
			 "992: .balign 4\n"                                                        \
			 "993: .8byte 990b, 0, 0\n"                                                \
			 ".asciz \"marked\"\n"                                                     \
			 ".asciz \"" name "\"\n"                                                   \
			 ".asciz \"8@%0\"\n"                                                       \
			 "994: .balign 4\n"                                                        \
			 ".popsection\n" : : "r"((uint64_t)(id)))

struct line {
	const char *kind;
	uint16_t port;
	pid_t tid;
	uint64_t before, after, id, null;
	uint32_t bytes;
};

struct conn {
	int fd, self; /* self: a datagram socket that is its own peer */
	uint16_t port;
	uint64_t in;
};

static struct line lines[LINES_MAX];
static _Atomic uint32_t n_lines;
static _Atomic uint64_t last_id;
static const char *address = "127.0.0.1";
static int hand_over[2];

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

static void note(struct line line)
{
	uint32_t i = atomic_fetch_add(&n_lines, 1);

	line.after = now();
	if (i >= LINES_MAX)
		abort();
	syscall(SYS_getppid);
	line.null = now() - line.after;
	line.tid = gettid();
	lines[i] = line;
}

static void begin(uint16_t port, uint64_t id)
{
	struct line line = { .kind = "begin", .port = port, .id = id, .before = now() };

	MARK("begin", id);
	note(line);
}

static void end(uint16_t port, uint64_t id)
{
	struct line line = { .kind = "end", .port = port, .id = id, .before = now() };

	MARK("end", id);
	note(line);
}

static void work(void)
{
	const uint64_t until = now() + WORK_NS;

	while (now() < until)
		;
}

static void datagram(const struct conn *c)
{
	char byte = 0;

	if (send(c->self, &byte, 1, 0) != 1 || recv(c->self, &byte, 1, 0) != 1)
		fail("datagram");
}

struct handed {
	uint64_t id;
	struct conn *conn;
};

static void *worker(void *arg)
{
	struct handed h;

	while (read(hand_over[0], &h, sizeof(h)) == sizeof(h)) {
		work();
		end(h.conn->port, h.id);
		if (send(h.conn->fd, "h", 1, MSG_NOSIGNAL) != 1)
			fail("send");
	}
	return arg;
}

static void several(const struct conn *c, uint64_t id)
{
	const uint64_t second = atomic_fetch_add(&last_id, 1) + 1;

	begin(c->port, id);
	work();
	begin(c->port, second);
	work();
	end(c->port, second);
	end(c->port, id);
}

static void nap(unsigned int *seed)
{
	nanosleep(&(struct timespec){ .tv_nsec = rand_r(seed) % NAP_NS }, NULL);
}

static void many(const struct conn *c, bool naps)
{
	const struct sched_param first = { .sched_priority = naps }, usual = { 0 };
	unsigned int seed = c->port;

	if (naps && pthread_setschedparam(pthread_self(), SCHED_FIFO, &first))
		fail("SCHED_FIFO");
	for (int i = 0; i < MANY; i++) {
		const uint64_t id = atomic_fetch_add(&last_id, 1) + 1;

		if (naps)
			nap(&seed);
		datagram(c);
		begin(c->port, id);
		end(c->port, id);
	}
	pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual);
}

static void obey(struct conn *c, char order)
{
	const uint64_t id = atomic_fetch_add(&last_id, 1) + 1;
	const struct handed h = { id, c };

	if (order == 'a')
		several(c, id);
	if (order == 'l' || order == 't')
		many(c, order == 't');
	if (strchr("mbihs", order))
		begin(c->port, id);
	if (order == 'u' || order == 'i')
		datagram(c);
	if (order == 'm' || order == 'i')
		work();
	if (order == 's')
		nanosleep(&(struct timespec){ .tv_nsec = SLEEP_NS }, NULL);
	if (strchr("meis", order))
		end(c->port, id);
	if (order == 'h' && write(hand_over[1], &h, sizeof(h)) != sizeof(h))
		fail("write");
	if (order != 'h' && send(c->fd, &order, 1, MSG_NOSIGNAL) != 1)
		fail("send");
}

static void *serve(void *arg)
{
	struct conn *c = arg;
	char orders[BUFFER];

	for (;;) {
		struct line line = { .kind = "read", .port = c->port, .id = c->in,
				     .before = now() };
		ssize_t n = recv(c->fd, orders, sizeof(orders), 0);

		if (n <= 0)
			break;
		line.bytes = (uint32_t)n;
		c->in += (uint64_t)n;
		note(line);
		for (ssize_t i = 0; i < n; i++)
			obey(c, orders[i]);
	}
	return NULL;
}

static int bound(int type, struct sockaddr_storage *a)
{
	struct sockaddr_in *v4 = (void *)a;
	struct sockaddr_in6 *v6 = (void *)a;
	socklen_t size = sizeof(*a);
	int fd;

	memset(a, 0, sizeof(*a));
	a->ss_family = strchr(address, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(a->ss_family, address, a->ss_family == AF_INET ? (void *)&v4->sin_addr :
		      (void *)&v6->sin6_addr) != 1)
		fail(address);
	fd = socket(a->ss_family, type | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (void *)a, sizeof(*a)) || getsockname(fd, (void *)a, &size))
		fail("bind");
	return fd;
}

static void accept_all(int listener)
{
	for (;;) {
		struct sockaddr_storage peer;
		socklen_t size = sizeof(peer);
		struct conn *c = calloc(1, sizeof(*c));
		pthread_t thread;
		int on = 1;

		if (!c)
			fail("calloc");
		c->fd = accept(listener, (struct sockaddr *)&peer, &size);
		if (c->fd < 0)
			fail("accept");
		c->port = ntohs(((struct sockaddr_in *)&peer)->sin_port);
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		c->self = bound(SOCK_DGRAM, &peer);
		if (connect(c->self, (void *)&peer, sizeof(peer)))
			fail("connect");
		if (pthread_create(&thread, NULL, serve, c))
			fail("pthread_create");
	}
}

static void *listens(void *arg)
{
	accept_all(*(int *)arg);
	return NULL;
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

static void write_log(const char *path)
{
	FILE *f = fopen(path, "w");
	uint32_t n = atomic_load(&n_lines);

	if (!f)
		fail(path);
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%s %u %d %llu %llu %llu %u %llu\n", lines[i].kind, lines[i].port,
			lines[i].tid, (unsigned long long)lines[i].before,
			(unsigned long long)lines[i].after, (unsigned long long)lines[i].id,
			lines[i].bytes, (unsigned long long)lines[i].null);
	if (fclose(f))
		fail(path);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "address", 1, NULL, 'a' }, { "netns", 1, NULL, 'n' }, { NULL, 0, NULL, 0 },
	};
	struct sockaddr_storage a;
	pthread_t thread;
	int listener, c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'a')
			address = optarg;
		else if (c == 'n')
			enter(optarg);
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	listener = bound(SOCK_STREAM, &a);
	if (listen(listener, 128) || pipe(hand_over))
		fail("listen");
	printf("%u\n", ntohs(((struct sockaddr_in *)&a)->sin_port));
	fflush(stdout);
	if (pthread_create(&thread, NULL, listens, &listener) ||
	    pthread_create(&thread, NULL, worker, NULL))
		fail("pthread_create");
	while (read(0, &c, 1) > 0)
		;
	write_log(argv[optind]);
	return 0;
}
