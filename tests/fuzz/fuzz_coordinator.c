/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes from an agent: the coordinator never fails, what it hands on is in order and takes no
 * analysis down, and the other agent does not notice.
 *
 * The first byte: bit 0, checksums and magics are put right first, so that the fuzzer gets behind
 * them; the rest, how many turns of 256 bytes come between reads. What the agent said before it was
 * started is ours: its greeting; the bytes are what it says in the run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_stream.h"
#include "base/bug.h"
#include "event/format.h"
#include "event/kinds.h"
#include "load/analysis.h"
#include "load/coordinator_state.h"

#define SIZE_MAX_FUZZ (1u << 15)	/* fits a pipe */
#define START 5000000000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct load_config run = {
	.targets = { "echo://x" }, .n_targets = 1, .duration_ns = 1000000000,
	.timeout_ns = 1000000, .drain_ns = 1000000,
};

static void seal(unsigned char *data, size_t size, uint32_t stream)
{
	uint64_t seq = 0;
	size_t at = 0;

	while (size - at >= sizeof(struct event_chunk)) {
		struct event_chunk chunk;

		memcpy(&chunk, data + at, sizeof(chunk));
		chunk.magic = EVENT_CHUNK_MAGIC;
		chunk.stream = stream;
		chunk.seq = seq++;
		if (chunk.stored_size > size - at - sizeof(chunk))
			chunk.stored_size = size - at - sizeof(chunk);
		if (chunk.codec == EVENT_CODEC_RAW)
			chunk.raw_size = chunk.stored_size;
		chunk.payload_crc = event_crc(data + at + sizeof(chunk), chunk.stored_size);
		chunk.header_crc = event_seal(&chunk);
		memcpy(data + at, &chunk, sizeof(chunk));
		at += sizeof(chunk) + chunk.stored_size;
	}
}

/* The header of a stream, as the agent's first bytes. */
static void write_header(int fd)
{
	const struct event_writer_options options = { .stream = 5, .raw = true };
	struct event_writer *w;

	BUG_ON(event_writer_new(&w, fd, &options));
	event_writer_free(w);
}

/* The peers run already, as after the barrier. */
static void put_into_run(struct coordinator *c)
{
	for (uint32_t i = 0; i < c->n_peers; i++) {
		struct peer *p = &c->peers[i];

		p->state = PEER_RUNNING;
		p->due_ns = UINT64_MAX;
		p->heard_ns = UINT64_MAX / 2;
		p->asked = 3;
		p->asked_ns = UINT64_MAX / 2;
		p->convert.clock = true;
		p->convert.from_ns = START;
		p->convert.until_ns = START + 100000000000ULL;
	}
}

static void check_block(const struct event_block *block)
{
	const struct event_sample *s = block->data;
	struct event event;

	BUG_ON(block->first > block->last || block->reach > block->first);
	BUG_ON(block->size > EVENT_BLOCK_SIZE);
	for (size_t at = 0; !block->record_size && event_block_next(block, &at, &event);)
		BUG_ON(event_check(event.kind, 1, event.payload, event.size) != EVENT_GOOD);
	if (!block->record_size)
		return;
	BUG_ON(block->kind != EV_SAMPLE || block->record_size != sizeof(*s) || !block->count);
	BUG_ON(block->size != block->count * sizeof(*s));
	for (uint32_t i = 0; i < block->count; i++)
		BUG_ON(s[i].intended < START || s[i].sent < s[i].intended ||
		       s[i].done < s[i].sent || s[i].flow >> 26 != block->core / LOAD_THREADS_MAX);
}

static void pull(struct coordinator *c, struct load_analysis *analysis)
{
	struct event_block block;
	int ret;

	while ((ret = event_source_next(coordinator_source(c), &block)) > 0) {
		check_block(&block);
		BUG_ON(load_analysis_block(analysis, &block) < 0);
	}
	BUG_ON(ret);
}

static void open_agent(struct coordinator_agent *agent, const struct strbuf *setup, int *to)
{
	int in[2], out[2], err[2];

	BUG_ON(pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC));
	*agent = (struct coordinator_agent){
		.name = "x", .in = in[1], .out = out[0], .err = err[0], .same_clock = true,
		.setup = setup,
	};
	close(in[0]);
	close(err[1]);
	*to = out[1];
}

static void hear(struct coordinator *c, const uint8_t *data, size_t size, size_t piece, int to[2])
{
	const struct event_writer_options options = { .stream = 6, .raw = true };
	const struct load_analysis_config config = {
		.rate = 1000, .arrival = { .kind = ARRIVAL_POISSON }, .agents = 2,
		.percentile = 0.99, .confidence = 0.95, .max_time_ns = 1000000000,
		.ci_width_ns = 1000, .max_errors = 0.1,
	};
	struct load_analysis *analysis = load_analysis_new(&config);
	struct event_writer *w;

	BUG_ON(!analysis);
	write_header(to[0]);
	for (size_t at = 0; at < size; at += piece) {
		const size_t n = size - at < piece ? size - at : piece;

		/* A lost agent is not listened to any more. */
		BUG_ON(write(to[0], data + at, n) < 0 && errno != EPIPE);
		BUG_ON(coordinator_wait(c, -1, 0) < 0);
		pull(c, analysis);
	}
	close(to[0]);
	BUG_ON(event_writer_new(&w, to[1], &options));
	stream_run(w, START);
	event_writer_free(w);
	while (c->peers[0].state < PEER_FINAL || c->peers[1].state < PEER_FINAL) {
		BUG_ON(coordinator_wait(c, -1, 1000000) < 0);
		pull(c, analysis);
	}
	BUG_ON(c->peers[1].state != PEER_FINAL);
	close(to[1]);
	BUG_ON(load_analysis_finish(analysis));
	load_analysis_free(analysis);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf setup = STRBUF_INIT(100);
	struct coordinator_agent agents[2];
	const struct coordinator_config config = { .run = &run, .agents = agents, .n_agents = 2 };
	struct coordinator *c;
	unsigned char *bytes;
	int to[2];

	if (size < 1 || size > SIZE_MAX_FUZZ)
		return 0;
	signal(SIGPIPE, SIG_IGN);
	bytes = malloc(size);
	BUG_ON(!bytes);
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & 1)
		seal(bytes, size - 1, 5);
	for (int i = 0; i < 2; i++)
		open_agent(&agents[i], &setup, &to[i]);
	BUG_ON(coordinator_new(&c, &config));
	put_into_run(c);
	hear(c, bytes, size - 1, 256 * (1 + (data[0] >> 1)), to);
	coordinator_free(c);
	strbuf_release(&setup);
	free(bytes);
	return 0;
}
