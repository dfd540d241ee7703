/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one histogram of the project: exponential buckets, mergeable without loss, the same ones as
 * in the kernel, in Prometheus native histograms and in OpenTelemetry (stats/buckets.h).
 *
 * Values are integers >= 0, nanoseconds wherever they are times. 0 is counted in `zero`, 1 to
 * BUCKET_LIMIT in a bucket, greater ones in `over`. Counters are a dense window over the occupied
 * indices that grows on demand by whole octaves: at most 41 * 2^schema * 8 bytes, 2.6 KB at
 * schema 3.
 *
 * Invariants: count == zero + over + sum of the buckets; every value lies in min..max, which may be
 * too wide (0..UINT64_MAX where nothing is known) but not too narrow; min UINT64_MAX and max 0 if
 * there is no value. `count` and the counters wrap after 2^64 values, which no run reaches; `sum`
 * saturates at UINT64_MAX (584 years of nanoseconds) and then means "unknown".
 *
 * Functions that may need memory return 0 or -ENOMEM and change nothing when they fail; after
 * hist_reserve() for the whole range they cannot fail.
 */
#ifndef HOSTLAT_STATS_HIST_H
#define HOSTLAT_STATS_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/buckets.h"

struct hist {
	int schema;
	uint64_t count, zero, over;
	uint64_t sum;
	uint64_t min, max;
	/* the window: buckets[i] counts index first + i; owned */
	uint64_t *buckets;
	int32_t first;
	uint32_t len;
};

/*
 * A quantile and where it must lie: of the `count` values in ascending order it is the one with
 * rank ceil(q * count) (the first for q = 0), and lo <= that value <= hi always holds. `value`
 * interpolates within the bucket as Prometheus' histogram_quantile() does for native histograms:
 * exponentially, lower edge * (upper / lower)^(rank within the bucket / the bucket's count), then
 * clamped to lo..hi. For a value in `over` lo is BUCKET_LIMIT + 1, hi and value are the maximum.
 */
struct hist_quantile {
	uint64_t value;
	uint64_t lo, hi;
};

/* Does not allocate. `schema` in BUCKET_SCHEMA_MIN..MAX. */
void hist_init(struct hist *hist, int schema);

/* A zeroed or released histogram, or NULL, is fine. */
void hist_release(struct hist *hist);

/* Forgets all values; keeps the schema and the memory. */
void hist_reset(struct hist *hist);

/* Room for values from..to (1 <= from <= to), so that recording them needs no memory. */
int hist_reserve(struct hist *hist, uint64_t from, uint64_t to);

int hist_record(struct hist *hist, uint64_t value);
int hist_record_n(struct hist *hist, uint64_t value, uint64_t n);

/*
 * For rebuilding a histogram from bucket deltas. hist_add_zero() and hist_add_over() don't touch
 * sum, min and max; hist_add_stats() does, for all values that were added.
 */
bool hist_has_index(int schema, int32_t index);
void hist_add_zero(struct hist *hist, uint64_t n);
void hist_add_over(struct hist *hist, uint64_t n);
void hist_add_stats(struct hist *hist, uint64_t sum, uint64_t min, uint64_t max);

/*
 * For adding single buckets of `schema`, which may not be the histogram's. hist_cover() makes room
 * for the indices from..to, after downscaling a histogram that is finer (also when it then fails);
 * after that hist_add_scaled() cannot fail for them, but refuses an index that no value has with
 * -ERANGE.
 * hist_bytes_with() is what hist_bytes(), the memory of the counters, would be after hist_cover().
 */
int hist_cover(struct hist *hist, int schema, int32_t from, int32_t to);
int hist_add_scaled(struct hist *hist, int schema, int32_t index, uint64_t n);
size_t hist_bytes(const struct hist *hist);
size_t hist_bytes_with(const struct hist *hist, int schema, int32_t from, int32_t to);

/*
 * Adds all values of `from`. The result has the lower schema of the two: `into` is downscaled if
 * need be (also when it then fails), and `from` is while it is added. `from` may not be `into`.
 */
int hist_merge(struct hist *into, const struct hist *from);

/* The same, each value as often as if it were in `from` so many times (1 or more). */
int hist_merge_times(struct hist *into, const struct hist *from, uint64_t times);

/* Each value so many times (1 or more): of a sample, what it stands for. */
void hist_multiply(struct hist *hist, uint64_t times);

/* To a coarser schema; -EINVAL for a finer one. Exact: as if recorded in that schema. */
int hist_downscale(struct hist *hist, int schema);

/*
 * Occupied buckets in ascending order: start with *index = INT32_MIN; false after the last. The
 * histogram may not grow meanwhile.
 */
bool hist_next(const struct hist *hist, int32_t *index, uint64_t *n);

/* -EINVAL unless 0 <= q <= 1, -ENODATA if nothing was recorded. */
int hist_quantile(const struct hist *hist, double q, struct hist_quantile *result);

/* NaN if nothing was recorded or the sum saturated. */
double hist_mean(const struct hist *hist);

#endif
