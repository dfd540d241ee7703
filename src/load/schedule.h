/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The due time of each request, made before the run: absolute times since its start, so that errors
 * do not accumulate. The same seed, arrival and rate give the same bytes on every machine
 * (base/portable.h; the test holds gcc, clang and arm64 to the same sums).
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

#define SCHEDULE_MAX (1ULL << 27) /* largest number of requests of an agent: 1 GiB */
#define SCHEDULE_RATE_MIN 1e-6    /* per second */
#define SCHEDULE_RATE_MAX 1e9
#define SCHEDULE_DURATION_MAX (1ULL << 62)

struct schedule {
	uint64_t *at_ns; /* ascending, since the start of the run; owned */
	size_t n;
	bool complete;   /* false: a file of times ends more than its longest gap before the run */
};

/*
 * Makes a schedule; all times are < duration_ns <= SCHEDULE_DURATION_MAX. Returns 0, -E2BIG for
 * more than SCHEDULE_MAX requests, -EINVAL for an invalid rate or a malformed file (`why` names the
 * line), or the error of reading a file; `why` always has a sentence.
 */
int schedule_make(struct schedule *out, const struct arrival *arrival, double rate,
		  uint64_t duration_ns, uint64_t seed, struct strbuf *why);
void schedule_release(struct schedule *schedule);

/* Writes a time per line. Returns 0 or the file's first error. */
int schedule_dump(const struct schedule *schedule, struct outfile *file);

#endif
