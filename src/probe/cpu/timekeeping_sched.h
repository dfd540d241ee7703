/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads sched_clock() through perf: a thread that sets its name makes perf write a record with the
 * time of that call.
 */
#ifndef HOSTLAT_PROBE_TIMEKEEPING_SCHED_H
#define HOSTLAT_PROBE_TIMEKEEPING_SCHED_H

#include <stddef.h>
#include <stdint.h>

struct sched_reader {
	int fd;
	void *pages; /* perf's buffer; NULL: not mapped */
	size_t size;
};

/* Returns 0 or -errno; must be closed in either case. Only the calling thread may read. */
int sched_reader_open(struct sched_reader *reader);
void sched_reader_close(struct sched_reader *reader);

/* Reads sched_clock() in ns; `ctx` is the reader. Returns 0, or -ENODATA if there is no record. */
int sched_reader_read(void *ctx, uint64_t *ns);

#endif
