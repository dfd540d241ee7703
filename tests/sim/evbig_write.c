/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "event/writer.h"
#include "evbig.h"

static void put_definitions(struct event_writer *w)
{
	char text[32];

	for (uint16_t id = 1; id <= 2; id++) {
		const struct event_domain domain = {
			.id = id,
			.type = DOMAIN_TSC,
			.ticks_per_second = 2400000000,
			.error_ns = 40,
		};

		CHECK(!event_writer_put(w, EVENT_CORE_NONE, EV_DOMAIN, 0, &domain, sizeof(domain)));
	}
	for (uint32_t i = 1; i <= GEN_NAMES; i++) {
		snprintf(text, sizeof(text), "function_%u", i);
		CHECK(event_writer_intern(w, DICT_SYMBOL, text) == i);
	}
	for (uint32_t i = 1; i <= GEN_FLOWS; i++) {
		struct event_flow flow;

		gen_flow(i, &flow);
		CHECK(!event_writer_put(w, EVENT_CORE_NONE, EV_FLOW, 0, &flow, sizeof(flow)));
	}
}

static void put_param(struct event_writer *w, uint64_t number)
{
	for (uint16_t domain = 1; domain <= 2; domain++) {
		struct event_clock_param param;

		gen_param(number, PARAMS, domain, &param);
		CHECK(!event_writer_put(w, EVENT_CORE_NONE, EV_CLOCK_PARAM, number, &param,
					sizeof(param)));
	}
}

/* Some edges of one core: how far the cores are apart is left to chance. */
static bool put_burst(struct event_writer *w, struct gen_core *gen, uint32_t core, uint32_t n)
{
	struct gen_edge edge;

	while (n--) {
		if (!gen_core_next(gen, &edge))
			return false;
		if (!edge.implied)
			CHECK(!event_writer_edge(w, core, gen_domain(core), edge.time, &edge.edge));
	}
	return true;
}

static void put_message(struct event_writer *w, uint64_t seed, uint64_t number)
{
	struct gen_message message;
	const uint32_t size = gen_message(seed, number, &message);
	const struct event_piece *last = &message.pieces[message.message.n - 1];
	const struct event event = { .kind = EV_MESSAGE, .core = last->core, .time = last->end };
	const struct iovec piece = { .iov_base = &message, .iov_len = size };

	CHECK(!event_writer_record(w, 1, message.pieces[0].begin, &event, &piece, 1));
}

static void put_sample(struct event_writer *w, uint64_t seed, uint64_t number)
{
	struct event_sample sample;

	gen_sample(seed, number, &sample);
	CHECK(!event_writer_span(w, number % LOAD_THREADS, 0, EV_SAMPLE, sample.intended,
				 sample.done, &sample));
}

static void put_conn(struct event_writer *w, uint64_t seed, uint64_t number)
{
	struct event_conn conn;

	gen_conn(seed, number, &conn);
	CHECK(!event_writer_span(w, EVENT_CORE_NONE, 0, EV_CONN, conn.from, conn.to, &conn));
}

/* With each fact a new name, so that names are spread over the file. */
static void put_fact(struct event_writer *w, uint64_t number)
{
	char key[32], value[FACT_SIZE];

	snprintf(key, sizeof(key), "fact %llu", (unsigned long long)number);
	CHECK(event_writer_intern(w, DICT_STRING, key) == number + 1);
	gen_text(number, value, FACT_SIZE);
	CHECK(!event_put_fact(event_writer_sink(w), number, key, value));
}

/* How many of `n` belong before part `i` of `of`. */
static uint64_t share(uint64_t n, uint64_t i, uint64_t of)
{
	return (uint64_t)((unsigned __int128)n * i / of);
}

/* All that is not spans, spread evenly over the run: from part `i` to the next of `of`. */
static void put_part(struct event_writer *w, const struct big *big, uint64_t i, uint64_t of)
{
	for (uint64_t n = share(big->messages, i, of); n < share(big->messages, i + 1, of); n++)
		put_message(w, big->seed, n);
	for (uint64_t n = share(big->samples, i, of); n < share(big->samples, i + 1, of); n++)
		put_sample(w, big->seed, n);
	for (uint64_t n = share(big->conns, i, of); n < share(big->conns, i + 1, of); n++)
		put_conn(w, big->seed, n);
	for (uint64_t n = share(big->facts, i, of); n < share(big->facts, i + 1, of); n++)
		put_fact(w, n);
	for (uint64_t n = share(PARAMS, i, of); n < share(PARAMS, i + 1, of); n++)
		put_param(w, n);
}

void big_write(struct big *big)
{
	const struct event_writer_options options = { .clock_error_ns = 40 };
	const uint64_t parts = 1000, per_part = big->spans * 2 / parts;
	struct event_writer *w;
	struct rng rng;
	uint32_t live = GEN_CORES;

	rng_init(&rng, ~big->seed);
	big_init_cores(big);
	CHECK(!event_writer_new(&w, big->fd, &options));
	put_definitions(w);
	for (uint64_t part = 0; part < parts || live; part++) {
		uint64_t edges = 0;

		if (part < parts)
			put_part(w, big, part, parts);
		while (live && (edges < per_part || part >= parts)) {
			const uint64_t random = rng_u64(&rng);
			const uint32_t core = random % GEN_CORES, n = 1 + (random >> 32 & 1023);
			struct gen_core *gen = &big->cores[core];
			const bool was_live = gen->left || gen->depth;

			if (was_live && !put_burst(w, gen, core, n))
				live--;
			else if (was_live && !gen->left && !gen->depth)
				live--;
			edges += n;
		}
	}
	CHECK(!event_writer_close(w));
	big->size = lseek(big->fd, 0, SEEK_END);
}
