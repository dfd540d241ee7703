/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched_clock() as perf stamps with it: a thread that names itself makes perf write a record, whose
 * time is that of the call.
 */
#ifndef HOSTLAT_PROBE_TIMEKEEPING_SCHED_H
#define HOSTLAT_PROBE_TIMEKEEPING_SCHED_H

#include <stddef.h>
#include <stdint.h>

struct sched_reader {
	int fd;
	void *pages; /* NULL: not mapped */
	size_t size;
};

/* For the calling thread, which alone may read. 0 or -errno; to be closed in either case. */
int sched_reader_open(struct sched_reader *reader);
void sched_reader_close(struct sched_reader *reader);

/* A clock_read_other; `ctx` is the reader. Nanoseconds. -ENODATA: no record came. */
int sched_reader_read(void *ctx, uint64_t *ns);

#endif
