/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many TCP connections with themselves, over loopback, and exactly what was done with each.
 *
 *	crowd ADDRESS
 *
 * Both ends are here. It obeys lines on stdin, and answers each with lines and then `done`:
 *
 *	open N                N connections more
 *	talk TIMES BYTES      on each of them in turn: so many bytes there, and back
 *	pace HZ MS BYTES      the same at a rate, so many exchanges a second in all; says how many
 *	churn HZ MS LIFE_MS   connections beside them, so many a second, each of which lives so long
 *	shut                  closes all that are open, at once
 *	list                  a line for each socket that there was: COOKIE OPENED CLOSED SENT
 *	                      RECEIVED SENDS RECEIVES: ns of CLOCK_MONOTONIC, CLOSED 0: it is open;
 *	                      bytes; calls
 *
 * It ends with stdin.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PAIRS_MAX   200000
#define BYTES_MAX   65536
#define SHORT_CALLS 4 /* exchanges of a connection that comes and goes, at the most */

struct end {
	int fd;
	uint64_t cookie, sent, received, sends, receives;
};

struct pair {
	struct end end[2];
	uint64_t opened, closed;
};

static struct pair pairs[PAIRS_MAX];
static size_t kept, n; /* kept: of them, those of `open`, which come first */
static struct sockaddr_in at;
static int server;
static char bytes[BYTES_MAX];

static void die(const char *what)
{
	fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* ---- a connection ---- */

static uint64_t cookie_of(int fd)
{
	socklen_t size = sizeof(uint64_t);
	uint64_t cookie;

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size))
		die("cookie");
	return cookie;
}

static void listen_at(const char *address)
{
	socklen_t size = sizeof(at);

	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	at.sin_family = AF_INET;
	if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
		die(address);
	if (server < 0 || bind(server, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(server, 1024) || getsockname(server, (struct sockaddr *)&at, &size))
		die("listen");
}

static struct pair *open_pair(void)
{
	struct pair *p = &pairs[n];
	int one = 1;

	if (n == PAIRS_MAX) {
		errno = ENOSPC;
		die("too many");
	}
	*p = (struct pair){ .opened = now_ns() };
	p->end[0].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (p->end[0].fd < 0 || connect(p->end[0].fd, (struct sockaddr *)&at, sizeof(at)))
		die("connect");
	p->end[1].fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	if (p->end[1].fd < 0)
		die("accept");
	for (int i = 0; i < 2; i++) {
		p->end[i].cookie = cookie_of(p->end[i].fd);
		setsockopt(p->end[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}
	n++;
	return p;
}

static void close_pair(struct pair *p)
{
	close(p->end[0].fd);
	close(p->end[1].fd);
	p->closed = now_ns();
}

static void give(struct end *from, struct end *to, size_t size)
{
	if (send(from->fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("send");
	from->sends++;
	from->sent += size;
	for (size_t got = 0; got < size;) {
		ssize_t m = recv(to->fd, bytes, size - got, 0);

		if (m <= 0)
			die("recv");
		got += (size_t)m;
		to->receives++;
		to->received += (size_t)m;
	}
}

static void exchange(struct pair *p, size_t size)
{
	give(&p->end[0], &p->end[1], size);
	give(&p->end[1], &p->end[0], size);
}

/* ---- commands on stdin ---- */

static void open_more(const uint64_t *word)
{
	for (uint64_t i = 0; i < word[0]; i++)
		open_pair();
	kept += word[0];
}

static void talk(const uint64_t *word)
{
	for (uint64_t i = 0; i < word[0]; i++)
		for (size_t k = 0; k < kept; k++)
			exchange(&pairs[k], word[1]);
}

/* It doesn't catch up with what it was late for. */
static void pace(const uint64_t *word)
{
	const uint64_t gap = 1000000000 / word[0], end = now_ns() + word[1] * 1000000;
	uint64_t next = now_ns(), now = next, done = 0;

	for (; now < end; now = now_ns()) {
		if (now < next) {
			sleep_until(next);
			continue;
		}
		/* In groups, so that the timer's own slack doesn't matter. */
		for (uint64_t i = 0; i < (gap < 1000000 ? 1000000 / gap : 1); i++)
			exchange(&pairs[done++ % kept], word[2]);
		next += gap < 1000000 ? 1000000 / gap * gap : gap;
		next = next < now ? now : next;
	}
	printf("%" PRIu64 "\n", done);
}

/* They end in the order in which they began. */
static void churn(const uint64_t *word)
{
	const uint64_t gap = 1000000000 / word[0], life = word[2] * 1000000;
	const uint64_t end = now_ns() + word[1] * 1000000;
	uint64_t next = now_ns();
	size_t oldest = n;

	while (next < end || oldest < n) {
		const uint64_t dies = oldest < n ? pairs[oldest].opened + life : UINT64_MAX;
		const bool die_first = dies < next || next >= end;

		sleep_until(die_first ? dies : next);
		if (die_first) {
			close_pair(&pairs[oldest++]);
			continue;
		}
		next += gap;
		open_pair();
		for (size_t i = 0; i <= n % SHORT_CALLS; i++)
			exchange(&pairs[n - 1], 100 + n % 1000);
	}
}

static void shut(const uint64_t *word)
{
	(void)word;
	for (size_t i = 0; i < kept; i++)
		close_pair(&pairs[i]);
	kept = 0;
}

static void list(const uint64_t *word)
{
	(void)word;
	for (size_t k = 0; k < n; k++) {
		const struct pair *p = &pairs[k];

		for (const struct end *e = p->end; e < p->end + 2; e++)
			printf("%lu %lu %lu %lu %lu %lu %lu\n", e->cookie, p->opened, p->closed,
			       e->sent, e->received, e->sends, e->receives);
	}
}

static const struct {
	const char *name;
	int words;
	void (*run)(const uint64_t *word);
} commands[] = {
	{ "open", 1, open_more }, { "talk", 2, talk }, { "pace", 3, pace }, { "churn", 3, churn },
	{ "shut", 0, shut }, { "list", 0, list },
};

static void obey(char *line)
{
	uint64_t word[3] = { 0 };
	char name[16];
	int words = sscanf(line, "%15s %" SCNu64 " %" SCNu64 " %" SCNu64, name, &word[0], &word[1],
			   &word[2]) - 1;

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(commands[i].name, name) || commands[i].words != words)
			continue;
		commands[i].run(word);
		puts("done");
		fflush(stdout);
		return;
	}
	errno = EINVAL;
	die(line);
}

int main(int argc, char **argv)
{
	struct rlimit files;
	char line[128];

	if (argc != 2)
		return 2;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	listen_at(argv[1]);
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	return 0;
}
