/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/stream.h"

#include <errno.h>

#include "base/heap.h"
#include "base/parse.h"

#define NO_TIME UINT64_MAX

/* stream_cover() skips a gap in time that is longer than this, in ns; otherwise it reads on. */
#define SKIP_NS (20 * NS_PER_MS)

/* Events of one kind from one core. */
struct lane {
	struct event_reader *reader;
	struct event_window window;
	struct event_block block;
	uint32_t at;      /* index of the next record in `block` */
	uint64_t time;    /* time of the next record; NO_TIME: there is none */
	struct event_damage damage; /* damage of the recording found up to this block */
};

struct activity_stream {
	struct cpu_history *history;
	struct lane *lanes;
	/* lanes (events of one kind from one core); the first has the earliest record */
	void **heap;
	uint32_t n;
	uint64_t covered; /* latest time that stream_cover() has fed, in ns; 0: none */
};

int stream_cores(struct event_reader *reader)
{
	uint32_t cores[CPU_HISTORY_CORES];
	int n = event_reader_cores(reader, EV_EDGE, cores, CPU_HISTORY_CORES);

	if (n <= 0)
		return n;
	if (n > (int)CPU_HISTORY_CORES || cores[n - 1] >= CPU_HISTORY_CORES)
		return -E2BIG;
	return (int)cores[n - 1] + 1;
}

static int lanes_open(struct activity_stream *s, struct event_reader *reader, uint16_t kind)
{
	uint32_t cores[CPU_HISTORY_CORES];
	int n = event_reader_cores(reader, kind, cores, CPU_HISTORY_CORES);

	if (n < 0)
		return n;
	for (int i = 0; i < n && i < (int)CPU_HISTORY_CORES; i++) {
		struct lane *lane = &s->lanes[s->n];
		int err = event_reader_dup(&lane->reader, reader);

		if (err)
			return err;
		lane->window = (struct event_window){ .kind = kind, .core = cores[i] };
		s->n++;
	}
	return 0;
}

int stream_open(struct activity_stream **out, struct event_reader *reader,
		struct cpu_history *history)
{
	struct activity_stream *s = calloc(1, sizeof(*s));
	int err;

	*out = s;
	if (!s)
		return -ENOMEM;
	s->history = history;
	s->lanes = calloc(2 * CPU_HISTORY_CORES, sizeof(*s->lanes));
	s->heap = calloc(2 * CPU_HISTORY_CORES, sizeof(*s->heap));
	err = s->lanes && s->heap ? lanes_open(s, reader, EV_EDGE) : -ENOMEM;
	if (!err)
		err = lanes_open(s, reader, EV_WAKE);
	if (err) {
		stream_free(s);
		*out = NULL;
	}
	return err;
}

void stream_free(struct activity_stream *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		event_reader_free(s->lanes[i].reader);
	free(s->lanes);
	free(s->heap);
	free(s);
}

void stream_damage(const struct activity_stream *s, struct event_damage *damage)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct event_damage one;

		event_source_damage(event_reader_source(s->lanes[i].reader), &one);
		damage->reasons |= one.reasons;
		damage->chunks += one.chunks;
		damage->records += one.records;
	}
}

static const void *stream_record(const struct lane *lane)
{
	return (const char *)lane->block.data + (size_t)lane->at * lane->block.record_size;
}

static void lane_set_time(struct lane *lane)
{
	if (lane->window.kind == EV_EDGE)
		lane->time =
			lane->block.first + ((const struct event_edge *)stream_record(lane))->dt;
	else
		lane->time = ((const struct event_wake *)stream_record(lane))->time;
}

/* Returns true if events were lost or unreadable since the last block. */
static bool lane_has_lost(struct lane *lane)
{
	const struct event_damage before = lane->damage;

	event_source_damage(event_reader_source(lane->reader), &lane->damage);
	return lane->damage.bytes != before.bytes || lane->damage.chunks != before.chunks ||
	       lane->damage.records != before.records || lane->damage.unknown != before.unknown;
}

/* Reads the next block with records if this block has none left. Returns 0, or -errno. */
static int lane_refill(struct activity_stream *s, struct lane *lane)
{
	while (lane->at == lane->block.count) {
		int err = event_source_next(event_reader_source(lane->reader), &lane->block);

		lane->at = 0;
		if (err <= 0) {
			lane->block.count = 0;
			lane->time = NO_TIME;
			if (!err && lane->window.kind == EV_EDGE)
				cpu_history_end(s->history, lane->window.core);
			return err;
		}
		if (lane->window.kind == EV_EDGE)
			cpu_history_block(s->history, lane->window.core, &lane->block,
					  lane->window.from, lane_has_lost(lane));
	}
	lane_set_time(lane);
	return 0;
}

/* ---- merging lanes by time ---- */

static bool stream_before(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;

	return x->time != y->time ? x->time < y->time : x < y;
}

static uint64_t stream_time(const struct activity_stream *s, uint32_t at)
{
	return at < s->n ? ((const struct lane *)s->heap[at])->time : NO_TIME;
}

/* Returns the earliest time of all lanes except the first in the heap. */
static uint64_t lanes_second_time(const struct activity_stream *s)
{
	const uint64_t one = stream_time(s, 1), other = stream_time(s, 2);

	return one < other ? one : other;
}

int stream_seek(struct activity_stream *s, uint64_t from, uint64_t to)
{
	int err = 0;

	cpu_history_clear(s->history, from);
	for (uint32_t i = 0; !err && i < s->n; i++) {
		struct lane *lane = &s->lanes[i];

		lane->window.from = from;
		lane->window.to = to;
		lane->block.count = lane->at = 0;
		lane->damage = (struct event_damage){ 0 };
		err = event_source_seek(event_reader_source(lane->reader), &lane->window);
		if (!err)
			err = lane_refill(s, lane);
		s->heap[i] = lane;
	}
	if (!err)
		heap_order(s->heap, s->n, stream_before);
	return err;
}

static void stream_feed(struct activity_stream *s, struct lane *lane)
{
	if (lane->window.kind == EV_EDGE)
		cpu_history_edge(s->history, lane->window.core, lane->time, stream_record(lane));
	else
		cpu_history_wake(s->history, stream_record(lane));
}

int stream_until(struct activity_stream *s, uint64_t time)
{
	int err = 0;

	while (!err && stream_time(s, 0) != NO_TIME && stream_time(s, 0) <= time) {
		const uint64_t other = lanes_second_time(s), until = other < time ? other : time;
		struct lane *lane = s->heap[0];

		do {
			stream_feed(s, lane);
			lane->at++;
			err = lane_refill(s, lane);
		} while (!err && lane->time != NO_TIME && lane->time <= until);
		heap_sift(s->heap, s->n, 0, stream_before);
	}
	return err;
}

int stream_cover(struct activity_stream *s, uint64_t from, uint64_t until)
{
	int err = 0;

	if (!s->covered || from > s->covered + SKIP_NS)
		err = stream_seek(s, from, UINT64_MAX);
	cpu_history_trim(s->history, from);
	if (!err)
		err = stream_until(s, until);
	s->covered = until > s->covered ? until : s->covered;
	return err ? err : s->history->no_memory ? -ENOMEM : 0;
}
