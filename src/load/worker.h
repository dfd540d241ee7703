/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of one thread: sends due requests, reads replies, closes ticks. */
#ifndef HOSTLAT_LOAD_WORKER_H
#define HOSTLAT_LOAD_WORKER_H

#include "load/thread.h"

/*
 * Allocates everything that the thread will need. The caller has set config, schedule, command,
 * index, n_conns, notify and cpu. Returns 0 or -errno.
 */
int worker_init(struct load_thread *t, size_t request_max);
void worker_release(struct load_thread *t);

/* Opens connections for up to `wait_ns`, before the thread is started. Returns dial_error. */
int worker_serve(struct load_thread *t, uint64_t wait_ns);

/*
 * Opens connections, and stores keys in PHASE_PRELOAD, for up to `wait_ns`, before the thread is
 * started. Returns 1 when everything is done, 0, or -errno (see dial_error).
 */
int worker_prepare(struct load_thread *t, uint64_t wait_ns);

/* The thread's main function, from start_ns to its last tick. */
void *worker_run(void *thread);

#endif
