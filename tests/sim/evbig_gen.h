/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of a long recording of a large host, made from a seed, so that it can be made again
 * to check what was read, without keeping it. Spans come core by core in the order of time; all
 * else is a function of its number, so that it may be read in any order.
 */
#ifndef HOSTLAT_TESTS_EVBIG_GEN_H
#define HOSTLAT_TESTS_EVBIG_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "event/layout.h"

#define GEN_CORES 64u
#define GEN_NAMES 1000u
#define GEN_FLOWS 10000u
#define GEN_PIECES_MAX 4u
#define GEN_START (1ULL << 52)	/* ticks: more than a double holds exactly */

struct gen_span {
	uint64_t begin;
	uint32_t what;
	uint8_t type;
};

struct gen_core {
	struct rng rng;
	uint64_t time;
	uint64_t left;		/* spans still to begin */
	uint32_t floor;		/* the stack stays about as deep as this for a while */
	uint32_t floor_left;
	uint32_t depth;
	bool cutting;		/* a blind interval begins: what is open is cut */
	bool blind;
	struct gen_span open[EVENT_DEPTH_MAX];
};

struct gen_edge {
	uint64_t time;
	struct event_edge edge;	/* but for dt */
	bool implied;		/* the writer adds it by itself */
};

void gen_core_init(struct gen_core *gen, uint64_t seed, uint32_t core, uint64_t spans);

/* The core's next edge; false at its end. */
bool gen_core_next(struct gen_core *gen, struct gen_edge *out);

/* Two sockets, whose counters are not the same. */
static inline uint16_t gen_domain(uint32_t core)
{
	return core < GEN_CORES / 2 ? 1 : 2;
}

struct gen_message {
	struct event_message message;
	struct event_piece pieces[GEN_PIECES_MAX];
};

/* Returns its size in bytes. */
uint32_t gen_message(uint64_t seed, uint64_t number, struct gen_message *out);
void gen_sample(uint64_t seed, uint64_t number, struct event_sample *out);
void gen_conn(uint64_t seed, uint64_t number, struct event_conn *out);
/* A text of `size` bytes, its NUL included. */
void gen_text(uint64_t number, char *text, uint32_t size);
void gen_flow(uint64_t number, struct event_flow *out);

/* Parameter change `number` of a domain: in the middle, domain 2 steps. */
void gen_param(uint64_t number, uint64_t of, uint16_t domain, struct event_clock_param *out);

/* A checksum of anything, to be continued. */
uint64_t gen_hash(uint64_t hash, uint64_t value);

#endif
