/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a recording's messages and CPU activity, a line each: trace FILE. Times in ns.
 *
 *	flow ID PROTOCOL LOCAL_PORT REMOTE_PORT
 *	message ID FLOW TID BYTES FIRST LAST DIRECTION OFFSET then ROLE CORE BEGIN END STAGE of each
 *	piece
 *	span CORE TYPE DEPTH BEGIN END ARG [resumed] [cut] WHAT
 *	wake TIME INTERRUPT TASK | WAKER
 *	loss KIND RECORDS
 *
 * Exit code 1: a core's spans don't follow each other without gap and overlap at depth 0.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/dict.h"
#include "event/reader.h"
#include "event/spans.h"
#include "../sim/event_words.h"

#define CORES 4096

static struct event_dict *dict;
static struct event_walk *walks[CORES];
static uint64_t until[CORES]; /* where the last span at depth 0 ended */
static int broken;

static void print_record(const struct event *event)
{
	const struct event_flow *flow = event->payload;
	const struct event_message *m = event->payload;
	const struct event_piece *piece = (const void *)(m + 1);
	const struct event_loss *loss = event->payload;

	if (event->kind == EV_NAME) {
		event_dict_set(dict, event);
	} else if (event->kind == EV_FLOW) {
		printf("flow %u %s %u %u\n", flow->id, protocol_name(flow->protocol),
		       flow->local_port, flow->remote_port);
	} else if (event->kind == EV_LOSS) {
		printf("loss %s %" PRIu64 "\n", event_kind_name(loss->kind),
		       (uint64_t)loss->records);
	} else if (event->kind == EV_MESSAGE) {
		printf("message %" PRIu64 " %u %u %u %" PRIu64 " %" PRIu64 " %s %" PRIu64,
		       (uint64_t)m->id, m->flow, m->tid, m->bytes, (uint64_t)m->first,
		       (uint64_t)m->last, direction_name(m->direction), (uint64_t)m->offset);
		for (uint32_t i = 0; i < m->n; i++)
			printf(" %u %d %" PRIu64 " %" PRIu64 " %s", piece[i].role,
			       (int)piece[i].core, (uint64_t)piece[i].begin,
			       (uint64_t)piece[i].end, stage_name(piece[i].flags));
		printf("\n");
	}
}

static const char *what_of(const struct event_span *span, char *buf, size_t size)
{
	const char *name = span->type == SPAN_TASK ? event_dict_get(dict, DICT_TASK, span->what) :
			   span->type == SPAN_FUNCTION ?
			   event_dict_get(dict, DICT_SYMBOL, span->what) : NULL;

	snprintf(buf, size, "%u", span->what);
	return name ? name : buf;
}

static void print_spans(const struct event_block *block)
{
	struct event_span span;
	char buf[16];

	if (block->core >= CORES)
		exit(2);
	if (!walks[block->core])
		walks[block->core] = calloc(1, sizeof(**walks));
	event_walk_block(walks[block->core], block);
	while (event_walk_next(walks[block->core], &span)) {
		printf("span %u %s %u %" PRIu64 " %" PRIu64 " %u%s%s %s\n", block->core,
		       span_type_name(span.type), span.depth, span.begin, span.end, span.arg,
		       span.resumed ? " resumed" : "", span.cut ? " cut" : "",
		       what_of(&span, buf, sizeof(buf)));
		if (span.depth)
			continue;
		if (until[block->core] && until[block->core] != span.begin)
			broken = 1;
		until[block->core] = span.end;
	}
}

static void print_wakes(const struct event_block *block)
{
	struct event_wake wake;

	for (uint32_t i = 0; i < block->count; i++) {
		event_block_copy(block, i, &wake, sizeof(wake));
		printf("wake %" PRIu64 " %u %s | %s\n", (uint64_t)wake.time, wake.flags,
		       event_dict_get(dict, DICT_TASK, wake.task),
		       event_dict_get(dict, DICT_TASK, wake.waker));
	}
}

int main(int argc, char **argv)
{
	struct event_reader *reader;
	struct event_block block;
	struct event event;
	int err = argc == 2 ? event_reader_open(&reader, argv[1]) : -1;

	dict = event_dict_new();
	if (err || !dict)
		return 2;
	while ((err = event_source_next(event_reader_source(reader), &block)) > 0) {
		size_t at = 0;

		if (block.kind == EV_EDGE)
			print_spans(&block);
		else if (block.kind == EV_WAKE)
			print_wakes(&block);
		else if (!block.record_size)
			while (event_block_next(&block, &at, &event))
				print_record(&event);
	}
	for (uint32_t i = 0; i < CORES; i++)
		free(walks[i]);
	event_reader_free(reader);
	event_dict_free(dict);
	return err ? 2 : broken;
}
