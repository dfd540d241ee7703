/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the recording as it would be if some of its CPU activity had been lost:
 * thin IN OUT PER_MILLE [CORE]. So many events of 1,000 are taken out, by chance but always the
 * same ones; of one core, or of all. Around each the core is blind, and what its task was in is
 * forgotten, as when it happens to `record` itself (probe/cpu/timeline.c). Messages stay.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "event/reader.h"
#include "event/track.h"
#include "event/writer.h"

#define CORES 256
#define TASKS 65536
#define WINDOWS (1u << 20)

struct core {
	struct event_track was, is; /* spans that are open in the input, and in the output */
	uint64_t now;       /* the time of the event that the last edge was of */
	uint64_t kept;      /* time of the last event that was copied */
	bool lost;          /* that event is */
	bool blind;
};

static struct core cores[CORES];
static uint32_t known[TASKS]; /* `losses` when the task last left a core in sight */
static struct { uint32_t core; uint64_t from, to; } windows[WINDOWS];
static uint32_t n_windows, losses;
static uint64_t n_lost;
static struct event_writer *writer;
static struct rng rng;
static uint64_t per_mille;
static int64_t only = -1;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "thin: %s\n", what);
	exit(2);
}

static void put(uint32_t core, uint64_t time, uint8_t type, uint32_t what, uint16_t arg)
{
	const struct event_edge edge = { .type = type, .what = what, .arg = arg };

	must(event_writer_edge(writer, core, EVENT_DOMAIN_MONOTONIC, time, &edge) == 0, "write");
}

static void begin(uint32_t core, uint64_t time, uint8_t type, uint32_t what, uint16_t arg)
{
	must(event_track_begin(&cores[core].is, time, what, arg, type), "depth");
	put(core, time, type, what, arg);
}

static void lose(uint32_t core)
{
	struct core *c = &cores[core];

	n_lost++;
	if (c->blind)
		return;
	c->blind = true;
	c->is.depth = 0;
	losses++;
	must(n_windows < WINDOWS, "too many losses");
	windows[n_windows].core = core;
	windows[n_windows].from = c->kept;
	windows[n_windows++].to = UINT64_MAX;
	begin(core, c->kept, SPAN_BLIND, 0, 0);
}

/* The next event tells which task has the core. */
static void see(uint32_t core, uint64_t time)
{
	struct core *c = &cores[core];

	c->blind = false;
	c->is.depth = 0;
	put(core, time, SPAN_BLIND | SPAN_END, 0, 0);
	for (uint32_t i = n_windows; i > 0; i--) {
		if (windows[i - 1].core != core)
			continue;
		windows[i - 1].to = time;
		break;
	}
	if (c->was.depth)
		begin(core, time, (c->was.open[0].type & SPAN_TYPE_MASK) | SPAN_CONT,
		      c->was.open[0].what, LEFT_UNKNOWN);
}

/* Whether all that happened since the task on this core left its last one is known. */
static bool remembered(const struct core *c)
{
	const struct event_open *task = &c->is.open[0];

	return c->is.depth && task->what < TASKS && known[task->what] == losses;
}

static void keep(uint32_t core, uint64_t time, const struct event_edge *edge)
{
	struct core *c = &cores[core];
	const uint8_t type = edge->type & SPAN_TYPE_MASK;
	uint16_t arg = edge->arg;

	if (edge->type & SPAN_END) {
		if (event_track_find(&c->is, edge->what, type) < 0)
			return;
		c->is.depth--;
		put(core, time, edge->type, edge->what, arg);
		if (type == SPAN_TASK && edge->what < TASKS)
			known[edge->what] = losses;
		return;
	}
	if (type == SPAN_TASK && (edge->what >= TASKS || known[edge->what] != losses))
		arg = LEFT_UNKNOWN;
	if ((type == SPAN_SYSCALL || type == SPAN_FAULT) && (edge->type & SPAN_CONT) &&
	    !remembered(c))
		return;
	begin(core, time, edge->type, edge->what, arg);
}

static bool chosen(uint32_t core)
{
	return (only < 0 || only == core) && rng_below(&rng, 1000) < per_mille;
}

static void take(uint32_t core, uint64_t time, const struct event_edge *edge)
{
	struct core *c = &cores[core];

	if (!c->now)
		c->kept = time;
	if (time != c->now) {
		c->now = time;
		c->lost = chosen(core);
		if (c->lost)
			lose(core);
		else if (c->blind)
			see(core, time);
		if (!c->lost)
			c->kept = time;
	}
	if (!c->lost)
		keep(core, time, edge);
	if (!(edge->type & SPAN_END))
		must(event_track_begin(&c->was, time, edge->what, edge->arg, edge->type), "depth");
	else if (c->was.depth)
		c->was.depth--;
}

static void take_edges(const struct event_block *block)
{
	struct event_edge edge;

	must(block->core < CORES, "a core's number");
	for (uint32_t i = 0; i < block->count; i++) {
		event_block_copy(block, i, &edge, sizeof(edge));
		take(block->core, block->first + edge.dt, &edge);
	}
}

/* Returns whether the core recorded nothing at that time. */
static bool unseen(uint32_t core, uint64_t time)
{
	for (uint32_t i = 0; i < n_windows; i++)
		if (windows[i].core == core && windows[i].from < time && time < windows[i].to)
			return true;
	return false;
}

static void take_wakes(const struct event_block *block)
{
	struct event_wake wake;

	for (uint32_t i = 0; i < block->count; i++) {
		event_block_copy(block, i, &wake, sizeof(wake));
		if (!unseen(block->core, wake.time))
			must(event_writer_span(writer, block->core, EVENT_DOMAIN_MONOTONIC, EV_WAKE,
					       wake.time, wake.time, &wake) == 0, "write");
	}
}

static void pass(struct event_source *source, bool wakes)
{
	struct event_block block;
	int err;

	must(event_source_rewind(source) == 0, "rewind");
	while ((err = event_source_next(source, &block)) > 0) {
		if (block.kind == EV_WAKE && wakes)
			take_wakes(&block);
		if (block.kind == EV_WAKE || wakes)
			continue;
		if (block.kind == EV_EDGE)
			take_edges(&block);
		else
			must(event_writer_copy(writer, &block) == 0, "write");
	}
	must(err == 0, "read");
}

int main(int argc, char **argv)
{
	const struct event_writer_options options = { .started_ns = 1 };
	struct event_reader *reader;
	struct event_loss loss = { .why = LOSS_PRODUCER, .kind = EV_EDGE };
	int fd;

	must(argc == 4 || argc == 5, "usage: thin IN OUT PER_MILLE [CORE]");
	must(event_reader_open(&reader, argv[1]) == 0, argv[1]);
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && event_writer_new(&writer, fd, &options) == 0, argv[2]);
	per_mille = strtoul(argv[3], NULL, 10);
	if (argc == 5)
		only = strtol(argv[4], NULL, 10);
	rng_init(&rng, 1);
	pass(event_reader_source(reader), false);
	for (uint32_t i = 0; i < CORES; i++)
		if (cores[i].blind)
			put(i, cores[i].now, SPAN_BLIND | SPAN_END, 0, 0);
	pass(event_reader_source(reader), true);
	loss.records = n_lost;
	if (n_lost)
		must(event_writer_put(writer, EVENT_CORE_NONE, EV_LOSS, 0, &loss,
				      sizeof(loss)) == 0, "write");
	must(event_writer_close(writer) == 0, "close");
	event_reader_free(reader);
	printf("%" PRIu64 "\n", n_lost);
	return 0;
}
