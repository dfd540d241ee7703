/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a request, from the pool to its sample. Counters change when the sample is emitted,
 * so that at each tick completed + failed is the number of samples before it.
 */
#ifndef HOSTLAT_LOAD_REQUEST_H
#define HOSTLAT_LOAD_REQUEST_H

#include "load/thread.h"

/* Longest time that a sample waits for kernel stamps after its reply. */
#define LOAD_HOLD_NS 10000000ULL

/*
 * Returns a request from the pool, in flight from now on. Never NULL: the pool has one for each
 * place.
 */
struct load_request *request_new(struct load_thread *t, struct load_conn *conn, uint64_t number,
				 uint64_t intended);

/* Ends a request, at sample.done, as completed or failed. */
void request_done(struct load_thread *t, struct load_request *r, enum load_failure failure);

/* Called when its connection no longer waits for its reply, so that it may return to the pool. */
void request_unqueued(struct load_thread *t, struct load_request *r);

/*
 * Emits ended requests in order, up to the first that still waits for stamps (`all`: also those).
 */
void request_emit(struct load_thread *t, bool all);

/* Gives up waiting for a request's stamps. */
void request_give_up(struct load_thread *t, struct load_request *r);

/* Returns the earliest intended time of the requests not emitted yet, or `or_else`. */
uint64_t request_oldest(const struct load_thread *t, uint64_t or_else);

#endif
