/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schedule as text: a decimal number of ns per line, in ascending order; equal times are allowed.
 */
#ifndef HOSTLAT_LOAD_REPLAY_H
#define HOSTLAT_LOAD_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/outfile.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct replay_times VEC_OF(uint64_t);

/*
 * Reads the times before `end_ns`, divided by `speed` (> 0), into an initialized `out`; stops at
 * the first later time. Sets `complete` to false if the rest of the run is longer than any gap
 * between times. Returns 0, -EINVAL (with the line in `why`), -E2BIG at out->max, or a read error;
 * `why` has a sentence.
 */
int replay_read(struct replay_times *out, bool *complete, const char *path, double speed,
		uint64_t end_ns, struct strbuf *why);

/* Writes times as lines. Returns 0 or the file's first error. */
int replay_write(const uint64_t *at, size_t n, struct outfile *file);

#endif
