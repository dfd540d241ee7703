/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain client on top of the protocol table: roundtrip URL WORKLOAD REQUESTS DEPTH SEED [store].
 * Sends DEPTH requests (which the sockets' buffers have to hold, and their replies), reads as many
 * replies in reads of any size, and so on; with "store" it stores every key before. Prints how many
 * replies were of which kind, by operation. Exit code 1 if a reply is garbled, has an id that
 * nobody waits for or doesn't come within 10 seconds.
 */
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/rng.h"
#include "load/protocol.h"
#include "load/workload.h"

#define DEPTH_MAX 256
#define READ_MAX 200000

struct client {
	struct target target;
	struct workload workload;
	struct rng rng;
	int fd;
	struct reply_parser parser;
	struct encoded_request waiting[DEPTH_MAX]; /* in order; size 0: answered */
	size_t first, n;
	uint32_t id;
	uint64_t counts[OPERATIONS][3], closed;
	char *buffer;
	char read[READ_MAX];
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "roundtrip: %s\n", what);
	exit(1);
}

static int connect_unix(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(sun.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)))
		fail("connect");
	return fd;
}

static int connect_inet(const struct target *t)
{
	struct addrinfo hints = {
		.ai_socktype = t->protocol->datagram ? SOCK_DGRAM : SOCK_STREAM,
	};
	struct addrinfo *found;
	int fd;

	if (getaddrinfo(t->host, t->port, &hints, &found))
		fail("getaddrinfo");
	fd = socket(found->ai_family, found->ai_socktype, 0);
	if (connect(fd, found->ai_addr, found->ai_addrlen))
		fail("connect");
	if (!t->protocol->datagram)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	freeaddrinfo(found);
	return fd;
}

static void open_connection(struct client *c)
{
	struct timeval timeout = { .tv_sec = 10 };

	if (c->fd >= 0)
		close(c->fd);
	c->fd = c->target.unix_socket ? connect_unix(c->target.host) : connect_inet(&c->target);
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	memset(&c->parser, 0, sizeof(c->parser));
}

static void send_all(struct client *c, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = send(c->fd, c->buffer + at, size - at, MSG_NOSIGNAL);

		if (n < 0)
			fail("send");
		at += (size_t)n;
	}
}

/* The request that a reply belongs to. */
static struct encoded_request *find(struct client *c, const struct reply *reply)
{
	for (size_t i = c->first; i < c->n; i++) {
		struct encoded_request *r = &c->waiting[i];

		if (r->size && (!c->target.protocol->matched_by_id || r->id == reply->id))
			return r;
	}
	fail("a reply that nobody waits for");
}

static void take(struct client *c, const struct reply *reply)
{
	struct encoded_request *r = find(c, reply);

	c->counts[r->type][reply->status]++;
	c->closed += reply->close;
	r->size = 0;
	while (c->first < c->n && !c->waiting[c->first].size)
		c->first++;
}

static void parse(struct client *c, size_t size)
{
	const char *at = size ? c->read : NULL;

	do {
		uint16_t type = c->first < c->n ? c->waiting[c->first].type : 0;
		struct reply reply;
		size_t used;
		int got = c->target.protocol->parse(&c->parser, type, at, size, &used, &reply);

		if (got < 0)
			fail("a garbled reply");
		if (got == 1)
			take(c, &reply);
		else if (!at)
			fail("closed before the reply was complete");
		size -= used;
		at = at ? at + used : at;
	} while (size);
}

static void receive(struct client *c)
{
	bool whole = c->target.protocol->datagram;

	while (c->first < c->n) {
		size_t size = whole || rng_below(&c->rng, 2) ? READ_MAX : 1 + rng_below(&c->rng, 9);
		ssize_t n = recv(c->fd, c->read, size, 0);

		if (n < 0)
			fail("no reply");
		parse(c, (size_t)n);
		if (n == 0)
			break;
	}
	if (c->first < c->n)
		fail("fewer replies than requests");
	c->first = c->n = 0;
}

static void queue(struct client *c, int err, struct encoded_request *r)
{
	if (err)
		fail("encode");
	c->waiting[c->n++] = *r;
	send_all(c, r->size);
}

static void store(struct client *c)
{
	const struct protocol *p = c->target.protocol;
	size_t max = workload_request_max(&c->workload);
	struct encoded_request r;

	for (uint64_t key = 0; key < c->workload.keys; key++) {
		queue(c, protocol_encode_store(p, &c->workload, key, c->buffer, max, &r), &r);
		receive(c);
	}
	if (c->counts[OPERATION_SET][REPLY_OK] != c->workload.keys)
		fail("a key was not stored");
	memset(c->counts, 0, sizeof(c->counts));
}

static void run(struct client *c, uint64_t requests, uint64_t depth)
{
	const struct protocol *p = c->target.protocol;
	size_t max = workload_request_max(&c->workload);
	struct encoded_request r;

	for (uint64_t done = 0; done < requests;) {
		uint64_t closed = c->closed;

		for (uint64_t i = 0; i < depth && done < requests; i++, done++)
			queue(c, protocol_encode(p, &c->workload, &c->rng, c->id++, c->buffer, max,
						 &r), &r);
		receive(c);
		if (c->closed > closed)
			open_connection(c);
	}
}

static void print_counts(const struct client *c)
{
	printf("{");
	for (int type = 0; type < OPERATIONS; type++) {
		const uint64_t *counts = c->counts[type];

		if (c->workload.share[type] > 0)
			printf("\"%d\": {\"ok\": %lu, \"miss\": %lu, \"error\": %lu}, ", type,
			       (unsigned long)counts[REPLY_OK], (unsigned long)counts[REPLY_MISS],
			       (unsigned long)counts[REPLY_ERROR]);
	}
	printf("\"closed\": %lu}\n", (unsigned long)c->closed);
}

int main(int argc, char **argv)
{
	static struct client c = { .fd = -1, .id = 0xfff0 };
	struct strbuf why = STRBUF_INIT(4096);
	uint64_t requests, depth, seed;

	if (argc < 6 || parse_u64(argv[3], &requests) || parse_u64(argv[4], &depth) ||
	    parse_u64(argv[5], &seed) || depth > DEPTH_MAX)
		fail("URL WORKLOAD REQUESTS DEPTH SEED [store]");
	if (target_parse(argv[1], &c.target, &why) ||
	    workload_parse(&c.workload, argv[2], &c.target, &why))
		fail(strbuf_str(&why));
	rng_init(&c.rng, seed);
	c.buffer = malloc(workload_request_max(&c.workload));
	open_connection(&c);
	if (argc > 6)
		store(&c);
	run(&c, requests, depth);
	print_counts(&c);
	close(c.fd);
	free(c.buffer);
	workload_release(&c.workload);
	strbuf_release(&why);
	return 0;
}
