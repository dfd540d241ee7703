/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bucket edges 2^(index * 2^-schema), exact to the integer, and the constants that
 * stats/buckets.h finds a bucket with. Schemas are BUCKET_SCHEMA_MIN..MAX, others are a bug of the
 * caller. Thread-safe: the one table behind it is made on first use.
 */
#ifndef HOSTLAT_STATS_BUCKET_EDGES_H
#define HOSTLAT_STATS_BUCKET_EDGES_H

#include <stdint.h>

#include "stats/buckets.h"

/* Returns the constants for bucket_index_any(): 2^(schema + 1), 2 below schema 0. */
const __u64 *bucket_edges_steps(int schema);

/*
 * The largest integer in bucket `index`: its upper edge rounded down. 0 for edges below 1 and
 * UINT64_MAX for those from 2^64. The smallest integer in it is
 * bucket_edges_floor(schema, index - 1) + 1, and it holds no integer at all if that is more.
 */
uint64_t bucket_edges_floor(int schema, int32_t index);

/* The upper edge as the nearest double or its neighbour: for interpolation, not for comparing. */
double bucket_edges_double(int schema, int32_t index);

/* bucket_index_any() with the constants of that schema; value >= 1. */
uint32_t bucket_edges_index(int schema, uint64_t value);

/* The index of BUCKET_LIMIT: the highest that a histogram of this schema holds. */
int32_t bucket_edges_last(int schema);

#endif
