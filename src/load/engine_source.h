/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of an engine's threads as an event source. Blocks of samples are lent from the
 * threads' rings; a tick is closed when every thread has come to it and all samples before it were
 * handed out.
 */
#ifndef HOSTLAT_LOAD_ENGINE_SOURCE_H
#define HOSTLAT_LOAD_ENGINE_SOURCE_H

#include "event/source.h"
#include "load/thread.h"

struct engine_source;

/* `threads` must live as long. Returns 0 or -errno. */
int engine_source_new(struct engine_source **out, struct load_thread *threads, uint32_t n_threads,
		      uint32_t agent);
void engine_source_free(struct engine_source *p);

struct event_source *engine_source_events(struct engine_source *p);

/* For what opens the stream. */
struct event_sink *engine_source_sink(struct engine_source *p);

#endif
