/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides stretches of threads' time by cause, as the time of messages is divided: of a load
 * generator's threads while requests waited for them, and of a server's between read and reply.
 */
#ifndef HOSTLAT_DIAGNOSE_THREAD_TIMES_H
#define HOSTLAT_DIAGNOSE_THREAD_TIMES_H

#include "diagnose/state.h"

struct thread_time {
	uint64_t from, to;  /* ns of CLOCK_MONOTONIC */
	uint32_t tid;       /* 0, or a thread without a record: its time is not recorded */
	uint32_t subject;   /* index of the breakdown to which it is added */
	uint8_t where;      /* enum where */
};

struct thread_times VEC_OF(struct thread_time);

/*
 * Adds all stretches' time to breakdowns[stretch.subject]; sorts the stretches. Does nothing if the
 * recording has no CPU activity. Returns 0, -errno of the reader, or -ENOMEM.
 */
int thread_times_divide(struct thread_times *stretches, const struct recorded *rec,
		     struct breakdown *breakdowns);

#endif
