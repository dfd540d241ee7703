/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the test in evbig.c; see there. */
#ifndef HOSTLAT_TESTS_EVBIG_H
#define HOSTLAT_TESTS_EVBIG_H

#include <stdio.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "event/source.h"
#include "evbig_gen.h"

#define WINDOWS 1024
#define PARAMS 500		/* parameter changes of each clock domain */
#define FACT_SIZE 10000		/* bytes of a fact's value */
#define LOAD_THREADS 4

/* A window, and what the generator says of it. */
struct window {
	struct event_window at;
	/* hash over the spans open at its begin, and over the edges inside */
	uint64_t hash;
	uint32_t open;		/* spans that began before it */
	bool begun;
	uint32_t overlapping;	/* chunks that overlap it */
};

struct big {
	uint64_t seed;
	uint64_t spans, messages, samples, conns, facts;
	int fd;
	uint64_t size;
	struct gen_core cores[GEN_CORES];
	struct window windows[WINDOWS];
	struct strbuf table;
	uint64_t edge_bytes;	/* sum over all edge chunks, before compression */
};

struct seen {
	unsigned char *messages, *samples, *conns;	/* bitmaps by number */
	uint64_t n_messages, n_samples, n_conns, n_facts, n_params, n_flows, n_edges;
	uint32_t max_depth, n_blind;
};

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition);             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

void big_init_cores(struct big *big);

/* Writes the whole recording into big->fd. */
void big_write(struct big *big);

/* Reads it from front to back, checks all of it, and learns what the windows should hold. */
void big_read(struct big *big, struct seen *seen);

/* Both sides of a window's checksum: a span that was open at its begin, and an edge inside. */
void big_open_window(struct window *window, uint64_t begin, uint32_t what);
void big_add_edge(struct window *window, uint64_t time, const struct event_edge *edge);

#endif
