/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds a rolling history from a recording: the edges and wakings of all cores, merged by time.
 * Only what the windows need is decoded. Memory: two chunks for each core and kind.
 */
#ifndef HOSTLAT_DIAGNOSE_STREAM_H
#define HOSTLAT_DIAGNOSE_STREAM_H

#include "diagnose/cpu_history.h"
#include "event/reader.h"

struct activity_stream;

/* Returns the number of cores, one more than the highest core; -errno. */
int stream_cores(struct event_reader *reader);

/* 0, -errno; -E2BIG for more cores than CPU_HISTORY_CORES. The reader must outlive it. */
int stream_open(struct activity_stream **out, struct event_reader *reader,
		struct cpu_history *history);
void stream_free(struct activity_stream *stream);

/* Clears the history for events of from <= t < to. 0 or -errno. */
int stream_seek(struct activity_stream *stream, uint64_t from, uint64_t to);

/* Feeds everything up to and including `time`. 0 or -errno. */
int stream_until(struct activity_stream *stream, uint64_t time);

/* Adds the damage and losses of its sources. */
void stream_damage(const struct activity_stream *stream, struct event_damage *damage);

#endif
