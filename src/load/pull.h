/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of an engine's threads as an event source. Blocks of samples are lent from the
 * threads' rings; a tick is closed when every thread has come to it and all samples before it were
 * handed out.
 */
#ifndef HOSTLAT_LOAD_PULL_H
#define HOSTLAT_LOAD_PULL_H

#include "event/source.h"
#include "load/thread.h"

struct pull;

/* `threads` must live as long. Returns 0 or -errno. */
int pull_new(struct pull **out, struct load_thread *threads, uint32_t n_threads, uint32_t agent);
void pull_free(struct pull *pull);

struct event_source *pull_source(struct pull *pull);

/* For what opens the stream. */
struct event_sink *pull_sink(struct pull *pull);

#endif
