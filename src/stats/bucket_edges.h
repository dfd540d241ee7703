/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bucket edges 2^(index * 2^-schema), exact to the integer, and the constants by which
 * stats/buckets.h finds a bucket. Callers must pass schemas BUCKET_SCHEMA_MIN..MAX. Thread-safe:
 * the table of mantissas is computed on first use.
 */
#ifndef HOSTLAT_STATS_BUCKET_EDGES_H
#define HOSTLAT_STATS_BUCKET_EDGES_H

#include <stdint.h>

#include "stats/buckets.h"

/* Returns the constants for bucket_index_any(): 2^(schema + 1) of them, 2 below schema 0. */
const __u64 *bucket_edges_steps(int schema);

/*
 * Returns the largest integer in bucket `index`: its upper edge rounded down; 0 for edges below 1,
 * UINT64_MAX for edges from 2^64. The bucket's smallest integer is bucket_edges_floor(schema, index
 * - 1) + 1; if that is more, the bucket holds no integer.
 */
uint64_t bucket_edges_floor(int schema, int32_t index);

/* Returns the upper edge as the nearest double or its neighbor: to interpolate, not to compare. */
double bucket_edges_double(int schema, int32_t index);

/* Returns bucket_index_any() with the constants of that schema; value >= 1. */
uint32_t bucket_edges_index(int schema, uint64_t value);

/* Returns the index of BUCKET_LIMIT: the highest that a histogram of this schema holds. */
int32_t bucket_edges_last(int schema);

#endif
