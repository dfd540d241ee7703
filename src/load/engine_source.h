/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of an engine's threads as an event source. Blocks of samples point into the threads'
 * queues. EV_LOAD (counters every LOAD_TICK_NS) follows all samples that its counters include.
 */
#ifndef HOSTLAT_LOAD_ENGINE_SOURCE_H
#define HOSTLAT_LOAD_ENGINE_SOURCE_H

#include "event/source.h"
#include "load/thread.h"

struct engine_source;

/* Makes a source; `threads` must outlive it. Returns 0 or -errno. */
int engine_source_new(struct engine_source **out, struct load_thread *threads, uint32_t n_threads,
		      uint32_t agent);
void engine_source_free(struct engine_source *p);

struct event_source *engine_source_events(struct engine_source *p);

/* Returns a sink for the EV_FACT events at the start of the stream. */
struct event_sink *engine_source_sink(struct engine_source *p);

#endif
