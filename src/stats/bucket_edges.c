/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All schemas nest: the edges of schema s are every 2^(8-s)-th edge of schema 8. One table of 256
 * mantissas is therefore computed, in 128-bit fixed point with an error bound; all other values are
 * taken from it.
 */
#include "stats/bucket_edges.h"

#include <math.h>
#include <pthread.h>

#include "base/bug.h"

#define MANTISSAS (1 << BUCKET_SCHEMA_MAX)

/* Index in `steps` of the first constant of a schema. */
#define STEPS_FIRST(schema) ((2 << (schema)) - 2)

static struct {
	pthread_once_t once;
	uint64_t mantissa[MANTISSAS]; /* mantissa of 2^(j / 256): floor(2^63 * 2^(j / 256)) */
	__u64 steps[STEPS_FIRST(BUCKET_SCHEMA_MAX + 1)];
} tables = { .once = PTHREAD_ONCE_INIT };

/* Returns a * b / 2^128, rounded down. */
static unsigned __int128 mul_high(unsigned __int128 a, unsigned __int128 b)
{
	uint64_t a1 = a >> 64, a0 = a, b1 = b >> 64, b0 = b;
	unsigned __int128 low = (unsigned __int128)a0 * b0;
	unsigned __int128 mid = (unsigned __int128)a1 * b0 + (low >> 64);
	unsigned __int128 mid2 = (unsigned __int128)a0 * b1 + (uint64_t)mid;

	return (unsigned __int128)a1 * b1 + (mid >> 64) + (mid2 >> 64);
}

/* Returns the root of x in 1..2; x has 126 fraction bits, the root 127, error at most 2 units. */
static unsigned __int128 square_root(unsigned __int128 x)
{
	unsigned __int128 root = 0;

	for (int bit = 127; bit >= 0; bit--) {
		unsigned __int128 trial = root | (unsigned __int128)1 << bit;

		if (mul_high(trial, trial) <= x)
			root = trial;
	}
	return root;
}

/*
 * 2^(j / 256) is a product of the roots 2^(1/2), 2^(1/4) ... 2^(1/256) chosen by the bits of j.
 * With 127 fraction bits a root's error is below 4 units (2 from rounding, half of the previous
 * root's), that of a product of at most eight below 2^7. Rounding down to 63 fraction bits is thus
 * exact unless the next 64 bits are within 2^7 of 0 or 2^64.
 */
static void make_mantissas(void)
{
	unsigned __int128 roots[BUCKET_SCHEMA_MAX], x = (unsigned __int128)1 << 127;

	for (int i = 0; i < BUCKET_SCHEMA_MAX; i++) {
		roots[i] = square_root(x);
		x = roots[i] >> 1;
	}
	tables.mantissa[0] = 1ULL << 63;
	for (int j = 1; j < MANTISSAS; j++) {
		unsigned __int128 product = (unsigned __int128)1 << 127;

		for (int i = 0; i < BUCKET_SCHEMA_MAX; i++) {
			if (j & (MANTISSAS >> (i + 1)))
				product = mul_high(product, roots[i]) << 1;
		}
		BUG_ON((uint64_t)product + 128 < 256);
		tables.mantissa[j] = product >> 64;
	}
}

static uint64_t mantissa(int schema, uint32_t j)
{
	return tables.mantissa[j << (BUCKET_SCHEMA_MAX - schema)];
}

/*
 * Computes a schema's constants as stats/buckets.h defines them; `width` is W in that definition.
 */
static void make_steps(int schema, __u64 *steps)
{
	uint64_t edges = 1ULL << schema, width = 1ULL << (62 - schema);
	uint64_t below = 0;

	for (uint32_t i = 0; i < 2 * edges; i++) {
		uint64_t first = (1ULL << 63) + i * width;

		if (below < edges && mantissa(schema, below) <= first + (width - 1)) {
			steps[i] = (below + 1) * 2 * width - (mantissa(schema, below) + 1);
			below++;
			BUG_ON(below < edges && mantissa(schema, below) <= first + (width - 1));
		} else {
			steps[i] = below * 2 * width - first;
		}
	}
	BUG_ON(below != edges);
}

static void make_tables(void)
{
	make_mantissas();
	for (int schema = 0; schema <= BUCKET_SCHEMA_MAX; schema++)
		make_steps(schema, tables.steps + STEPS_FIRST(schema));
}

const __u64 *bucket_edges_steps(int schema)
{
	BUG_ON(schema < BUCKET_SCHEMA_MIN || schema > BUCKET_SCHEMA_MAX);
	pthread_once(&tables.once, make_tables);
	return tables.steps + STEPS_FIRST(schema > 0 ? schema : 0);
}

/* Returns the mantissa of an edge, which is mantissa * 2^(*exponent - 63). */
static uint64_t edge_parts(int schema, int32_t index, int64_t *exponent)
{
	int64_t i = index;

	(void)bucket_edges_steps(schema);
	if (schema < 0) {
		i *= 1 << -schema;
		schema = 0;
	}
	*exponent = i >> schema;
	return mantissa(schema, i & ((1 << schema) - 1));
}

uint64_t bucket_edges_floor(int schema, int32_t index)
{
	int64_t exponent;
	uint64_t edge = edge_parts(schema, index, &exponent);

	if (exponent < 0)
		return 0;
	return exponent > 63 ? UINT64_MAX : edge >> (63 - exponent);
}

double bucket_edges_double(int schema, int32_t index)
{
	int64_t exponent;
	uint64_t edge = edge_parts(schema, index, &exponent);

	if (exponent > 1024)
		return INFINITY;
	return exponent < -1100 ? 0 : ldexp((double)edge, (int)exponent - 63);
}

uint32_t bucket_edges_index(int schema, uint64_t value)
{
	if (schema == BUCKET_SCHEMA_DEFAULT)
		return bucket_index(value);
	return bucket_index_any(value, schema, bucket_edges_steps(schema));
}

int32_t bucket_edges_last(int schema)
{
	BUG_ON(schema < BUCKET_SCHEMA_MIN || schema > BUCKET_SCHEMA_MAX);
	if (schema >= 0)
		return BUCKET_LIMIT_LOG2 << schema;
	return (BUCKET_LIMIT_LOG2 + (1 << -schema) - 1) >> -schema;
}
