/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "agent_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent_stream.h"
#include "base/parse.h"
#include "clock/clock.h"
#include "load/setup.h"

struct far fars[AGENTS];
struct coordinator *c;
struct seen seen;
unsigned int killed;

static void on_lost(void *ctx, uint32_t agent)
{
	assert_ptr_equal(ctx, fars);
	killed |= 1U << agent;
}

uint64_t rig_now(void)
{
	return clock_mono_ns(clock_system());
}

/* ---- set-up ---- */

static void open_far(struct far *far, struct coordinator_agent *agent, bool to_file)
{
	const struct event_writer_options options = { .stream = 5 };
	int in[2], out[2], err[2];

	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
	agent->in = in[1];
	agent->out = out[0];
	agent->err = err[0];
	*far = (struct far){ .in = in[0], .out = out[1], .err = err[1], .file = -1 };
	if (to_file)
		far->file = memfd_create("stream", MFD_CLOEXEC);
	assert_int_equal(event_writer_new(&far->writer, to_file ? far->file : far->out, &options),
			 0);
}

void rig_open(bool same_clock, bool to_file, uint32_t second_role)
{
	static const struct load_config run = {
		.targets = { "echo://x" }, .n_targets = 1, .duration_ns = 60 * NS_PER_S,
		.timeout_ns = NS_PER_S, .drain_ns = NS_PER_MS,
	};
	struct strbuf setup = STRBUF_INIT(100);
	struct coordinator_agent agents[AGENTS] = {
		{ .name = "one", .setup = &setup, .role = ROLE_SYMMETRIC },
		{ .name = "two", .setup = &setup, .role = second_role },
	};
	const struct coordinator_config config = {
		.run = &run, .agents = agents, .n_agents = AGENTS, .lost = on_lost, .ctx = fars,
	};

	seen = (struct seen){ 0 };
	killed = 0;
	strbuf_puts(&setup, "arg x\n");
	for (int i = 0; i < AGENTS; i++) {
		agents[i].same_clock = same_clock;
		open_far(&fars[i], &agents[i], to_file);
	}
	assert_int_equal(coordinator_new(&c, &config), 0);
	strbuf_release(&setup);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void rig_hang_up(struct far *far)
{
	close_fd(&far->out);
	close_fd(&far->err);
}

void rig_close(void)
{
	coordinator_free(c);
	for (int i = 0; i < AGENTS; i++) {
		event_writer_free(fars[i].writer);
		rig_hang_up(&fars[i]);
		close_fd(&fars[i].in);
		close_fd(&fars[i].file);
	}
}

/* ---- talking ---- */

off_t rig_unsent(const struct far *far)
{
	return lseek(far->file, 0, SEEK_END) - far->sent;
}

void rig_send(struct far *far, off_t n)
{
	char buffer[1 << 16];

	assert_in_range(n, 0, sizeof(buffer));
	assert_int_equal(pread(far->file, buffer, (size_t)n, far->sent), n);
	assert_int_equal(write(far->out, buffer, (size_t)n), n);
	far->sent += n;
}

/* Reads a line that the coordinator sent. */
static void hear(struct far *far, char line[256])
{
	size_t n = 0;

	do {
		assert_in_range(n, 0, 254);
		assert_int_equal(read(far->in, line + n, 1), 1);
	} while (line[n++] != '\n');
	line[n - 1] = '\0';
}

/* The time of the start by the agent's clock; it may be asked for the time before. */
static uint64_t heard_start(struct far *far)
{
	char line[256];

	do {
		hear(far, line);
	} while (!strncmp(line, "clock ", 6));
	assert_memory_equal(line, "start ", 6);
	return strtoull(line + 6, NULL, 10);
}

static void *greet(void *ctx)
{
	static const char *const expected[] = { "arg x", "make", "connect" };
	struct far *far = ctx;
	char line[256];

	stream_hello(far->writer, rig_now());
	for (int i = 0; i < 3; i++) {
		hear(far, line);
		assert_string_equal(line, expected[i]);
		if (i == 2)
			stream_connected(far->writer, rig_now());
		if (i)
			rig_send(far, rig_unsent(far));
	}
	return NULL;
}

void rig_begin(void)
{
	struct strbuf why = STRBUF_INIT(4096);
	pthread_t threads[AGENTS];

	for (int i = 0; i < AGENTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, greet, &fars[i]), 0);
	assert_int_equal(coordinator_connect(c, -1, &why), 0);
	for (int i = 0; i < AGENTS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(coordinator_start(c), 0);
	for (int i = 0; i < AGENTS; i++)
		seen.start[i] = heard_start(&fars[i]);
	assert_int_equal(seen.start[0], seen.start[1]);
	strbuf_release(&why);
}

void rig_start(void)
{
	rig_begin();
	for (int i = 0; i < AGENTS; i++)
		stream_run(fars[i].writer, seen.start[i]);
}

/* ---- listening ---- */

static bool as_meant(const struct event_sample *s, uint32_t agent, uint16_t flags)
{
	const struct event_sample meant = stream_sample(seen.start[agent], seen.samples[agent]);

	return s->intended == meant.intended && s->sent == meant.sent && s->done == meant.done &&
	       s->flow == LOAD_FLOW(agent, STREAM_FLOW) && s->flags == flags &&
	       s->tx_offset == meant.tx_offset;
}

static void see_samples(const struct event_block *block, uint16_t second_flags)
{
	const uint32_t agent = block->core / LOAD_THREADS_MAX;
	const struct event_sample *s = block->data;

	assert_in_range(agent, 0, AGENTS - 1);
	assert_int_equal(block->core % LOAD_THREADS_MAX, 1);
	assert_int_equal(block->record_size, sizeof(*s));
	for (uint32_t i = 0; i < block->count; i++) {
		seen.wrong |= !as_meant(&s[i], agent, agent ? second_flags : 0);
		seen.wrong |= s[i].done < block->first || s[i].done > block->last ||
			      s[i].intended < block->reach;
		seen.samples[agent]++;
	}
}

void rig_see_fact(const struct event *event)
{
	const char *key, *value;

	event_fact_get(event, &key, &value);
	assert_int_equal(agent_list_add_fact(&seen.agents, key, value), 0);
	assert_string_not_equal(key, "load.rate");
	assert_string_not_equal(key, "agent.0.load.rate");
	if (!strcmp(key, LOAD_FACT_AGENT_LOST))
		snprintf(seen.lost[value[0] - '0'], sizeof(seen.lost[0]), "%s", value);
}

static void see_event(const struct event *event)
{
	const struct event_load *load = event->payload;
	const struct event_noise *noise = event->payload;
	const struct event_flow *flow = event->payload;

	if (event->kind == EV_FACT)
		rig_see_fact(event);
	if (event->kind == EV_NOISE)
		seen.noises += noise->agent < AGENTS;
	if (event->kind == EV_FLOW) {
		assert_int_equal(flow->netns, 0);
		assert_int_equal(flow->id & 0x3ffffff, STREAM_FLOW);
		seen.flows++;
	}
	if (event->kind != EV_LOAD)
		return;
	/* All samples of the tick came before it. */
	assert_in_range(load->agent, 0, AGENTS - 1);
	assert_int_equal(load->completed, seen.samples[load->agent]);
	assert_int_equal(load->started_ns, seen.start[load->agent]);
	seen.loads[load->agent]++;
	seen.finals[load->agent] += load->flags & LOAD_FINAL ? 1 : 0;
}

static void pull(uint16_t second_flags)
{
	struct event_block block;
	struct event event;
	int ret;

	while ((ret = event_source_next(coordinator_source(c), &block)) > 0) {
		if (block.kind == EV_SAMPLE)
			see_samples(&block, second_flags);
		for (size_t at = 0; !block.record_size && event_block_next(&block, &at, &event);)
			see_event(&event);
	}
	assert_int_equal(ret, 0);
}

void rig_turn(uint16_t second_flags)
{
	assert_true(coordinator_wait(c, -1, NS_PER_MS) >= 0);
	pull(second_flags);
}

static bool is_over(uint32_t agent)
{
	return seen.finals[agent] || *seen.lost[agent];
}

void rig_finish(uint16_t second_flags)
{
	const uint64_t until = rig_now() + 30 * NS_PER_S;

	while (!(is_over(0) && is_over(1))) {
		assert_true(rig_now() < until);
		rig_turn(second_flags);
	}
}

void rig_check_whole(uint32_t agent)
{
	assert_string_equal(seen.lost[agent], "");
	assert_int_equal(seen.samples[agent], STREAM_SAMPLES);
	assert_int_equal(seen.loads[agent], STREAM_TICKS);
	assert_int_equal(seen.finals[agent], 1);
	assert_false(seen.wrong);
}
