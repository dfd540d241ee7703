/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule as text: a decimal number of ns per line, ascending; equal ones are allowed. */
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
 * What is before `end_ns` once all is divided by `speed` (> 0), into an initialised `out`; lines
 * behind the first time that is too late are not looked at. `complete` is false if what is left
 * behind the last time is longer than any gap before it. Returns -EINVAL with the line in `why`,
 * -E2BIG at out->max, or what reading returned; `why` has a sentence.
 */
int replay_read(struct replay_times *out, bool *complete, const char *path, double speed,
		uint64_t end_ns, struct strbuf *why);

/* Returns 0 or the file's first error. */
int replay_write(const uint64_t *at, size_t n, struct outfile *file);

#endif
