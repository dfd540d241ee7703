/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions of times and sizes, as users write them: "exponential:50us", "lognormal:50us:2",
 * "bimodal:0.9:10us:100us". The caller provides the random generator. The CDF is exact, so that
 * gates test against the declared distribution and not against a fit.
 */
#ifndef HOSTLAT_LOAD_DIST_H
#define HOSTLAT_LOAD_DIST_H

#include <stdint.h>

#include "base/rng.h"
#include "base/strbuf.h"

enum dist_kind {
	DIST_KIND_NONE,
	DIST_KIND_FIXED,       /* a */
	DIST_KIND_UNIFORM,     /* from a to b */
	DIST_KIND_EXPONENTIAL, /* mean a */
	DIST_KIND_LOGNORMAL,   /* mean a, coefficient of variation b */
	DIST_KIND_GAMMA,       /* mean a, shape b */
	DIST_KIND_PARETO,      /* generalised: location a, scale b, shape c */
	DIST_KIND_GEV,         /* generalised extreme value: location a, scale b, shape c */
	DIST_KIND_BIMODAL,     /* with probability a: b, else c */
	DIST_KIND_NORMAL,      /* mean a, standard deviation b, cut at 0 */
	DIST_KIND_ZIPF,        /* rank 0..n-1 with exponent a (needs n: dist_bind_n) */
	DIST_KIND_ETC,         /* values of Facebook's ETC pool: discrete below 15, then pareto */
};

struct dist {
	enum dist_kind kind;
	double a, b, c;
	uint64_t n;      /* zipf */
	double zeta[4];  /* zipf: precomputed */
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

/* P(X <= x); NaN for NaN. */
double dist_cdf(const struct dist *dist, double x);

#endif
