/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a pass over existing connections reports each one once, also if others end while it
 * pauses: an iterator then skips as many. The first traffic of an idle connection is counted
 * completely, and each record is complete, also for connections that call while hostlat begins.
 * Short connections that no pass has met, more than hostlat has places for, leave room for the next
 * one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/parse.h"
#include "clock/clock.h"
#include "event/dict.h"
#include "probe/connection/conns_probe.h"

#define SOCKETS 16000 /* more than twice what the ring holds */
#define PAUSED 6500 /* told when some end: in the first pause */
#define ENDED 2000
#define SKIP 77

struct ours {
	int fd;              /* -1: it has ended */
	uint64_t cookie;
	unsigned int flows, records;
	struct event_conn last;
};

static struct ours all[SOCKETS];
static struct ours *by_cookie[SOCKETS];
static unsigned int flows, ended, failures, others; /* others: records without a cookie */

static __attribute__((noreturn)) void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(bool good, const char *what)
{
	printf("%s  %s\n", good ? "ok  " : "FAIL", what);
	failures += !good;
}

static int compare(const void *a, const void *b)
{
	const struct ours *const *x = a, *const *y = b;

	return ((*x)->cookie > (*y)->cookie) - ((*x)->cookie < (*y)->cookie);
}

/* NULL: it is somebody else's. */
static struct ours *find(uint64_t cookie)
{
	const struct ours it = { .cookie = cookie }, *key = &it;
	struct ours **found = bsearch(&key, by_cookie, SOCKETS, sizeof(*by_cookie), compare);

	return found ? *found : NULL;
}

/* ---- connections ---- */

static void add(int i, int fd)
{
	struct linger reset = { .l_onoff = 1 };
	socklen_t size = sizeof(all[i].cookie);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) ||
	    getsockopt(fd, SOL_SOCKET, SO_COOKIE, &all[i].cookie, &size))
		die("a connection");
	all[i].fd = fd;
	by_cookie[i] = &all[i];
}

static void connect_all(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	socklen_t size = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), fd;

	if (bind(server, (struct sockaddr *)&at, size) || listen(server, 1024) ||
	    getsockname(server, (struct sockaddr *)&at, &size))
		die("listen");
	for (int i = 0; i < SOCKETS; i += 2) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&at, size))
			die("connect");
		add(i, fd);
		add(i + 1, accept(server, NULL, NULL));
	}
	close(server);
	qsort(by_cookie, SOCKETS, sizeof(*by_cookie), compare);
}

/* ---- records ---- */

/*
 * Closes pairs in the middle of what a pause has to read. One end at least has been told: a pass
 * need not come to both within the first pause.
 */
static void end_some(void)
{
	for (int i = 0; i < SOCKETS && ended < ENDED; i += 2) {
		if (!all[i].flows && !all[i + 1].flows)
			continue;
		for (int end = 0; end < 2; end++) {
			close(all[i + end].fd);
			all[i + end].fd = -1;
			ended++;
		}
	}
}

static int put(struct event_sink *sink, const struct event *event, const struct iovec *payload,
	       int pieces)
{
	const struct event_flow *flow = payload->iov_base;
	struct ours *it;

	(void)sink;
	(void)pieces;
	if (event->kind != EV_FLOW)
		return 0;
	it = find(flow->sock_cookie);
	if (!it)
		return 0;
	it->flows++;
	if (++flows == PAUSED)
		end_some();
	return 0;
}

static void read_pass(struct conns_probe *probe)
{
	struct event_block block;
	struct conns_pass pass;
	struct event_conn c;
	struct ours *it;

	if (conns_probe_read(probe, LEVEL_REST, UINT64_MAX, &pass))
		die("read");
	while (conns_probe_block(probe, &block)) {
		for (uint32_t i = 0; i < block.count; i++) {
			event_block_copy(&block, i, &c, sizeof(c));
			it = find(c.cookie);
			others += !c.cookie;
			if (!it || c.flags & CONN_CLOSED)
				continue;
			it->records++;
			it->last = c;
		}
	}
}

static void each_once(void)
{
	unsigned int missing = 0, twice = 0;
	char what[120];

	for (int i = 0; i < SOCKETS; i++) {
		missing += all[i].fd >= 0 && !all[i].records;
		twice += all[i].records > 1;
	}
	snprintf(what, sizeof(what),
		 "%d connections, %u end in a pause: none is missing (%u), none told twice (%u)",
		 SOCKETS, ended, missing, twice);
	check(ended == ENDED && !missing && !twice, what);
}

static struct ours *next_open(struct ours *from)
{
	while (from->fd < 0)
		from++;
	return from;
}

static void what_it_does_first(struct conns_probe *probe)
{
	struct ours *sender = next_open(all), *receiver = sender + 1;
	struct ours *other = next_open(sender + 2);
	const uint64_t before = sender->last.to, received_before = receiver->last.to;
	char bytes[100] = { 0 };

	if (send(sender->fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		die("send");
	read_pass(probe);
	check(sender->records == 2 && sender->last.from == before && sender->last.send_calls == 1 &&
	      sender->last.send_bytes == 100 && sender->last.bytes_sent == 100 &&
	      sender->last.bytes_acked == 100 && sender->last.rtt_samples == 1,
	      "the first call of one from before, its bytes, its acknowledgement");
	check(receiver->records == 2 && receiver->last.from == received_before &&
	      receiver->last.bytes_received == 100 && !receiver->last.recv_calls,
	      "bytes that arrive at one that has called nothing");
	check(other->records == 1, "the control does nothing, and nothing is told of it");
	if (recv(receiver->fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		die("recv");
	read_pass(probe);
	check(receiver->records == 3 && receiver->last.recv_calls == 1 &&
	      receiver->last.recv_bytes == 100 && !receiver->last.bytes_received,
	      "... and its call");
}

/* ---- calls while it begins ---- */

static volatile bool enough;

/* All pairs of its half, again and again. */
static void *talk(void *half)
{
	char byte = 0;

	for (int i = half ? 2 : 0; !enough; i = (i + 4) % SOCKETS) {
		if (all[i].fd < 0)
			continue;
		if (send(all[i].fd, &byte, 1, 0) != 1 || recv(all[i + 1].fd, &byte, 1, 0) != 1)
			die("talk");
	}
	return NULL;
}

/* Each has one record, complete: of one that two CPUs began there would be no cookie, no time. */
static void begun_while_they_call(void)
{
	const uint64_t before = (uint64_t)clock_mono_ns(clock_system());
	struct event_sink sink = { .put = put };
	struct event_dict *dict = event_dict_new();
	unsigned int early = 0, told = 0;
	struct conns_probe *probe;
	pthread_t threads[2];
	char why[256], what[120];

	for (size_t i = 0; i < 2; i++)
		if (!dict || pthread_create(&threads[i], NULL, talk, i ? all : NULL))
			die("a thread");
	if (conns_probe_open(&probe, &(struct conns_log){ .on = false }, why, sizeof(why)))
		die(why);
	conns_probe_output(probe, &sink, dict);
	for (int i = 0; i < SOCKETS; i++)
		all[i].records = 0;
	others = 0;
	read_pass(probe);
	enough = true;
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SOCKETS; i++) {
		told += all[i].records > 0;
		early += all[i].records && all[i].last.from < before;
	}
	snprintf(what, sizeof(what), "%u connections that call while it begins: all told (%u), "
		 "none from before it began (%u), none without a cookie (%u)", SOCKETS - ended,
		 told, early, others);
	check(told == SOCKETS - ended && !early && !others, what);
	conns_probe_free(probe);
	event_dict_free(dict);
}

/* ---- short ones ---- */

#define SHORT 130000 /* with two ends each */
#define SHORT_AT_ONCE 1000

static void make_pair(int server, const struct sockaddr_in *at, int pair[2])
{
	struct linger reset = { .l_onoff = 1 };

	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (pair[0] < 0 || connect(pair[0], (const struct sockaddr *)at, sizeof(*at)))
		die("connect");
	pair[1] = accept(server, NULL, NULL);
	if (pair[1] < 0 || setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
		die("accept");
}

/* Returns whether the connection is told as one that is open. */
static bool take_records(struct conns_probe *probe, uint64_t cookie)
{
	struct event_block block;
	struct event_conn c;
	bool found = false;

	while (conns_probe_block(probe, &block)) {
		for (uint32_t i = 0; cookie && i < block.count; i++) {
			event_block_copy(&block, i, &c, sizeof(c));
			found |= c.cookie == cookie && !(c.flags & CONN_CLOSED);
		}
	}
	return found;
}

/* None is open when an interval ends: there is no reason to read any. */
static void after_short_ones(struct conns_probe *probe)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	int server = socket(AF_INET, SOCK_STREAM, 0), pair[2];
	socklen_t size = sizeof(at);
	struct conns_lost lost;
	struct conns_pass pass;
	uint64_t cookie;
	char what[120];

	if (bind(server, (struct sockaddr *)&at, size) || listen(server, 16) ||
	    getsockname(server, (struct sockaddr *)&at, &size))
		die("listen");
	for (int i = 0; i < SHORT; i++) {
		make_pair(server, &at, pair);
		close(pair[0]);
		close(pair[1]);
		if (i % SHORT_AT_ONCE == 0 && conns_probe_read(probe, LEVEL_HOT, 0, &pass))
			die("read");
		take_records(probe, 0);
	}
	make_pair(server, &at, pair);
	size = sizeof(cookie);
	if (send(pair[0], &at, 1, 0) != 1 ||
	    getsockopt(pair[0], SOL_SOCKET, SO_COOKIE, &cookie, &size) ||
	    conns_probe_read(probe, LEVEL_REST, UINT64_MAX, &pass))
		die("the last");
	conns_probe_lost(probe, &lost);
	snprintf(what, sizeof(what), "after %d short ones a connection is followed; for %llu there "
		 "was no room", SHORT, (unsigned long long)lost.no_memory);
	check(take_records(probe, cookie) && !lost.no_memory, what);
	close(pair[0]);
	close(pair[1]);
	close(server);
}

int main(void)
{
	struct rlimit files = { SOCKETS + 100, SOCKETS + 100 };
	struct event_sink sink = { .put = put };
	struct event_dict *dict = event_dict_new();
	struct conns_probe *probe;
	char why[256];

	if (geteuid()) {
		printf("SKIP: needs root\n");
		return SKIP;
	}
	if (!dict || unshare(CLONE_NEWNET) || setrlimit(RLIMIT_NOFILE, &files) ||
	    system("ip link set lo up"))
		die("a network namespace");
	connect_all();
	if (conns_probe_open(&probe, &(struct conns_log){ .on = false }, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	conns_probe_output(probe, &sink, dict);
	read_pass(probe);
	each_once();
	what_it_does_first(probe);
	after_short_ones(probe);
	conns_probe_free(probe);
	begun_while_they_call();
	event_dict_free(dict);
	return failures != 0;
}
