/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request from the pool to its sample. Counters change when the sample is emitted, so that at
 * each tick completed + failed is the number of samples before it.
 */
#ifndef HOSTLAT_LOAD_REQUEST_H
#define HOSTLAT_LOAD_REQUEST_H

#include "load/thread.h"

/* How long a sample waits for kernel stamps that come after its reply. */
#define LOAD_HOLD_NS 10000000ULL

/* One from the pool, in flight from now on. Never NULL: there is one for each place. */
struct load_request *request_new(struct load_thread *t, struct load_conn *conn, uint64_t number,
				 uint64_t intended);

/* It has its outcome, at sample.done. */
void request_done(struct load_thread *t, struct load_request *r, enum load_failure failure);

/* Its connection waits for it no more: it may go back to the pool. */
void request_unqueued(struct load_thread *t, struct load_request *r);

/* Emits what has all its stamps (`all`: everything), up to the first that has not. */
void request_emit(struct load_thread *t, bool all);

/* It waits for no more stamps. */
void request_give_up(struct load_thread *t, struct load_request *r);

/* The earliest intended time of a request that was not emitted, or `or_else`. */
uint64_t request_oldest(const struct load_thread *t, uint64_t or_else);

#endif
