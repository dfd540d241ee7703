/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an event file to any descriptor, a pipe too: nothing is ever sought back. The format and
 * its reasons: docs/design/event-format.md.
 *
 * Memory is bounded: 24 MiB of open chunks, shared by all cores and kinds (the one longest
 * untouched is written early when they are used up), the open spans of each core, the dictionary,
 * and 1024 index entries.
 *
 * The time of a core's span edges must not go backwards; otherwise any order will do. In the file
 * an EV_CONN or EV_CALL and the EV_INTERVALs before and behind it keep their order.
 *
 * Errors. The first failure of the descriptor is returned once, by the call that met it; after it
 * everything is dropped, calls return 0, and event_writer_close() returns the error again. So a
 * recorder that must go on measuring reports it once, and the file is readable up to the failure.
 */
#ifndef HOSTLAT_EVENT_WRITER_H
#define HOSTLAT_EVENT_WRITER_H

#include "clock/domain.h"
#include "event/dict.h"
#include "event/source.h"

#define EVENT_SIZE_LIMIT_MIN 65536u
#define EVENT_WRITER_CORES 4096u	/* cores that may have open spans */

struct event_writer_options {
	bool raw;		/* don't compress */
	uint64_t size_limit;	/* bytes of the whole file; 0 = none. What it cost is an EV_LOSS */
	uint64_t started_ns;	/* CLOCK_REALTIME of the start, for the header */
	uint64_t clock_error_ns;/* bound of the error of this stream's clock against its domain */
	enum clock_domain clock;/* of times in here that name no other; 0 = monotonic */
	uint32_t cores;		/* that will have blocks; 0 = as many as this host has CPUs */
	uint32_t stream;	/* number that all chunks carry; 0 = chosen by chance */
};

struct event_writer;

/* The descriptor stays the caller's. Writes the header. Returns 0 or -errno. */
int event_writer_new(struct event_writer **out, int fd, const struct event_writer_options *options);

/* For records of any kind below EV_RECORD_MAX. Valid as long as the writer. */
struct event_sink *event_writer_sink(struct event_writer *writer);

/* One record of `kind` (below EV_RECORD_MAX), in the monotonic domain. */
int event_writer_put(struct event_writer *writer, uint32_t core, uint16_t kind, uint64_t time_ns,
		     const void *payload, size_t size);

/*
 * A span begins or ends on a core: `edge->type`, `what` and `arg` count, with SPAN_END for an end;
 * `dt` and `depth` are filled in here. An end closes the innermost span; one without an open span,
 * a span nested too deep and its end, and a time before the core's last are dropped and counted
 * as loss: returns 0. The begin of a SPAN_BLIND ends all open spans first, with SPAN_CONT.
 */
int event_writer_edge(struct event_writer *writer, uint32_t core, uint16_t domain, uint64_t time,
		      const struct event_edge *edge);

/* One record of a block kind other than EV_EDGE, for something that went from `begin` to `end`. */
int event_writer_span(struct event_writer *writer, uint32_t core, uint16_t domain, uint16_t kind,
		      uint64_t begin, uint64_t end, const void *record);

/* One record with its own clock domain, such as an EV_MESSAGE in ticks, that began at `begin`. */
int event_writer_record(struct event_writer *writer, uint16_t domain, uint64_t begin,
			const struct event *event, const struct iovec *payload, int pieces);

/* Everything of a block, as a source gave it: recording what an analysis reads. */
int event_writer_copy(struct event_writer *writer, const struct event_block *block);

/* Whether all of a block can be taken without the size limit. */
bool event_writer_fits(const struct event_writer *writer, const struct event_block *block);

/* The number of a name; puts EV_NAME when it is new. Names precede their use in the file. */
uint32_t event_writer_intern(struct event_writer *writer, enum event_dict_id which,
			     const char *text);

/* Writes what is buffered: what a kill -9 can't take away any more. */
int event_writer_flush(struct event_writer *writer);

/* True once the size limit has ended the recording. */
bool event_writer_full(const struct event_writer *writer);

/* Flushes, writes losses, dictionary, index and end mark, and frees. 0 or the first error. */
int event_writer_close(struct event_writer *writer);

/* Frees without writing anything more. */
void event_writer_free(struct event_writer *writer);

#endif
