/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a request, from the pool to its sample. The counters change when a sample is emitted,
 * so that completed + failed in each EV_LOAD event is the number of samples before the event.
 */
#ifndef HOSTLAT_LOAD_REQUEST_H
#define HOSTLAT_LOAD_REQUEST_H

#include "load/thread.h"

/* Longest time that a sample waits for kernel stamps after its reply. */
#define LOAD_HOLD_NS 10000000ULL

/*
 * Takes a request from the pool; it is in flight from now on. Never NULL: the pool has a request
 * for each possible outstanding request.
 */
struct load_request *request_new(struct load_thread *t, struct load_conn *conn, uint64_t number,
				 uint64_t intended);

/* Ends a request at time sample.done, as completed or failed. */
void request_done(struct load_thread *t, struct load_request *r, enum load_failure failure);

/*
 * Notes that the connection no longer waits for the reply. The request returns to the pool once its
 * sample has also been emitted.
 */
void request_unqueued(struct load_thread *t, struct load_request *r);

/*
 * Emits the samples of ended requests, in order of their ends, up to the first request that waits
 * for stamps; with `all`, of all ended requests.
 */
void request_emit(struct load_thread *t, bool all);

/* Stops waiting for a request's stamps, and emits the samples that are ready. */
void request_give_up(struct load_thread *t, struct load_request *r);

/* Returns the earliest intended time of requests not yet emitted; `or_else` if there are none. */
uint64_t request_oldest(const struct load_thread *t, uint64_t or_else);

#endif
