/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where events come from and where they go. An analysis pulls blocks from a struct event_source and
 * never learns whether it is a file (event/reader.h), a queue (event/memsource.h) or a live probe;
 * a producer puts events into a struct event_sink and never learns whether it is a file
 * (event/writer.h) or a queue. None of these is safe for use by two threads at once.
 */
#ifndef HOSTLAT_EVENT_SOURCE_H
#define HOSTLAT_EVENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/strbuf.h"
#include "event/layout.h"

#define EVENT_CORE_NONE UINT32_MAX	/* the event belongs to no core */
#define EVENT_BLOCK_SIZE 65536u		/* the most bytes a block's data may have */
#define EVENT_PAYLOAD_MAX (EVENT_BLOCK_SIZE - 16)	/* the most bytes of one record's payload */

/* One record. The payload is aligned to 8 bytes and has the shape that its kind demands. */
struct event {
	uint16_t kind;		/* enum event_kind, below EV_RECORD_MAX */
	uint32_t core;
	uint64_t time;		/* in the block's clock domain */
	uint32_t size;		/* bytes of payload */
	const void *payload;
};

/*
 * Events that arrived together, of one core and one clock domain. With `record_size` 0 they are
 * records: walk them with event_block_next(). Otherwise `data` is an array of `count` structs of
 * `record_size` bytes, which may be more than the struct known here: step by record_size.
 */
struct event_block {
	uint16_t kind;		/* of all records; EV_NONE: various low-rate kinds */
	uint16_t domain;	/* clock domain; EVENT_DOMAIN_MONOTONIC without an EV_DOMAIN */
	uint32_t core;
	uint32_t count;
	uint32_t record_size;
	uint64_t first;		/* time of the first record; EV_EDGE: what `dt` counts from */
	uint64_t last;		/* time of the last */
	uint64_t reach;		/* the earliest time that anything in here began */
	uint32_t n_open;	/* EV_EDGE: spans open when the block begins, outermost first */
	const struct event_open *open;
	size_t size;		/* bytes of data */
	const void *data;	/* aligned to 8 bytes */
};

/* Losses of a source so far in this pass. A result that is built on it is partial. */
struct event_damage {
	uint64_t bytes;		/* skipped, or missing as far as that is known */
	uint64_t chunks;	/* missing, by their sequence numbers */
	uint64_t records;	/* that contradict themselves: skipped */
	uint64_t unknown;	/* of kinds or versions from the future: skipped */
	uint32_t reasons;	/* DAMAGE_* */
};

enum {
	DAMAGE_CUT = 1,		/* it ends without its end mark */
	DAMAGE_CHECKSUM = 2,
	DAMAGE_GARBAGE = 4,	/* bytes that belong to no chunk */
	DAMAGE_GAP = 8,		/* sequence numbers are missing */
	DAMAGE_INVALID = 16,	/* whole, but it contradicts itself */
	DAMAGE_VERSION = 32,	/* a known kind in a newer version; an unknown one is no damage */
	DAMAGE_READ = 64,	/* the file could not be read any further */
	DAMAGE_REASONS = 7,	/* how many there are */
};

/* The time window of seek(), half open: from <= t < to. */
struct event_window {
	uint16_t kind;		/* EV_NONE: the low-rate kinds, or one of EV_MESSAGE, EV_EDGE ... */
	uint16_t domain;
	uint32_t core;
	uint64_t from;
	uint64_t to;
};

struct event_source {
	const struct event_source_ops *ops;
};

struct event_source_ops {
	/*
	 * The next block: 1, or 0 at the end (a live source: nothing more for now), or -errno. The
	 * block is valid until the next call on this source.
	 */
	int (*next)(struct event_source *source, struct event_block *block);

	/* Back to the first block; ends a seek. -ESPIPE when the past is gone. */
	int (*rewind)(struct event_source *source);

	/*
	 * From here to the next rewind or seek, next() yields only the blocks that a window needs:
	 * all in which something of its kind, core and domain overlaps it, including spans that
	 * began before it. Blocks are whole: what is in them outside of the window is for the
	 * caller to clip. -ESPIPE when the source can't.
	 */
	int (*seek)(struct event_source *source, const struct event_window *window);

	/* Fills in what was lost so far; never fails. */
	void (*damage)(const struct event_source *source, struct event_damage *damage);

	void (*free)(struct event_source *source);
};

static inline int event_source_next(struct event_source *source, struct event_block *block)
{
	return source->ops->next(source, block);
}

static inline int event_source_rewind(struct event_source *source)
{
	return source->ops->rewind(source);
}

static inline int event_source_seek(struct event_source *source, const struct event_window *window)
{
	return source->ops->seek(source, window);
}

static inline void event_source_damage(const struct event_source *source,
				       struct event_damage *damage)
{
	source->ops->damage(source, damage);
}

static inline void event_source_free(struct event_source *source)
{
	if (source)
		source->ops->free(source);
}

/*
 * Walks a block of records; `*at` is 0 at first. Skips records that this version can't read (the
 * source has counted them). False at the end. The event is valid as long as the block.
 */
bool event_block_next(const struct event_block *block, size_t *at, struct event *event);

/*
 * The struct of an event whose kind has grown since its version began (GROWN in event/kinds.c):
 * `size` bytes into `out`, zeros where an older file has nothing.
 */
void event_copy(const struct event *event, void *out, size_t size);

/* The same of record `i` of a block of fixed-size records, 0 <= i < block->count. */
void event_block_copy(const struct event_block *block, uint32_t i, void *out, size_t size);

/*
 * Returns record `i` in place, valid as long as the block, or a copy in `room` (`size` bytes) if
 * the record is shorter or unaligned.
 */
const void *event_block_record(const struct event_block *block, uint32_t i, void *room,
			       size_t size);

struct event_sink {
	/*
	 * Takes a copy of one record, its payload given in pieces. Returns 0 or -errno: -EINVAL if
	 * the payload does not have the shape of its kind, -E2BIG beyond EVENT_PAYLOAD_MAX.
	 */
	int (*put)(struct event_sink *sink, const struct event *event, const struct iovec *payload,
		   int pieces);
};

/* `event_put(sink, EV_COUNT, time, &count, sizeof(count))`: a record that belongs to no core. */
int event_put(struct event_sink *sink, uint16_t kind, uint64_t time, const void *payload,
	      size_t size);

/* A struct and the array that follows it: EV_HIST and its buckets, EV_MESSAGE and its pieces. */
int event_put_array(struct event_sink *sink, uint16_t kind, uint64_t time, const void *head,
		    size_t head_size, const void *array, size_t array_size);

int event_put_fact(struct event_sink *sink, uint64_t time, const char *key, const char *value);
int event_put_name(struct event_sink *sink, uint64_t time, uint32_t dict, uint32_t id,
		   const char *text);

/* The key and value of an EV_FACT; both point into the payload. */
void event_fact_get(const struct event *event, const char **key, const char **value);

/* Appends what a damaged source lacks, such as "cut, gap"; nothing if it is whole. */
void event_damage_put(const struct event_damage *damage, struct strbuf *out);

#endif
