/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of one thread: send what is due, take what has come, close ticks. */
#ifndef HOSTLAT_LOAD_WORKER_H
#define HOSTLAT_LOAD_WORKER_H

#include "load/thread.h"

/*
 * Allocates all that the thread will need. The caller has set config, schedule, command, index,
 * n_conns, notify and cpu. Returns 0 or -errno.
 */
int worker_init(struct load_thread *t, size_t request_max);
void worker_release(struct load_thread *t);

/* One round, before the thread is started, of making connections. Returns dial_error. */
int worker_serve(struct load_thread *t, uint64_t wait_ns);

/*
 * One round, before the thread is started: makes connections, and stores keys in PHASE_PRELOAD.
 * Returns 1 when there is nothing left to do, 0, or -errno (see dial_error).
 */
int worker_prepare(struct load_thread *t, uint64_t wait_ns);

/* The thread: from start_ns to its last tick. */
void *worker_run(void *thread);

#endif
