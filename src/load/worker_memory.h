/* SPDX-License-Identifier: Apache-2.0 */
/* The memory, the queues and the clocks of a load-generating thread. */
#ifndef HOSTLAT_LOAD_WORKER_MEMORY_H
#define HOSTLAT_LOAD_WORKER_MEMORY_H

#include "load/thread.h"

/* Tag of the epoll events that announce a change of the system's clock. */
#define WORKER_CLOCK_TAG UINT64_MAX

/*
 * Allocates all memory that the thread needs. The caller has set config, schedule, command, index,
 * n_conns, n_pools, notify and cpu. Returns 0 or -errno.
 */
int worker_memory_init(struct load_thread *t, size_t request_max);
void worker_memory_release(struct load_thread *t);

/*
 * Updates the NICs' clocks. If that fails, the last parameters are extrapolated, with a growing
 * error.
 */
void worker_follow_phcs(struct load_thread *t);

#endif
