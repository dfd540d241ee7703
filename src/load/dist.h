/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions of times and sizes, as users write them: "exponential:50us", "lognormal:50us:2",
 * "bimodal:0.9:10us:100us". The caller provides the random generator. The CDF is exact, so that
 * goodness-of-fit tests use the declared distribution and not a fitted one.
 */
#ifndef HOSTLAT_LOAD_DIST_H
#define HOSTLAT_LOAD_DIST_H

#include <stdint.h>

#include "base/rng.h"
#include "base/strbuf.h"

enum dist_kind {
	DIST_KIND_NONE,
	DIST_KIND_FIXED,       /* constant a */
	DIST_KIND_UNIFORM,     /* uniform from a to b */
	DIST_KIND_EXPONENTIAL, /* exponential with mean a */
	DIST_KIND_LOGNORMAL,   /* lognormal with mean a, coefficient of variation b */
	DIST_KIND_GAMMA,       /* gamma with mean a, shape b */
	DIST_KIND_PARETO,      /* generalized Pareto: location a, scale b, shape c */
	DIST_KIND_GEV,         /* generalized extreme value: location a, scale b, shape c */
	DIST_KIND_BIMODAL,     /* b with probability a, else c */
	DIST_KIND_NORMAL, /* normal with mean a, standard deviation b; negative draws become 0 */
	DIST_KIND_ZIPF,        /* Zipf rank 0..n-1 with exponent a; needs dist_bind_n() */
	DIST_KIND_ETC, /* value sizes of Facebook's ETC pool: discrete below 15, then Pareto */
};

struct dist {
	enum dist_kind kind;
	double a, b, c;
	uint64_t n;      /* zipf: number of ranks */
	double zeta[4];  /* zipf: constants computed by dist_bind_n() */
};

enum dist_unit { DIST_UNIT_NS, DIST_UNIT_BYTES, DIST_UNIT_PLAIN };

/* Parses "fixed:50us", "50us" and so on. Returns 0, or -EINVAL with the valid forms in `why`. */
int dist_parse(const char *text, enum dist_unit unit, struct dist *out, struct strbuf *why);

/* Sets the number of ranks of a zipf distribution; 1 <= n. */
void dist_bind_n(struct dist *dist, uint64_t n);

/* Largest drawn value; draws are clamped to 0..DIST_LARGEST. */
#define DIST_LARGEST 0x1p62

/* Draws a value, 0 to DIST_LARGEST; the same bits on every machine, except gev and zipf. */
double dist_draw(const struct dist *dist, struct rng *rng);

/* Returns P(X <= x); NaN if x is NaN or the kind is DIST_KIND_NONE. */
double dist_cdf(const struct dist *dist, double x);

#endif
