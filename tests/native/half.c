/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half IN OUT NETNS HOST SHIFT: of a recording of `conns`, the connections of one network namespace
 * (its cookie), as if it had been made on a host of that name whose monotonic clock is SHIFT
 * seconds behind. Each record stays what it was; realtime is the same.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "event/reader.h"
#include "event/writer.h"

#define FLOWS_MAX 65536

struct half {
	struct event_writer *writer;
	uint64_t netns, shift_ns;
	const char *host;
	uint64_t cookies[FLOWS_MAX]; /* by flow */
};

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "half: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void move(const struct half *h, __u64 *time)
{
	*time -= *time ? h->shift_ns : 0;
}

static void take_conn(struct half *h, struct event_conn *e)
{
	if (e->flow >= FLOWS_MAX || h->cookies[e->flow] != h->netns)
		return;
	move(h, &e->from);
	move(h, &e->to);
	move(h, &e->loss_first);
	move(h, &e->loss_last);
	move(h, &e->write_first);
	move(h, &e->lost_reply);
	check(event_writer_span(h->writer, EVENT_CORE_NONE, EVENT_DOMAIN_MONOTONIC, EV_CONN,
				e->from, e->to, e), "a connection");
}

static void take_fact(struct half *h, const struct event *event)
{
	const char *key, *value;

	event_fact_get(event, &key, &value);
	check(event_put_fact(event_writer_sink(h->writer), event->time - h->shift_ns, key,
			     strcmp(key, "run.host") ? value : h->host), "a fact");
}

static void take_record(struct half *h, const struct event *event)
{
	union {
		struct event_interval interval;
		struct event_clock clock;
		struct event_flow flow;
		unsigned char bytes[EVENT_PAYLOAD_MAX];
	} copy;

	if (event->kind == EV_FACT) {
		take_fact(h, event);
		return;
	}
	memcpy(copy.bytes, event->payload, event->size);
	if (event->kind == EV_INTERVAL) {
		move(h, &copy.interval.from_ns);
		move(h, &copy.interval.to_ns);
	} else if (event->kind == EV_CLOCK) {
		move(h, &copy.clock.mono_ns);
		copy.clock.realtime_minus_mono_ns += (int64_t)h->shift_ns;
	} else if (event->kind == EV_FLOW && copy.flow.id < FLOWS_MAX) {
		h->cookies[copy.flow.id] = copy.flow.netns_cookie;
		if (copy.flow.netns_cookie != h->netns)
			return; /* its addresses are another host's */
	}
	check(event_writer_put(h->writer, event->core, event->kind, event->time - h->shift_ns,
			       copy.bytes, event->size), "a record");
}

static void take(struct half *h, const struct event_block *block)
{
	struct event event;
	struct event_conn e;
	size_t at = 0;

	for (uint32_t i = 0; block->kind == EV_CONN && i < block->count; i++) {
		event_block_copy(block, i, &e, sizeof(e));
		take_conn(h, &e);
	}
	while (!block->record_size && event_block_next(block, &at, &event))
		take_record(h, &event);
}

int main(int argc, char **argv)
{
	static struct half h;
	const struct event_writer_options options = { .raw = true, .stream = 1 };
	struct event_reader *reader;
	struct event_block block;
	int fd, err;

	if (argc != 6 || parse_u64(argv[3], &h.netns) || parse_u64(argv[5], &h.shift_ns)) {
		fprintf(stderr, "usage: half IN OUT NETNS HOST SHIFT\n");
		return 1;
	}
	h.host = argv[4];
	h.shift_ns *= NS_PER_S;
	check(event_reader_open(&reader, argv[1]), argv[1]);
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	check(fd < 0 ? -1 : 0, argv[2]);
	check(event_writer_new(&h.writer, fd, &options), argv[2]);
	while ((err = event_source_next(event_reader_source(reader), &block)) > 0)
		take(&h, &block);
	check(err, argv[1]);
	check(event_writer_close(h.writer), argv[2]);
	event_reader_free(reader);
	return close(fd) ? 1 : 0;
}
