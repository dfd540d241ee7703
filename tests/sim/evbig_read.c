/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "event/format.h"
#include "event/reader.h"
#include "evbig.h"

void big_open_window(struct window *window, uint64_t begin, uint32_t what)
{
	window->hash = gen_hash(gen_hash(window->hash, begin), what);
	window->open++;
}

void big_add_edge(struct window *window, uint64_t time, const struct event_edge *edge)
{
	window->hash = gen_hash(gen_hash(window->hash, time),
				(uint64_t)edge->what << 16 | edge->type << 8 | edge->depth);
}

/* Before an edge of the generator is applied: what windows of its core say about it. */
static void expect_edge(struct big *big, uint32_t core, const struct gen_core *before,
			const struct gen_edge *edge)
{
	for (uint32_t i = core; i < WINDOWS; i += GEN_CORES) {
		struct window *window = &big->windows[i];

		if (edge->time < window->at.from)
			continue;
		if (!window->begun) {
			for (uint32_t depth = 0; depth < before->depth; depth++)
				big_open_window(window, before->open[depth].begin,
						before->open[depth].what);
			window->begun = true;
		}
		if (edge->time < window->at.to)
			big_add_edge(window, edge->time, &edge->edge);
	}
}

static void mark(unsigned char *bitmap, uint64_t number, uint64_t limit, uint64_t *count)
{
	CHECK(number < limit && !(bitmap[number / 8] & 1u << number % 8));
	bitmap[number / 8] |= 1u << number % 8;
	++*count;
}

static void check_edges(struct big *big, const struct event_block *block, struct seen *seen)
{
	struct gen_core *gen = &big->cores[block->core];
	const struct event_edge *edge = block->data;

	CHECK(block->core < GEN_CORES && block->domain == gen_domain(block->core));
	CHECK(block->n_open == gen->depth);
	for (uint32_t i = 0; i < block->n_open; i++)
		CHECK(block->open[i].begin == gen->open[i].begin &&
		      block->open[i].what == gen->open[i].what);
	for (uint32_t i = 0; i < block->count; i++, edge++) {
		struct gen_core before = *gen;
		struct gen_edge expected;

		CHECK(gen_core_next(gen, &expected));
		expect_edge(big, block->core, &before, &expected);
		CHECK(block->first + edge->dt == expected.time);
		CHECK(edge->what == expected.edge.what && edge->type == expected.edge.type &&
		      edge->depth == expected.edge.depth);
		seen->max_depth = gen->depth > seen->max_depth ? gen->depth : seen->max_depth;
		seen->n_blind += edge->type == SPAN_BLIND;
	}
	seen->n_edges += block->count;
	big->edge_bytes +=
		sizeof(struct event_chunk) + block->n_open * sizeof(*block->open) + block->size;
	for (uint32_t i = block->core; i < WINDOWS; i += GEN_CORES)
		big->windows[i].overlapping += block->last >= big->windows[i].at.from &&
					       block->first < big->windows[i].at.to;
}

static void check_samples(const struct big *big, const struct event_block *block, struct seen *seen)
{
	const struct event_sample *sample = block->data;

	for (uint32_t i = 0; i < block->count; i++, sample++) {
		const uint64_t number = sample->tx_offset / 64;
		struct event_sample expected;

		mark(seen->samples, number, big->samples, &seen->n_samples);
		gen_sample(big->seed, number, &expected);
		CHECK(memcmp(sample, &expected, sizeof(expected)) == 0);
		CHECK(block->core == number % LOAD_THREADS);
	}
}

static void check_conns(const struct big *big, const struct event_block *block, struct seen *seen)
{
	const struct event_conn *conn = block->data;

	for (uint32_t i = 0; i < block->count; i++, conn++) {
		struct event_conn expected;

		mark(seen->conns, conn->cookie, big->conns, &seen->n_conns);
		gen_conn(big->seed, conn->cookie, &expected);
		CHECK(memcmp(conn, &expected, sizeof(expected)) == 0);
	}
}

static void check_message(const struct big *big, const struct event *event, struct seen *seen)
{
	const struct event_message *message = event->payload;
	struct gen_message expected;

	mark(seen->messages, message->id, big->messages, &seen->n_messages);
	CHECK(event->size == gen_message(big->seed, message->id, &expected));
	CHECK(memcmp(message, &expected, event->size) == 0);
}

static void check_fact(const struct event *event, struct seen *seen)
{
	const struct event_fact *fact = event->payload;
	char text[FACT_SIZE];

	gen_text(strtoull(fact->text + strlen("fact "), NULL, 10), text, FACT_SIZE);
	CHECK(fact->value_size == FACT_SIZE);
	CHECK(strcmp(fact->text + fact->key_size, text) == 0);
	seen->n_facts++;
}

static void check_records(const struct big *big, const struct event_block *block, struct seen *seen)
{
	struct event_clock_param param;
	struct event_flow flow;
	struct event event;
	size_t at = 0;

	while (event_block_next(block, &at, &event)) {
		switch (event.kind) {
		case EV_MESSAGE:
			check_message(big, &event, seen);
			break;
		case EV_FACT:
			check_fact(&event, seen);
			break;
		case EV_CLOCK_PARAM:
			gen_param(seen->n_params / 2, PARAMS, 1 + seen->n_params % 2, &param);
			CHECK(memcmp(&param, event.payload, sizeof(param)) == 0);
			seen->n_params++;
			break;
		case EV_FLOW:
			gen_flow(++seen->n_flows, &flow);
			CHECK(memcmp(&flow, event.payload, sizeof(flow)) == 0);
			break;
		}
	}
}

static unsigned char *bitmap(uint64_t n)
{
	unsigned char *bits = calloc(n / 8 + 1, 1);

	CHECK(bits);
	return bits;
}

static void check_counts(const struct big *big, const struct seen *seen)
{
	struct gen_edge edge;

	for (uint32_t core = 0; core < GEN_CORES; core++) {
		struct gen_core gen = big->cores[core];

		CHECK(!gen_core_next(&gen, &edge));
	}
	CHECK(seen->n_edges == 2 * (big->spans / GEN_CORES) * GEN_CORES);
	CHECK(seen->n_messages == big->messages && seen->n_samples == big->samples);
	CHECK(seen->n_conns == big->conns && seen->n_facts == big->facts);
	CHECK(seen->n_params == 2 * PARAMS && seen->n_flows == GEN_FLOWS);
	CHECK(seen->max_depth == EVENT_DEPTH_MAX && seen->n_blind > 0);
}

void big_read(struct big *big, struct seen *seen)
{
	struct event_reader *reader;
	struct event_source *source;
	struct event_damage damage;
	struct event_block block;

	seen->messages = bitmap(big->messages);
	seen->samples = bitmap(big->samples);
	seen->conns = bitmap(big->conns);
	big_init_cores(big);
	CHECK(!event_reader_new(&reader, big->fd));
	source = event_reader_source(reader);
	while (event_source_next(source, &block) > 0) {
		if (block.kind == EV_EDGE)
			check_edges(big, &block, seen);
		else if (block.kind == EV_SAMPLE)
			check_samples(big, &block, seen);
		else if (block.kind == EV_CONN)
			check_conns(big, &block, seen);
		else
			check_records(big, &block, seen);
	}
	event_source_damage(source, &damage);
	CHECK(damage.reasons == 0 && damage.unknown == 0);
	event_reader_free(reader);
	check_counts(big, seen);
	free(seen->messages);
	free(seen->samples);
	free(seen->conns);
}
