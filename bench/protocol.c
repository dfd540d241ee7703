/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the cost of encoding a request and parsing its reply, per protocol: CPU time per
 * request, the best of ROUNDS rounds. The buffer is in the cache, as it is when a request is sent
 * at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/protocol.h"
#include "load/synthetic.h"
#include "load/wire.h"
#include "load/workload.h"

#define ROUNDS 7
#define REQUESTS 200000
#define VALUE 200

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void prepare(const char *url, const char *text, struct target *t, struct workload *w)
{
	struct strbuf why = STRBUF_INIT(4096);

	if (target_parse(url, t, &why) || workload_parse(w, text, t, &why)) {
		fprintf(stderr, "%s\n", strbuf_str(&why));
		exit(2);
	}
	strbuf_release(&why);
}

static double encode_ns(const char *url, const char *text)
{
	double best = 1e9;
	struct encoded_request out;
	struct workload w;
	struct target t;
	struct rng rng;
	char *buffer;

	prepare(url, text, &t, &w);
	buffer = malloc(workload_request_max(&w));
	for (int round = 0; buffer && round < ROUNDS; round++) {
		uint64_t start = cpu_ns();

		rng_init(&rng, 1);
		for (uint32_t id = 0; id < REQUESTS; id++) {
			if (protocol_encode(t.protocol, &w, &rng, id, buffer,
					    workload_request_max(&w), &out))
				exit(2);
		}
		best = (double)(cpu_ns() - start) / REQUESTS < best ?
			(double)(cpu_ns() - start) / REQUESTS : best;
	}
	free(buffer);
	workload_release(&w);
	return best;
}

/* A hit of VALUE bytes, as servers send it. Returns its size. */
static size_t make_reply(const char *name, char *to)
{
	struct synthetic_reply reply = { .size = SYNTHETIC_REPLY_HEADER + VALUE, .out_ns = 1 };
	struct echo_message echo = { .size = ECHO_HEADER + VALUE };
	char value[VALUE];
	size_t n = 0;

	memset(value, 'x', sizeof(value));
	if (strcmp(name, "memcached") == 0) {
		n = (size_t)snprintf(to, 512, "VALUE 0000000000000000000000004711 0 %d\r\n",
				     VALUE);
	} else if (strcmp(name, "redis") == 0) {
		n = (size_t)snprintf(to, 512, "$%d\r\n", VALUE);
	} else if (strcmp(name, "http") == 0) {
		n = (size_t)snprintf(to, 512, "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n"
				    "Date: Fri, 20 Nov 2026 12:00:00 GMT\r\n"
				    "Content-Type: text/html\r\nContent-Length: %d\r\n"
				    "Last-Modified: Fri, 20 Nov 2026 10:00:00 GMT\r\n"
				    "Connection: keep-alive\r\nETag: \"6560aa00-c8\"\r\n"
				    "Accept-Ranges: bytes\r\n\r\n", VALUE);
	} else if (strcmp(name, "memcached-binary") == 0) {
		memset(to, 0, n = 24);
		to[0] = '\x81';
		wire_put32(to + 8, VALUE);
	} else if (strcmp(name, "echo") == 0) {
		echo_put(to, &echo);
		n = ECHO_HEADER;
	} else {
		synthetic_put_reply(to, &reply);
		n = SYNTHETIC_REPLY_HEADER;
	}
	memcpy(to + n, value, VALUE);
	n += VALUE;
	if (strcmp(name, "memcached") == 0)
		n += (size_t)snprintf(to + n, 16, "\r\nEND\r\n");
	else if (strcmp(name, "redis") == 0)
		n += (size_t)snprintf(to + n, 16, "\r\n");
	return n;
}

static double parse_ns(const char *name)
{
	const struct protocol *p = protocol_find(name);
	double best = 1e9;
	char reply[1024];
	size_t size = make_reply(name, reply);

	for (int round = 0; round < ROUNDS; round++) {
		struct reply_parser parser = { 0 };
		uint64_t start = cpu_ns();
		struct reply out;
		size_t used;

		for (int i = 0; i < REQUESTS; i++) {
			if (p->parse(&parser, 0, reply, size, &used, &out) != 1 || used != size)
				exit(2);
		}
		best = (double)(cpu_ns() - start) / REQUESTS < best ?
			(double)(cpu_ns() - start) / REQUESTS : best;
	}
	return best;
}

int main(void)
{
	static const struct {
		const char *name, *url;
	} rows[] = {
		{ "memcached", "memcached://h" }, { "memcached-binary", "memcached-binary://h" },
		{ "redis", "redis://h" }, { "http", "http://h/index.html" },
		{ "echo", "echo://h" }, { "synthetic", "synthetic://h" },
	};
	static const char *const workloads[] = {
		"keys=10000", "keys=10000,read=0", "etc,keys=1000000",
		"etc,keys=1000000,popularity=zipf:0.99", "service=exponential:10us",
	};

	printf("%-18s %8s | encode, ns:\n%-18s %8s |", "", "parse", "protocol", "ns");
	for (size_t j = 0; j < ARRAY_LEN(workloads); j++)
		printf(" %s |", workloads[j]);
	printf("\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		printf("%-18s %8.1f |", rows[i].name, parse_ns(rows[i].name));
		for (size_t j = 0; j < ARRAY_LEN(workloads); j++)
			printf(" %*.1f |", (int)strlen(workloads[j]),
			       encode_ns(rows[i].url, workloads[j]));
		printf("\n");
	}
	return 0;
}
