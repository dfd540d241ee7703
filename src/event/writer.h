/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an event file to any descriptor, also to a pipe: it never seeks back. The format and its
 * reasons: docs/design/event-format.md.
 *
 * Memory is bounded: open chunks of 64 KiB, shared by all cores and kinds (256 KiB per core,
 * rounded up to a power of two, from 32 MiB to 1 GiB; if they are used up, a chunk unused for long
 * is written early), the open spans of each core, the dictionary, and 1024 index entries.
 *
 * The time of a core's span edges must not go backwards; other events may come in any order. In the
 * file, an EV_CONN or EV_CALL and the EV_INTERVALs before and after it keep their order.
 *
 * Errors. The call that meets the first failure of the descriptor returns it; later calls drop
 * everything and return 0, and event_writer_close() returns the error again. So a recorder that
 * must go on measuring reports it once, and the file is readable up to the failure.
 */
#ifndef HOSTLAT_EVENT_WRITER_H
#define HOSTLAT_EVENT_WRITER_H

#include "clock/domain.h"
#include "event/dict.h"
#include "event/source.h"

#define EVENT_SIZE_LIMIT_MIN 65536u
#define EVENT_WRITER_CORES 4096u	/* most cores with open spans */

struct event_writer_options {
	bool raw;		/* no compression */
	uint64_t size_limit;	/* bytes of the file; 0: none. EV_LOSS counts dropped events */
	uint64_t started_ns;	/* CLOCK_REALTIME of the start, for the header */
	uint64_t clock_error_ns;/* error bound of this stream's clock against its domain */
	enum clock_domain clock;/* clock of times without an EV_DOMAIN; 0: monotonic */
	uint32_t cores;		/* cores that will have blocks; 0: this host's CPUs */
	uint32_t stream;	/* number in all chunks; 0: chosen at random */
};

struct event_writer;

/* Writes the header. The caller still owns the descriptor. Returns 0 or -errno. */
int event_writer_new(struct event_writer **out, int fd, const struct event_writer_options *options);

/* Returns a sink for kinds below EV_RECORD_MAX, valid as long as the writer. */
struct event_sink *event_writer_sink(struct event_writer *writer);

/* Writes one record of `kind` (below EV_RECORD_MAX) in the monotonic domain. 0 or -errno. */
int event_writer_put(struct event_writer *writer, uint32_t core, uint16_t kind, uint64_t time_ns,
		     const void *payload, size_t size);

/*
 * Begins or ends a span on a core: by `edge->type` (SPAN_END: an end), `what` and `arg`; this
 * function fills in `dt` and `depth`. An end closes the innermost matching span. An end without an
 * open span, a span nested too deep and its end, and a time before the core's last are dropped and
 * counted as loss: returns 0. The begin of a SPAN_BLIND first cuts all open spans (SPAN_CONT).
 */
int event_writer_edge(struct event_writer *writer, uint32_t core, uint16_t domain, uint64_t time,
		      const struct event_edge *edge);

/* Writes one record, from `begin` to `end`, of a block kind other than EV_EDGE. */
int event_writer_span(struct event_writer *writer, uint32_t core, uint16_t domain, uint16_t kind,
		      uint64_t begin, uint64_t end, const void *record);

/* Writes one record with a clock domain and a begin, such as an EV_MESSAGE in ticks. */
int event_writer_record(struct event_writer *writer, uint16_t domain, uint64_t begin,
			const struct event *event, const struct iovec *payload, int pieces);

/* Copies a whole block of a source into the file. */
int event_writer_copy(struct event_writer *writer, const struct event_block *block);

/* Returns whether a whole block fits within the size limit. */
bool event_writer_fits(const struct event_writer *writer, const struct event_block *block);

/* Returns the number of a name; a new name is first written as EV_NAME. */
uint32_t event_writer_intern(struct event_writer *writer, enum event_dict_id which,
			     const char *text);

/* Returns the time of the sink's last record, for records that have none of their own. */
uint64_t event_writer_last(const struct event_writer *writer);

/* Writes buffered events, so that even a kill -9 cannot lose them. */
int event_writer_flush(struct event_writer *writer);

/* Returns true once the size limit has ended the recording. */
bool event_writer_full(const struct event_writer *writer);

/* Flushes, writes losses, dictionary, index and end mark, and frees. 0 or the first error. */
int event_writer_close(struct event_writer *writer);

/* Frees the writer without writing anything more. */
void event_writer_free(struct event_writer *writer);

#endif
