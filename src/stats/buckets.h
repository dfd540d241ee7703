/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * The bucket of a value, shared by BPF and user space, exact for every 64-bit value.
 *
 * Buckets are those of Prometheus native histograms and of OpenTelemetry's base-2 exponential
 * histograms: bucket i of schema s holds (2^((i-1) * 2^-s), 2^(i * 2^-s)], the upper edge
 * included. Values are integers >= 1 (nanoseconds everywhere in this project); 0 belongs to the
 * zero count and has no index.
 *
 * How an index is found, without clz, division, loop or float:
 *
 *   k = floor(log2 v)              a branch, a shift and a table of 256 bytes
 *   m = v << (63 - k)              the mantissa, in [2^63, 2^64)
 *   index = k * 2^s + #{ j in 0..2^s-1 : m > 2^63 * 2^(j * 2^-s) }
 *
 * Since m is an integer, comparing with the floor of an edge is exact. To count the edges below
 * m, the octave is cut into 2^(s+1) segments of equal width W = 2^(62-s). Neighboring edges are
 * at least 2^63 * (2^(2^-s) - 1) >= ln 2 * 2^(63-s) > 1.38 W apart, more than W even after
 * flooring, so a segment holds one edge or none. The count is then one addition: for each segment
 * the table holds a constant c with
 *
 *   (m + c) >> (63 - s) == the count, for all m of this segment (mod 2^64)
 *
 *   one edge e, with g edges before the segment: c = (g + 1) * 2W - (e + 1), so that the sum
 *   reaches (g + 1) * 2W exactly at m = e + 1; it stays within W of it on either side.
 *   no edge: c = g * 2W - (the segment's first m).
 *
 * Schemas <= 0 group 2^-s buckets of schema 0: index = ceil(index0 / 2^-s).
 *
 * BPF programs include their kernel types before this file.
 */
#ifndef HOSTLAT_STATS_BUCKETS_H
#define HOSTLAT_STATS_BUCKETS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define BUCKET_SCHEMA_MIN (-4)
#define BUCKET_SCHEMA_MAX 8
#define BUCKET_SCHEMA_DEFAULT 3

/*
 * The largest value with a bucket, 2^40 ns = 18 minutes; greater values go to the over count. The
 * kernel, user space and files have the same limit, so that over counts can be added.
 */
#define BUCKET_LIMIT_LOG2 40
#define BUCKET_LIMIT (1ULL << BUCKET_LIMIT_LOG2)

/* Number of indices of the default schema: 0..40 * 2^schema. */
#define BUCKET_COUNT_DEFAULT ((BUCKET_LIMIT_LOG2 << BUCKET_SCHEMA_DEFAULT) + 1)

/*
 * Constants with which one schema finds a value's bucket, at most: 2^(schema+1) (negative schemas:
 * those of schema 0).
 */
#define BUCKET_STEPS_MAX (2 << BUCKET_SCHEMA_MAX)

#define BUCKET_INLINE static inline __attribute__((always_inline))

/*
 * Table of the leading zero bits of a byte, with runs written by BUCKET_X16. [0] is 7, so that the
 * shift of an invalid 0 is defined.
 */
#define BUCKET_X16(n) n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n
static const __u8 bucket_clz8[256] = {
	7, 7, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4, 4, 4, 4, 4,
	BUCKET_X16(3),
	BUCKET_X16(2), BUCKET_X16(2),
	BUCKET_X16(1), BUCKET_X16(1), BUCKET_X16(1), BUCKET_X16(1),
	BUCKET_X16(0), BUCKET_X16(0), BUCKET_X16(0), BUCKET_X16(0),
	BUCKET_X16(0), BUCKET_X16(0), BUCKET_X16(0), BUCKET_X16(0),
};
#undef BUCKET_X16

/* The default schema's constants, as bucket_edges_steps() returns (tests/unit/test_buckets.c). */
static const __u64 bucket_steps_default[2 << BUCKET_SCHEMA_DEFAULT] = {
	0x8fffffffffffffffULL, 0x946a3e1c15742919ULL, 0x9000000000000000ULL, 0x97c80fae72475690ULL,
	0x9a0129564eaec715ULL, 0x9800000000000000ULL, 0x9afb0ccc06219b7bULL, 0x9800000000000000ULL,
	0x9a98d5eeaaf92522ULL, 0x9800000000000000ULL, 0x98bb03352962950bULL, 0x9800000000000000ULL,
	0x9000000000000000ULL, 0x953f391822dbc6d1ULL, 0x9000000000000000ULL, 0x8800000000000000ULL,
};

/* Constants of schema 2 (four buckets per octave) for bucket_index_steps(). */
static const __u64 bucket_steps_quarters[2 << 2] = {
	0x9fffffffffffffffULL, 0xa7c80fae72475690ULL, 0xa000000000000000ULL, 0xaafb0ccc06219b7bULL,
	0xa000000000000000ULL, 0xa8bb03352962950bULL, 0xa000000000000000ULL, 0x9000000000000000ULL,
};

/*
 * Returns 63 - floor(log2 v), v >= 1. Latencies below 65 us take one branch; the step from 8 to 16
 * bits has none: short stages straddle 256 ns and would cause mispredictions.
 */
BUCKET_INLINE __u32 bucket_clz(__u64 v)
{
	__u32 zeros = 56;
	__u64 wide;

	if (v > 0xffff) {
		v >>= 16;
		zeros = 40;
		if (v > 0xffff) {
			v >>= 16;
			zeros = 24;
			if (v > 0xffff) {
				v >>= 16;
				zeros = 8;
			}
		}
	}
	wide = ((0xff - v) >> 60) & 8; /* 8 if v has more than 8 bits, else 0 */
	return zeros - wide + bucket_clz8[(v >> wide) & 0xff];
}

/* Returns the index of v >= 1, 0..64 * 2^schema, in a schema of 0..8 with its constants `steps`. */
BUCKET_INLINE __u32 bucket_index_steps(__u64 v, __u32 schema, const __u64 *steps)
{
	__u32 zeros = bucket_clz(v);
	__u64 m = v << zeros;
	__u64 segment = (m >> (62 - schema)) & ((2ULL << schema) - 1);

	return ((63 - zeros) << schema) + (__u32)((m + steps[segment]) >> (63 - schema));
}

/* Returns the index of v >= 1 in the default schema; for hot paths. */
BUCKET_INLINE __u32 bucket_index(__u64 v)
{
	return bucket_index_steps(v, BUCKET_SCHEMA_DEFAULT, bucket_steps_default);
}

/* Returns the index of v >= 1 in any schema, given the constants of schema max(schema, 0). */
BUCKET_INLINE __u32 bucket_index_any(__u64 v, int schema, const __u64 *steps)
{
	__u32 group = -schema;

	if (schema >= 0)
		return bucket_index_steps(v, schema, steps);
	return (bucket_index_steps(v, 0, steps) + (1U << group) - 1) >> group;
}

#endif
