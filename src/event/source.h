/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources and sinks of events. An analysis pulls blocks from a struct event_source, which is a file
 * (event/reader.h), a queue (event/memsource.h) or a live probe; a producer puts events into a
 * struct event_sink, which is a file (event/writer.h) or a queue. Neither is safe for use by two
 * threads at once.
 */
#ifndef HOSTLAT_EVENT_SOURCE_H
#define HOSTLAT_EVENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/strbuf.h"
#include "event/layout.h"

#define EVENT_CORE_NONE UINT32_MAX	/* an event without a core */
#define EVENT_BLOCK_SIZE 65536u		/* most bytes of a block's data */
#define EVENT_PAYLOAD_MAX (EVENT_BLOCK_SIZE - 16)	/* most bytes of a record's payload */

/* A record. Its payload is aligned to 8 bytes and has the shape of its kind. */
struct event {
	uint16_t kind;		/* kind below EV_RECORD_MAX */
	uint32_t core;
	uint64_t time;		/* in the block's clock domain */
	uint32_t size;		/* bytes of payload */
	const void *payload;
};

/*
 * A block of events of one core and one clock domain. With `record_size` 0 they are records: walk
 * them with event_block_next(). Otherwise `data` is an array of `count` structs of `record_size`
 * bytes, which may exceed the known struct: step by record_size.
 */
struct event_block {
	uint16_t kind;		/* kind of all records; EV_NONE: low-rate kinds */
	uint16_t domain;	/* clock domain; default EVENT_DOMAIN_MONOTONIC */
	uint32_t core;
	uint32_t count;
	uint32_t record_size;
	uint64_t first;		/* time of the first record; EV_EDGE: time from which `dt` counts */
	uint64_t last;		/* time of the last record */
	uint64_t reach;		/* earliest begin of any event in the block */
	uint32_t n_open;	/* EV_EDGE: spans open when the block begins, outermost first */
	const struct event_open *open;
	size_t size;		/* bytes of data */
	const void *data;	/* aligned to 8 bytes */
};

/* Losses of a source since it was opened or rewound: they make results partial. */
struct event_damage {
	uint64_t bytes;		/* skipped bytes, and missing ones as far as known */
	uint64_t chunks;	/* missing chunks, by their sequence numbers */
	uint64_t records;	/* invalid records: skipped */
	uint64_t unknown;	/* records of unknown kinds or versions: skipped */
	uint32_t reasons;	/* mask of DAMAGE_* */
};

enum {
	DAMAGE_CUT = 1,		/* no end mark */
	DAMAGE_CHECKSUM = 2,
	DAMAGE_GARBAGE = 4,	/* bytes that belong to no chunk */
	DAMAGE_GAP = 8,		/* sequence numbers are missing */
	DAMAGE_INVALID = 16,	/* valid checksum, but invalid values */
	DAMAGE_VERSION = 32,	/* newer version of a known kind; unknown kinds are no damage */
	DAMAGE_READ = 64,	/* read() failed */
	DAMAGE_REASONS = 7,	/* number of DAMAGE_* bits */
};

/* The time window of seek(), half open: from <= t < to. */
struct event_window {
	uint16_t kind;		/* EV_MESSAGE or a kind of blocks; EV_NONE: low-rate kinds */
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
	 * Returns 1 and the next block; 0 at the end (live source: nothing more for now); or
	 * -errno. The block is valid until the next call on this source.
	 */
	int (*next)(struct event_source *source, struct event_block *block);

	/* Returns to the first block; ends a seek. 0, or -ESPIPE if the past is gone. */
	int (*rewind)(struct event_source *source);

	/*
	 * From here to the next rewind or seek, next() returns only the blocks of a window: all
	 * with an event of its kind, core and domain that overlaps the window, including spans that
	 * began earlier. Blocks are whole: callers clip events outside the window. -ESPIPE if the
	 * source cannot seek.
	 */
	int (*seek)(struct event_source *source, const struct event_window *window);

	/* Fills in the losses so far; never fails. */
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
 * Walks a block of records; `*at` is 0 at first. Skips records that this version cannot read (the
 * source has counted them). Returns false at the end. The event is valid as long as the block.
 */
bool event_block_next(const struct event_block *block, size_t *at, struct event *event);

/*
 * Copies the payload of an event whose kind may have grown (GROWN in event/kinds.c) to `out`,
 * `size` bytes: members that an older file lacks are 0.
 */
void event_copy(const struct event *event, void *out, size_t size);

/* Copies record `i` of a block of fixed-size records; members that an older file lacks are 0. */
void event_block_copy(const struct event_block *block, uint32_t i, void *out, size_t size);

/*
 * Returns record `i` in place, valid as long as the block; or a copy in `room` (`size` bytes) if
 * the record is shorter or unaligned.
 */
const void *event_block_record(const struct event_block *block, uint32_t i, void *room,
			       size_t size);

struct event_sink {
	/*
	 * Stores a copy of one record with its payload in pieces. Returns 0 or -errno: -EINVAL if
	 * the payload does not have the shape of its kind, -E2BIG beyond EVENT_PAYLOAD_MAX.
	 */
	int (*put)(struct event_sink *sink, const struct event *event, const struct iovec *payload,
		   int pieces);
};

/* Puts a record without a core: `event_put(sink, EV_COUNT, time, &count, sizeof(count))`. */
int event_put(struct event_sink *sink, uint16_t kind, uint64_t time, const void *payload,
	      size_t size);

/* Puts a struct and its array: EV_HIST with its buckets, EV_MESSAGE with its pieces. */
int event_put_array(struct event_sink *sink, uint16_t kind, uint64_t time, const void *head,
		    size_t head_size, const void *array, size_t array_size);

int event_put_fact(struct event_sink *sink, uint64_t time, const char *key, const char *value);
int event_put_name(struct event_sink *sink, uint64_t time, uint32_t dict, uint32_t id,
		   const char *text);

/* Returns the key and value of an EV_FACT; both point into the payload. */
void event_fact_get(const struct event *event, const char **key, const char **value);

/* Appends the names of a source's damage, such as "cut, gap"; nothing if there is none. */
void event_damage_put(const struct event_damage *damage, struct strbuf *out);

#endif
