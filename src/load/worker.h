/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop of a load-generating thread: sends due requests, reads replies, and reports its
 * counters every LOAD_TICK_NS.
 */
#ifndef HOSTLAT_LOAD_WORKER_H
#define HOSTLAT_LOAD_WORKER_H

#include "load/thread.h"

/*
 * Opens connections for up to `wait_ns`, before the thread runs. Returns 0, or the -errno of a
 * connection that cannot be opened.
 */
int worker_serve(struct load_thread *t, uint64_t wait_ns);

/*
 * Opens connections and, in PHASE_PRELOAD, stores keys, for up to `wait_ns`, before the thread
 * runs. Returns 1 when all is done, 0 before, or -errno (see dial_error).
 */
int worker_prepare(struct load_thread *t, uint64_t wait_ns);

/* Main function of the thread: runs from start_ns to its last report of counters. */
void *worker_run(void *thread);

#endif
