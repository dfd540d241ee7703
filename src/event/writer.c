/* SPDX-License-Identifier: Apache-2.0 */
#include "event/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "event/kinds.h"
#include "event/pool.h"
#include "event/track.h"

/* Open spans of a core, and the number of further ones that exceeded the depth limit. */
struct event_writer_core {
	uint16_t domain;
	uint32_t refused;
	uint64_t last;
	struct event_track track;
};

struct event_writer_loss {
	uint64_t records;
	uint64_t bytes;
};

struct event_writer {
	struct event_sink sink;
	struct event_out out;
	struct event_pool pool;
	struct event_writer_core *cores[EVENT_WRITER_CORES];
	struct event_dict *dict;
	uint64_t dict_size;		/* bytes of the dictionary's records */
	uint64_t size_limit;
	bool full;
	bool reported;			/* a call has returned out.error: later calls return 0 */
	uint64_t last_time;		/* time of the last record without a core */
	struct event_writer_loss losses[LOSS_WHY_MAX][EV_KIND_MAX];
};

static void event_writer_lose(struct event_writer *w, enum event_loss_why why, uint32_t kind,
			      size_t bytes)
{
	struct event_writer_loss *loss = &w->losses[why][kind < EV_KIND_MAX ? kind : EV_NONE];

	loss->records++;
	loss->bytes += bytes;
}

static int event_writer_report(struct event_writer *w)
{
	if (!w->out.error || w->reported)
		return 0;
	w->reported = true;
	return w->out.error;
}

/* Returns the size of the footer in bytes: dictionary, index, losses, end mark. */
static uint64_t footer_size(const struct event_writer *w)
{
	const uint64_t chunks =
		w->out.n_entries + w->pool.n_buffers + w->dict_size / EVENT_BLOCK_SIZE + 8;

	return w->dict_size +
	       chunks * (sizeof(struct event_chunk) + sizeof(struct event_index_entry)) +
	       LOSS_WHY_MAX * EV_KIND_MAX * sizeof(struct event_loss) + sizeof(struct event_end);
}

static bool event_writer_has_space(const struct event_writer *w, uint64_t bytes)
{
	return !w->size_limit ||
	       w->out.offset + w->pool.buffered + bytes + footer_size(w) <= w->size_limit;
}

/*
 * Returns false after an error, or if `bytes` more exceed the size limit. The first refusal ends
 * the recording, so that it has no gaps.
 */
static bool admit(struct event_writer *w, uint32_t kind, size_t bytes)
{
	if (w->out.error)
		return false;
	if (!w->full)
		w->full = !event_writer_has_space(w, bytes);
	if (w->full)
		event_writer_lose(w, LOSS_SIZE_LIMIT, kind, bytes);
	return !w->full;
}

/* ---- records ---- */

/* Adds a name that the producer has numbered to the dictionary. */
static void learn_name(struct event_writer *w, const struct event *event, const void *payload)
{
	struct event name = *event;

	name.payload = payload;
	if (event_dict_set(w->dict, &name) == 0)
		w->dict_size += event_record_size(name.size);
}

static int add_record(struct event_writer *w, struct event_buffer *buffer,
		      const struct event *event, uint64_t begin, const struct iovec *payload,
		      int pieces, size_t size)
{
	const uint32_t at = buffer->records.size;
	struct event sized = *event;
	int err;

	err = event_records_add(&buffer->records, event, begin, payload, pieces);
	if (err)
		return err;
	event_pool_added(&w->pool, buffer->records.size - at);
	if (event_kind_info(event->kind)->defines)
		buffer->defines = true;
	sized.size = size;
	if (event->kind == EV_NAME)
		learn_name(w, &sized,
			   buffer->records.data + at + sizeof(struct event_record));
	return 0;
}

int event_writer_record(struct event_writer *w, uint16_t domain, uint64_t begin,
			const struct event *event, const struct iovec *payload, int pieces)
{
	const struct event_kind_info *info = event_kind_info(event->kind);
	const size_t size = event_payload_size(payload, pieces);
	const uint32_t core = info->defines ? EVENT_CORE_NONE : event->core;
	const uint16_t kind = info->bulk ? event->kind : EV_NONE;
	struct event_buffer *buffer;
	int err;

	if (info->version == 0 || event_kind_is_block(event->kind) || begin > event->time)
		return -EINVAL;
	if (size > EVENT_PAYLOAD_MAX)
		return -E2BIG;
	if (!admit(w, event->kind, event_record_size(size)))
		return event_writer_report(w);
	if (info->defines)
		domain = EVENT_DOMAIN_MONOTONIC;
	if (event->kind == EV_INTERVAL) {
		event_pool_flush_kind(&w->pool, EV_CONN);
		event_pool_flush_kind(&w->pool, EV_CALL);
	}
	buffer = event_pool_get(&w->pool, kind, domain, core);
	if (!buffer)
		return -ENOMEM;
	if (!event_records_fit(&buffer->records, size))
		event_pool_flush(&w->pool, buffer);
	err = add_record(w, buffer, event, begin, payload, pieces, size);
	if (err)
		return err;
	if (buffer == w->pool.common)
		w->last_time = event->time;
	return event_writer_report(w);
}

int event_writer_put(struct event_writer *w, uint32_t core, uint16_t kind, uint64_t time_ns,
		     const void *payload, size_t size)
{
	const struct event event = { .kind = kind, .core = core, .time = time_ns };
	const struct iovec piece = { .iov_base = (void *)payload, .iov_len = size };

	return event_writer_record(w, EVENT_DOMAIN_MONOTONIC, time_ns, &event, &piece, 1);
}

static int sink_put(struct event_sink *sink, const struct event *event,
		    const struct iovec *payload, int pieces)
{
	struct event_writer *w = (void *)((char *)sink - offsetof(struct event_writer, sink));

	return event_writer_record(w, EVENT_DOMAIN_MONOTONIC, event->time, event, payload, pieces);
}

uint32_t event_writer_intern(struct event_writer *w, enum event_dict_id which, const char *text)
{
	return event_dict_intern(w->dict, which, text, &w->sink, w->last_time);
}

uint64_t event_writer_last(const struct event_writer *w)
{
	return w->last_time;
}

/* ---- blocks ---- */

int event_writer_span(struct event_writer *w, uint32_t core, uint16_t domain, uint16_t kind,
		      uint64_t begin, uint64_t end, const void *record)
{
	const struct event_kind_info *info = event_kind_info(kind);
	struct event_records *records;
	struct event_buffer *buffer;

	if (info->version == 0 || !event_kind_is_block(kind) || kind == EV_EDGE)
		return -EINVAL;
	if (begin > end || event_check(kind, info->version, record, info->size))
		return -EINVAL;
	if (!admit(w, kind, info->size))
		return event_writer_report(w);
	buffer = event_pool_get(&w->pool, kind, domain, core);
	if (!buffer)
		return -ENOMEM;
	records = &buffer->records;
	if (records->size + info->size > EVENT_BLOCK_SIZE)
		event_pool_flush(&w->pool, buffer);
	memcpy(records->data + records->size, record, info->size);
	event_range_add(&records->range, begin, end, records->count == 0);
	records->size += info->size;
	records->count++;
	event_pool_added(&w->pool, info->size);
	return event_writer_report(w);
}

static struct event_writer_core *get_core(struct event_writer *w, uint32_t id, uint16_t domain)
{
	if (id >= EVENT_WRITER_CORES)
		return NULL;
	if (!w->cores[id]) {
		w->cores[id] = calloc(1, sizeof(struct event_writer_core));
		if (w->cores[id])
			w->cores[id]->domain = domain;
	}
	return w->cores[id];
}

/*
 * Begins a chunk of span edges (EV_EDGE) with the core's open spans, so that a reader can start at
 * this chunk.
 */
static void start_edges(struct event_writer *w, struct event_buffer *buffer,
			const struct event_writer_core *core, uint64_t time)
{
	const struct event_track *track = &core->track;
	const size_t size = track->depth * sizeof(track->open[0]);

	memcpy(buffer->records.data, track->open, size);
	buffer->records.size = size;
	buffer->n_open = track->depth;
	event_pool_added(&w->pool, size);
	event_range_add(&buffer->records.range, track->depth ? track->open[0].begin : time, time,
			true);
}

static int add_edge(struct event_writer *w, uint32_t id, struct event_writer_core *core,
		    uint64_t time, const struct event_edge *edge)
{
	struct event_buffer *buffer = event_pool_get(&w->pool, EV_EDGE, core->domain, id);
	struct event_records *records;
	struct event_edge copy = *edge;

	if (!buffer)
		return -ENOMEM;
	records = &buffer->records;
	if (records->count && (records->size + sizeof(copy) > EVENT_BLOCK_SIZE ||
			       time - records->range.first > UINT32_MAX))
		event_pool_flush(&w->pool, buffer);
	if (records->count == 0)
		start_edges(w, buffer, core, time);
	copy.dt = time - records->range.first;
	memcpy(records->data + records->size, &copy, sizeof(copy));
	records->size += sizeof(copy);
	records->count++;
	records->range.last = time;
	event_pool_added(&w->pool, sizeof(copy));
	core->last = time;
	return 0;
}

/* Ends the innermost spans until `depth` are open; SPAN_CONT: the spans are cut, not over. */
static int end_down_to(struct event_writer *w, uint32_t id, struct event_writer_core *core,
		       uint64_t time, uint32_t depth, uint8_t flags)
{
	struct event_track *track = &core->track;

	while (track->depth > depth) {
		const struct event_edge edge = event_track_end(track, flags);
		int err = add_edge(w, id, core, time, &edge);

		if (err)
			return err;
		track->depth--;
	}
	return 0;
}

static int begin_span(struct event_writer *w, uint32_t id, struct event_writer_core *core,
		      uint64_t time, const struct event_edge *edge)
{
	struct event_edge copy = *edge;
	int err = 0;

	if ((edge->type & SPAN_TYPE_MASK) == SPAN_BLIND) {
		core->refused = 0;
		err = end_down_to(w, id, core, time, 0, SPAN_CONT);
	}
	if (err)
		return err;
	if (core->refused || core->track.depth == EVENT_DEPTH_MAX) {
		core->refused++;
		event_writer_lose(w, LOSS_TOO_DEEP, EV_EDGE, 2 * sizeof(*edge));
		return 0;
	}
	copy.depth = core->track.depth;
	err = add_edge(w, id, core, time, &copy);
	if (!err)
		event_track_begin(&core->track, time, edge->what, edge->arg, edge->type);
	return err;
}

/* Ends a span. Inner spans that are still open have lost their ends and are cut. */
static int end_span(struct event_writer *w, uint32_t id, struct event_writer_core *core,
		    uint64_t time, const struct event_edge *edge)
{
	struct event_edge copy = *edge;
	int depth, err;

	if (core->refused) {
		core->refused--;
		return 0;
	}
	depth = event_track_find(&core->track, edge->what, edge->type);
	if (depth < 0) {
		event_writer_lose(w, LOSS_PRODUCER, EV_EDGE, sizeof(*edge));
		return 0;
	}
	err = end_down_to(w, id, core, time, depth + 1, SPAN_CONT);
	if (err)
		return err;
	copy.depth = depth;
	err = add_edge(w, id, core, time, &copy);
	if (!err)
		core->track.depth = depth;
	return err;
}

int event_writer_edge(struct event_writer *w, uint32_t id, uint16_t domain, uint64_t time,
		      const struct event_edge *edge)
{
	const unsigned int type = edge->type & SPAN_TYPE_MASK;
	struct event_writer_core *core = get_core(w, id, domain);
	int err;

	if (id >= EVENT_WRITER_CORES || type == SPAN_NONE || type >= SPAN_TYPE_MAX)
		return -EINVAL;
	if (!core)
		return -ENOMEM;
	if (core->domain != domain)
		return -EINVAL;
	if (!admit(w, EV_EDGE, sizeof(*edge)))
		return event_writer_report(w);
	if (time < core->last) {
		event_writer_lose(w, LOSS_OUT_OF_ORDER, EV_EDGE, sizeof(*edge));
		return 0;
	}
	if (edge->type & SPAN_END)
		err = end_span(w, id, core, time, edge);
	else
		err = begin_span(w, id, core, time, edge);
	return err ? err : event_writer_report(w);
}

/* ---- copying ---- */

static int copy_records(struct event_writer *w, const struct event_block *block)
{
	struct event event;
	size_t at = 0;
	int err = 0;

	while (!err && event_block_next(block, &at, &event)) {
		const struct iovec piece = {
			.iov_base = (void *)event.payload,
			.iov_len = event.size,
		};
		const bool bulk = event_kind_info(event.kind)->bulk;
		const uint64_t begin = bulk ? block->reach : event.time;

		err = event_writer_record(w, block->domain, begin, &event, &piece, 1);
	}
	return err;
}

/* Copies a whole block, after the buffered records of its kind, domain and core. */
static int copy_block(struct event_writer *w, const struct event_block *block)
{
	struct event_buffer *buffer =
		event_pool_get(&w->pool, block->kind, block->domain, block->core);
	const size_t open_size = block->n_open * sizeof(struct event_open);
	struct event_records *records;

	if (!buffer)
		return -ENOMEM;
	if (block->record_size != event_kind_info(block->kind)->size)
		return -EINVAL;
	if (!admit(w, block->kind, open_size + block->size))
		return event_writer_report(w);
	event_pool_flush(&w->pool, buffer);
	records = &buffer->records;
	BUG_ON(open_size + block->size > EVENT_BLOCK_SIZE);
	if (open_size)
		memcpy(records->data, block->open, open_size);
	memcpy(records->data + open_size, block->data, block->size);
	records->range = (struct event_range){ block->first, block->last, block->reach };
	records->count = block->count;
	records->size = open_size + block->size;
	buffer->n_open = block->n_open;
	event_pool_added(&w->pool, records->size);
	event_pool_flush(&w->pool, buffer);
	return event_writer_report(w);
}

int event_writer_copy(struct event_writer *w, const struct event_block *block)
{
	return block->record_size ? copy_block(w, block) : copy_records(w, block);
}

bool event_writer_fits(const struct event_writer *w, const struct event_block *block)
{
	/* headers and index entries of the two chunks that the block may begin */
	uint64_t bytes = 2 * (sizeof(struct event_chunk) + sizeof(struct event_index_entry));
	struct event event;
	size_t at = 0;

	if (block->record_size)
		bytes += block->n_open * sizeof(struct event_open) + block->size;
	/* a name (EV_NAME) counts twice: the dictionary at the end of the file repeats it */
	while (!block->record_size && event_block_next(block, &at, &event))
		bytes += event_record_size(event.size) * (event.kind == EV_NAME ? 2 : 1);
	return !w->full && event_writer_has_space(w, bytes);
}

/* ---- creation and release ---- */

static uint32_t cores_of(const struct event_writer_options *options)
{
	const long cores = options->cores ? options->cores : sysconf(_SC_NPROCESSORS_CONF);

	return cores < 1 ? 1 : cores > EVENT_WRITER_CORES ? EVENT_WRITER_CORES : (uint32_t)cores;
}

int event_writer_new(struct event_writer **out, int fd, const struct event_writer_options *options)
{
	struct event_file_header header = {
		.started_ns = options->started_ns,
		.clock_error_ns = options->clock_error_ns,
		.clock = options->clock ? options->clock : DOMAIN_MONO,
		.stream = options->stream,
	};
	struct event_writer *w;
	int err;

	if (options->size_limit && options->size_limit < EVENT_SIZE_LIMIT_MIN)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->sink.put = sink_put;
	w->size_limit = options->size_limit;
	w->dict = event_dict_new();
	err = w->dict ? event_out_init(&w->out, fd, &header, options->raw) : -ENOMEM;
	if (!err)
		err = event_pool_init(&w->pool, &w->out, cores_of(options));
	if (err) {
		event_writer_free(w);
		return err;
	}
	*out = w;
	return 0;
}

struct event_sink *event_writer_sink(struct event_writer *w)
{
	return &w->sink;
}

int event_writer_flush(struct event_writer *w)
{
	event_pool_flush_all(&w->pool);
	return event_writer_report(w);
}

bool event_writer_full(const struct event_writer *w)
{
	return w->full;
}

static void event_writer_put_losses(struct event_writer *w)
{
	for (uint32_t why = 0; why < LOSS_WHY_MAX; why++) {
		for (uint32_t kind = 0; kind < EV_KIND_MAX; kind++) {
			const struct event_writer_loss *loss = &w->losses[why][kind];
			const struct event_loss payload = {
				.why = why,
				.kind = kind,
				.records = loss->records,
				.bytes = loss->bytes,
			};

			if (loss->records)
				event_writer_put(w, EVENT_CORE_NONE, EV_LOSS, w->last_time,
						 &payload, sizeof(payload));
		}
	}
}

static void put_repeat(struct event_writer *w, const struct event_name *name, const char *text)
{
	struct event_buffer *buffer = w->pool.common;
	const struct event event = { .kind = EV_NAME };
	const struct iovec pieces[] = {
		{ .iov_base = (void *)name, .iov_len = sizeof(*name) },
		{ .iov_base = (void *)text, .iov_len = strlen(text) + 1 },
	};

	if (!event_records_fit(&buffer->records, event_payload_size(pieces, 2))) {
		event_pool_write(&w->pool, buffer, CHUNK_REPEAT);
		event_records_clear(&buffer->records);
	}
	event_records_add(&buffer->records, &event, 0, pieces, 2);
}

/*
 * Writes all names again, in chunks that only event_reader_names() reads. Returns the offset of the
 * first such chunk; 0 without names.
 */
static uint64_t write_dict(struct event_writer *w)
{
	struct event_buffer *buffer = w->pool.common;
	const uint64_t offset = w->out.offset;

	for (uint32_t which = 0; which < DICT_MAX; which++) {
		for (uint32_t id = 1; id <= event_dict_len(w->dict, which); id++) {
			const struct event_name name = { .dict = which, .id = id };
			const char *text = event_dict_get(w->dict, which, id);

			if (text)
				put_repeat(w, &name, text);
		}
	}
	if (buffer->records.count)
		event_pool_write(&w->pool, buffer, CHUNK_REPEAT);
	event_records_clear(&buffer->records);
	return w->out.offset > offset ? offset : 0;
}

int event_writer_close(struct event_writer *w)
{
	uint64_t dict;
	int err;

	event_pool_flush_all(&w->pool);
	w->losses[LOSS_DICT_FULL][EV_NAME].records = event_dict_refused(w->dict);
	w->size_limit = 0;
	w->full = false;
	event_writer_put_losses(w);
	event_pool_flush(&w->pool, w->pool.common);
	dict = write_dict(w);
	event_out_end(&w->out, dict);
	err = w->out.error;
	event_writer_free(w);
	return err;
}

void event_writer_free(struct event_writer *w)
{
	if (!w)
		return;
	event_out_release(&w->out);
	event_pool_release(&w->pool);
	for (uint32_t i = 0; i < EVENT_WRITER_CORES; i++)
		free(w->cores[i]);
	event_dict_free(w->dict);
	free(w);
}
