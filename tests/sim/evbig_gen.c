/* SPDX-License-Identifier: Apache-2.0 */
#include "evbig_gen.h"

#include <string.h>

#include "base/bug.h"

uint64_t gen_hash(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

/* Random bits that belong to (seed, stream, number). */
static uint64_t bits(uint64_t seed, uint64_t stream, uint64_t number)
{
	return gen_hash(gen_hash(gen_hash(seed, stream), number), number >> 7);
}

/* ---- spans ---- */

void gen_core_init(struct gen_core *gen, uint64_t seed, uint32_t core, uint64_t spans)
{
	*gen = (struct gen_core){ .time = GEN_START + core, .left = spans };
	rng_init(&gen->rng, seed * GEN_CORES + core);
}

static void begin(struct gen_core *gen, struct gen_edge *out, uint8_t type, uint32_t what)
{
	BUG_ON(gen->depth == EVENT_DEPTH_MAX);
	out->edge = (struct event_edge){ .type = type, .what = what, .depth = gen->depth };
	gen->open[gen->depth++] = (struct gen_span){
		.begin = gen->time,
		.what = what,
		.type = type,
	};
	gen->left--;
}

static void end(struct gen_core *gen, struct gen_edge *out, uint8_t flags)
{
	const struct gen_span *span = &gen->open[--gen->depth];

	out->edge = (struct event_edge){
		.type = span->type | SPAN_END | flags,
		.what = span->what,
		.depth = gen->depth,
	};
}

/* Around the floor, so that outer spans live for many chunks; up to the limit at times. */
static bool wants_begin(struct gen_core *gen, uint64_t random)
{
	if (gen->floor_left-- == 0) {
		gen->floor = random >> 32 & (EVENT_DEPTH_MAX - 1);
		gen->floor_left = 20000;
	}
	if (gen->depth == 0 || gen->left == 0)
		return gen->left != 0;
	if (gen->depth == EVENT_DEPTH_MAX)
		return false;
	if (gen->depth < gen->floor)
		return true;
	return gen->depth < gen->floor + 12 && (random & 1);
}

static void begin_some(struct gen_core *gen, struct gen_edge *out, uint64_t random)
{
	const uint32_t name = 1 + (random >> 40) % GEN_NAMES;

	if (gen->depth == 0)
		begin(gen, out, random & 2 ? SPAN_TASK : SPAN_IDLE, name);
	else if (gen->depth == 1)
		begin(gen, out, random & 2 ? SPAN_SOFTIRQ : SPAN_SYSCALL, name % 400);
	else
		begin(gen, out, SPAN_FUNCTION, name);
}

bool gen_core_next(struct gen_core *gen, struct gen_edge *out)
{
	const uint64_t random = rng_u64(&gen->rng);

	if (!gen->cutting) {
		gen->time += random >> 50 & 0x7ff;
		if ((random >> 20 & 0xfffff) == 0)
			gen->time += 5000000000; /* 32 bits of ticks don't hold this */
		if ((random >> 14 & 0x3fff) == 0 && gen->left && !gen->blind)
			gen->cutting = true;
	}
	out->time = gen->time;
	out->implied = false;
	if (gen->cutting && gen->depth) {
		end(gen, out, SPAN_CONT);
		out->implied = true;
	} else if (gen->cutting) {
		begin(gen, out, SPAN_BLIND, 0);
		gen->cutting = false;
		gen->blind = true;
	} else if (gen->blind) {
		end(gen, out, 0);
		gen->blind = false;
	} else if (wants_begin(gen, random)) {
		begin_some(gen, out, random);
	} else if (gen->depth) {
		end(gen, out, 0);
	} else {
		return false;
	}
	return true;
}

/* ---- the rest ---- */

uint32_t gen_message(uint64_t seed, uint64_t number, struct gen_message *out)
{
	const uint64_t random = bits(seed, 1, number);
	uint64_t time = GEN_START + number * 2000 + random % 100000;

	*out = (struct gen_message){ .message = {
					     .id = number,
					     .flow = 1 + random % GEN_FLOWS,
					     .tid = 4000 + random % 64,
					     .offset = number * 32,
					     .bytes = 32,
					     .fd = random >> 9 & 1023,
					     .first = time,
					     .last = time + (random >> 5 & 255),
					     .protocol = PROTO_TCP,
					     .n = 1 + (random >> 20) % GEN_PIECES_MAX,
				     } };
	for (uint32_t i = 0; i < out->message.n; i++) {
		const uint64_t more = bits(seed, 2 + i, number);

		out->pieces[i] = (struct event_piece){
			.begin = time,
			.end = time + (more & 0x3ffff),
			.core = more >> 30 & (GEN_CORES - 1),
			.role = 1 + i % (PIECE_ROLE_MAX - 1),
		};
		time = out->pieces[i].end;
	}
	return sizeof(out->message) + out->message.n * sizeof(out->pieces[0]);
}

void gen_sample(uint64_t seed, uint64_t number, struct event_sample *out)
{
	const uint64_t random = bits(seed, 20, number);
	const uint64_t intended = 1000000000 + number * 5000;

	*out = (struct event_sample){
		.intended = intended,
		.sent = intended + (random & 4095),
		.done = intended + 4096 + (random >> 12 & 0xfffff),
		.tx_offset = number * 64,
		.rx_offset = number * 128,
		.tx_bytes = 64,
		.rx_bytes = 128,
		.flow = 1 + (random >> 32) % GEN_FLOWS,
		.type = random >> 60,
		.flags = SAMPLE_NIC_TX | SAMPLE_NIC_RX,
	};
}

void gen_conn(uint64_t seed, uint64_t number, struct event_conn *out)
{
	const uint64_t random = bits(seed, 21, number);
	const uint64_t from = 1000000000 + number * 700;

	*out = (struct event_conn){
		.cookie = number,
		.from = from,
		.to = from + 500000000,
		.flow = 1 + number % GEN_FLOWS,
		.app = 1 + random % 50,
		.pid = 1000 + random % 50,
		.sender_app_ns = random % 500000000,
		.congestion_ns = random >> 32,
		.bytes_sent = random >> 20,
		.bytes_received = random >> 30,
		.rto = random & 1,
		.rtt_us = random >> 50,
		.cwnd = 10 + (random & 63),
	};
}

void gen_flow(uint64_t number, struct event_flow *out)
{
	*out = (struct event_flow){
		.id = number,
		.family = 2,
		.protocol = PROTO_TCP,
		.netns_cookie = 1 + number % 8,
		.sock_cookie = number,
		.local = { 10, 0, 0, 1 },
		.remote = { 10, 0, number >> 8, number },
		.local_port = 11211,
		.remote_port = 32768 + number % 28000,
		.netns = 1 + number % 8,
	};
}

void gen_param(uint64_t number, uint64_t of, uint16_t domain, struct event_clock_param *out)
{
	*out = (struct event_clock_param){
		.domain = domain,
		.flags = domain == 2 && number == of / 2 ? PARAM_STEP : 0,
		.from_ticks = GEN_START + number * 1000000007,
		.mono_ns = 1000000000 + number * 416666669,
		.mult = 6990506 + number % 100,
		.shift = 24,
		.error_ns = 20 + number % 7,
	};
}

void gen_text(uint64_t number, char *text, uint32_t size)
{
	for (uint32_t i = 0; i + 1 < size; i++)
		text[i] = (char)(1 + gen_hash(number, i) % 255);
	text[size - 1] = '\0';
}
