/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When each request is due, made before the run: absolute times from its start, so that nothing
 * accumulates. The same seed, arrival and rate give the same bytes on every machine
 * (base/portable.h; the test holds gcc, clang and arm64 to the same sums).
 *
 * What arrivals there are: load/arrival.h.
 */
#ifndef HOSTLAT_LOAD_SCHEDULE_H
#define HOSTLAT_LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/outfile.h"
#include "base/strbuf.h"
#include "load/arrival.h"

#define SCHEDULE_MAX (1ULL << 27) /* requests of one agent: 1 GiB */
#define SCHEDULE_RATE_MIN 1e-6    /* per second */
#define SCHEDULE_RATE_MAX 1e9
#define SCHEDULE_DURATION_MAX (1ULL << 62)

struct schedule {
	uint64_t *at_ns; /* ascending, from the start of the run; owned */
	size_t n;
	bool complete;   /* false: a file that ends earlier, by more than its longest gap */
};

/*
 * All times are < duration_ns <= SCHEDULE_DURATION_MAX. -E2BIG beyond SCHEDULE_MAX, -EINVAL for a
 * rate that can't be or a damaged file (`why` names the line), -ENOENT and the like for one that
 * can't be read: `why` always has a sentence.
 */
int schedule_make(struct schedule *out, const struct arrival *arrival, double rate,
		  uint64_t duration_ns, uint64_t seed, struct strbuf *why);
void schedule_release(struct schedule *schedule);

/* A time per line. Returns 0 or the file's first error. */
int schedule_dump(const struct schedule *schedule, struct outfile *file);

#endif
