/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only histogram of the project: exponential buckets, mergeable without loss, the same as in
 * the kernel, in Prometheus native histograms and in OpenTelemetry (stats/buckets.h).
 *
 * Values are integers >= 0, in nanoseconds if they are times. 0 is counted in `zero`, 1 to
 * BUCKET_LIMIT in a bucket, greater values in `over`. Counters are a dense window over the occupied
 * indices that grows on demand by whole octaves: at most 41 * 2^schema * 8 bytes, 2.6 KB at schema
 * 3.
 *
 * Invariants: count == zero + over + sum of the buckets. Every value lies in min..max, which may be
 * too wide (0..UINT64_MAX if nothing is known) but not too narrow; without values min is UINT64_MAX
 * and max 0. `count` and the counters wrap after 2^64 values, which no run reaches; `sum` saturates
 * at UINT64_MAX (584 years of nanoseconds) and then means "unknown".
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
 * A quantile and its bounds: of the `count` values in ascending order the value with rank ceil(q *
 * count) (the first for q = 0); lo <= that value <= hi always holds. `value` interpolates within
 * the bucket as Prometheus' histogram_quantile() does for native histograms: exponentially, lower
 * edge * (upper / lower)^(rank within the bucket / the bucket's count), then clamped to lo..hi. For
 * a value in `over`, lo is BUCKET_LIMIT + 1; hi and value are the maximum.
 */
struct hist_quantile {
	uint64_t value;
	uint64_t lo, hi;
};

/* Initializes without allocating. `schema` is in BUCKET_SCHEMA_MIN..MAX. */
void hist_init(struct hist *hist, int schema);

/* Frees the buckets. Accepts NULL, and a zeroed or released histogram. */
void hist_release(struct hist *hist);

/* Removes all values; keeps the schema and the memory. */
void hist_reset(struct hist *hist);

/* Reserves memory for values from..to (1 <= from <= to): recording them then needs no more. */
int hist_reserve(struct hist *hist, uint64_t from, uint64_t to);

int hist_record(struct hist *hist, uint64_t value);
int hist_record_n(struct hist *hist, uint64_t value, uint64_t n);

/*
 * hist_has_index() returns true if bucket `index` can hold a value. The others rebuild a histogram
 * from deltas: hist_add_zero() and hist_add_over() do not change sum, min and max; hist_add_stats()
 * does, for all values that were added.
 */
bool hist_has_index(int schema, int32_t index);
void hist_add_zero(struct hist *hist, uint64_t n);
void hist_add_over(struct hist *hist, uint64_t n);
void hist_add_stats(struct hist *hist, uint64_t sum, uint64_t min, uint64_t max);

/*
 * Functions to add single buckets of `schema`, which may differ from the histogram's schema.
 * hist_cover() reserves memory for the indices from..to, after downscaling a finer histogram (even
 * if it then fails). hist_add_scaled() then cannot fail for them, except with -ERANGE for an index
 * that no value has. hist_bytes_with() returns what hist_bytes(), the memory of the counters, would
 * return after hist_cover().
 */
int hist_cover(struct hist *hist, int schema, int32_t from, int32_t to);
int hist_add_scaled(struct hist *hist, int schema, int32_t index, uint64_t n);
size_t hist_bytes(const struct hist *hist);
size_t hist_bytes_with(const struct hist *hist, int schema, int32_t from, int32_t to);

/*
 * Adds all values of `from`, which may not be `into`. The result has the lower schema of the two:
 * `into` is downscaled if needed (even if the call then fails), `from` while it is added.
 */
int hist_merge(struct hist *into, const struct hist *from);

/* Adds all values of `from` as hist_merge() does, each `times` (>= 1) times. */
int hist_merge_times(struct hist *into, const struct hist *from, uint64_t times);

/* Multiplies the count of each value by `times` (>= 1): scales up a sample. */
void hist_multiply(struct hist *hist, uint64_t times);

/* Converts to a coarser schema, exactly: as if recorded in that schema. -EINVAL: a finer schema. */
int hist_downscale(struct hist *hist, int schema);

/*
 * Iterates over occupied buckets in ascending order: start with *index = INT32_MIN; false after the
 * last. The histogram may not grow meanwhile.
 */
bool hist_next(const struct hist *hist, int32_t *index, uint64_t *n);

/*
 * Returns how many of n values lie beyond a quantile on average: n (1 - q). Below 1 the values
 * cannot tell the quantile from the maximum.
 */
double hist_beyond(uint64_t n, double q);

/*
 * Returns the number of the greatest values that make half of the sum: by the buckets, in which
 * each value counts as their upper edge, the greatest bucket's at most as the maximum.
 */
uint64_t hist_count_half(const struct hist *hist);

/* Computes a quantile. -EINVAL unless 0 <= q <= 1; -ENODATA if no value was recorded. */
int hist_quantile(const struct hist *hist, double q, struct hist_quantile *result);

/* Returns the mean; NaN if no value was recorded or the sum saturated. */
double hist_mean(const struct hist *hist);

#endif
