/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds a struct cpu_history from a recording: span edges (EV_EDGE) and wakings (EV_WAKE) of all
 * cores, merged by time. Only the time windows that the caller seeks are decoded. Memory: two
 * chunks of the file for each core and kind of event.
 */
#ifndef HOSTLAT_DIAGNOSE_STREAM_H
#define HOSTLAT_DIAGNOSE_STREAM_H

#include "diagnose/cpu_history.h"
#include "event/reader.h"

struct activity_stream;

/* Returns the number of cores, which is the highest core's number + 1; or -errno. */
int stream_cores(struct event_reader *reader);

/*
 * Opens a stream of the recording's CPU activity that feeds `history`. Returns 0, -errno, or
 * -E2BIG: more cores than CPU_HISTORY_CORES. `reader` must outlive *out.
 */
int stream_open(struct activity_stream **out, struct event_reader *reader,
		struct cpu_history *history);
void stream_free(struct activity_stream *stream);

/* Clears the history, and prepares to feed events of from <= t < to. Returns 0 or -errno. */
int stream_seek(struct activity_stream *stream, uint64_t from, uint64_t to);

/* Feeds all events up to and including `time`. Returns 0 or -errno. */
int stream_until(struct activity_stream *stream, uint64_t time);

/*
 * Makes the history have all events of from <= t <= until, and drops older ones. Of a gap since the
 * last call that is not short, the events are skipped. `from` never decreases from call to call.
 * Returns 0, -errno, or -ENOMEM if the history has no memory.
 */
int stream_cover(struct activity_stream *stream, uint64_t from, uint64_t until);

/* Adds the damage and the losses of the stream's sources to *damage. */
void stream_damage(const struct activity_stream *stream, struct event_damage *damage);

#endif
