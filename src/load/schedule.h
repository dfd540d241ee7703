/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The due times of all requests, generated before the run: absolute times since its start, so that
 * errors do not accumulate. The same seed, arrival and rate give identical times on all machines
 * (base/portable.h; a test compares sums of gcc, clang and arm64).
 *
 * load/arrival.h describes the arrival processes.
 */
#ifndef HOSTLAT_LOAD_SCHEDULE_H
#define HOSTLAT_LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/outfile.h"
#include "base/strbuf.h"
#include "load/arrival.h"

#define SCHEDULE_MAX (1ULL << 27) /* largest number of requests of an agent: 1 GiB of times */
#define SCHEDULE_RATE_MIN 1e-6    /* requests per second */
#define SCHEDULE_RATE_MAX 1e9
#define SCHEDULE_DURATION_MAX (1ULL << 62)

struct schedule {
	uint64_t *at_ns; /* due times in ns since the start of the run, ascending; owned */
	size_t n;
	bool complete;   /* false: a file's times end early, by more than its longest gap */
	uint64_t span_ns; /* a file: ns from the start to just beyond its last time; otherwise 0 */
};

/*
 * Makes a schedule with times below duration_ns <= SCHEDULE_DURATION_MAX. Returns 0, -E2BIG for
 * more than SCHEDULE_MAX requests, -EINVAL for an invalid rate or malformed file (`why` names the
 * line), or the error of reading a file; `why` always has a sentence.
 */
int schedule_make(struct schedule *out, const struct arrival *arrival, double rate,
		  uint64_t duration_ns, uint64_t seed, struct strbuf *why);
void schedule_release(struct schedule *schedule);

/* Writes one time per line. Returns 0 or the file's first error. */
int schedule_dump(const struct schedule *schedule, struct outfile *file);

#endif
