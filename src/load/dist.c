/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions: a table with a draw function and a CDF for each kind. Draws by inversion where a
 * closed form exists, else:
 *   normal      polar method; Marsaglia and Bray, SIAM Review 6(3), 1964
 *   gamma       Marsaglia and Tsang, ACM TOMS 26(3), 2000
 *   zipf        rejection-inversion; Hormann and Derflinger, ACM TOMACS 6(3), 1996
 */
#include "load/dist.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/portable.h"
#include "stats/special.h"

#define TEXT_MAX 128

static double draw_normal(struct rng *rng)
{
	double x, y, r;

	do {
		x = 2 * rng_uniform(rng) - 1;
		y = 2 * rng_uniform(rng) - 1;
		r = x * x + y * y;
	} while (r >= 1 || r == 0);
	return x * sqrt(-2 * portable_log(r) / r);
}

/* ---- fixed, uniform, bimodal ---- */

static double fixed_draw(const struct dist *d, struct rng *rng)
{
	(void)rng;
	return d->a;
}

static double fixed_cdf(const struct dist *d, double x)
{
	return x >= d->a;
}

static double uniform_draw(const struct dist *d, struct rng *rng)
{
	return d->a + (d->b - d->a) * rng_uniform(rng);
}

static double uniform_cdf(const struct dist *d, double x)
{
	if (x < d->a)
		return 0;
	return x >= d->b ? 1 : (x - d->a) / (d->b - d->a);
}

static double bimodal_draw(const struct dist *d, struct rng *rng)
{
	return rng_uniform(rng) < d->a ? d->b : d->c;
}

static double bimodal_cdf(const struct dist *d, double x)
{
	return (x >= d->b) * d->a + (x >= d->c) * (1 - d->a);
}

/* ---- exponential, gamma ---- */

static double exponential_draw(const struct dist *d, struct rng *rng)
{
	return rng_exponential(rng, d->a);
}

static double exponential_cdf(const struct dist *d, double x)
{
	return -expm1(-x / d->a);
}

static double gamma_draw_unit(double shape, struct rng *rng)
{
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = draw_normal(rng), v = 1 + c * x;

		if (v <= 0)
			continue;
		v = v * v * v;
		if (portable_log(1 - rng_uniform(rng)) <
		    x * x / 2 + d - d * v + d * portable_log(v))
			return d * v;
	}
}

/* For a shape below 1, draws with shape + 1 and multiplies by U^(1/shape). */
static double gamma_draw(const struct dist *d, struct rng *rng)
{
	double scale = d->a / d->b;

	if (d->b >= 1)
		return scale * gamma_draw_unit(d->b, rng);
	return scale * gamma_draw_unit(d->b + 1, rng) *
	       portable_exp(portable_log(1 - rng_uniform(rng)) / d->b);
}

static double gamma_cdf(const struct dist *d, double x)
{
	return gamma_p(d->b, x * d->b / d->a);
}

/* ---- normal (negative values count as 0), lognormal ---- */

static double normal_draw(const struct dist *d, struct rng *rng)
{
	return d->a + d->b * draw_normal(rng);
}

static double normal_cut_cdf(const struct dist *d, double x)
{
	return normal_cdf((x - d->a) / d->b);
}

/* Returns the variance of the logarithm, from the coefficient of variation. */
static double log_variance(const struct dist *d)
{
	return portable_log(1 + d->b * d->b);
}

static double lognormal_draw(const struct dist *d, struct rng *rng)
{
	double variance = log_variance(d);

	return d->a * portable_exp(sqrt(variance) * draw_normal(rng) - variance / 2);
}

static double lognormal_cdf(const struct dist *d, double x)
{
	double variance = log_variance(d);

	return normal_cdf((log(x / d->a) + variance / 2) / sqrt(variance));
}

/* ---- generalized Pareto and extreme value ---- */

static double pareto_draw(const struct dist *d, struct rng *rng)
{
	double e = rng_exponential(rng, 1);

	return d->a + d->b * (d->c == 0 ? e : portable_expm1(d->c * e) / d->c);
}

static double pareto_cdf(const struct dist *d, double x)
{
	double z = (x - d->a) / d->b;

	if (z <= 0)
		return 0;
	return -expm1(d->c == 0 ? -z : -log1p(d->c * z) / d->c);
}

/* Draws by inversion: -log F(x) is exponential with mean 1. The shape, d->c, is above 0. */
static double gev_draw(const struct dist *d, struct rng *rng)
{
	return d->a + d->b * expm1(-d->c * log(rng_exponential(rng, 1))) / d->c;
}

static double gev_rest(const struct dist *d, double x)
{
	double t = 1 + d->c * (x - d->a) / d->b;

	return t <= 0 ? INFINITY : pow(t, -1 / d->c);
}

static double gev_cdf(const struct dist *d, double x)
{
	return exp(-gev_rest(d, x));
}

/*
 * Value sizes of Facebook's ETC pool (Atikoglu et al., "Workload analysis of a large-scale
 * key-value store", SIGMETRICS 2012): 0 to 14 bytes have shares of their own, the other sizes are
 * 15 plus a generalized Pareto variate.
 */
static const double etc_head[] = {
	0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606,
	0.00023, 0.00837, 0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
};

static const struct dist etc_tail = {
	.kind = DIST_KIND_PARETO, .a = ARRAY_LEN(etc_head), .b = 214.476, .c = 0.348238,
};

static double etc_draw(const struct dist *d, struct rng *rng)
{
	double u = rng_uniform(rng);

	(void)d;
	for (size_t i = 0; i < ARRAY_LEN(etc_head); i++) {
		if (u < etc_head[i])
			return (double)i;
		u -= etc_head[i];
	}
	return pareto_draw(&etc_tail, rng);
}

static double etc_cdf(const struct dist *d, double x)
{
	double head = 0, below = 0;

	(void)d;
	for (size_t i = 0; i < ARRAY_LEN(etc_head); i++) {
		head += etc_head[i];
		if ((double)i <= x)
			below += etc_head[i];
	}
	return below + (1 - head) * pareto_cdf(&etc_tail, x);
}

/* ---- zipf: rank k from 1 with weight k^-a; draws return k - 1 ---- */

enum { ZIPF_LOW, ZIPF_HIGH, ZIPF_SURE, ZIPF_SUM };

/* Returns the integral of t^-a from 1 to x, without cancellation near a = 1. */
static double zipf_integral(double a, double x)
{
	double log_x = log(x), y = (1 - a) * log_x;

	return fabs(y) < 1e-8 ? log_x * (1 + y / 2) : expm1(y) / (1 - a);
}

static double zipf_integral_inverse(double a, double y)
{
	double t = (1 - a) * y;

	return exp(fabs(t) < 1e-8 ? y * (1 - t / 2) : log1p(t) / (1 - a));
}

/* Returns the sum of k^-a for k = 1 to n: 63 terms, then the Euler-Maclaurin formula. */
static double zipf_sum(double a, double n)
{
	const double from = 64;
	double sum = 0, slopes, thirds;

	for (double k = 1; k < from && k <= n; k++)
		sum += pow(k, -a);
	if (n < from)
		return sum;
	slopes = -a * (pow(n, -a - 1) - pow(from, -a - 1));
	thirds = -a * (a + 1) * (a + 2) * (pow(n, -a - 3) - pow(from, -a - 3));
	return sum + zipf_integral(a, n) - zipf_integral(a, from) +
	       (pow(from, -a) + pow(n, -a)) / 2 + slopes / 12 - thirds / 720;
}

static double zipf_draw(const struct dist *d, struct rng *rng)
{
	const double *z = d->zeta, n = (double)d->n;

	for (;;) {
		double u = z[ZIPF_HIGH] + rng_uniform(rng) * (z[ZIPF_LOW] - z[ZIPF_HIGH]);
		double x = zipf_integral_inverse(d->a, u);
		double k = fmin(fmax(floor(x + 0.5), 1), n);

		if (k - x <= z[ZIPF_SURE] ||
		    u >= zipf_integral(d->a, k + 0.5) - pow(k, -d->a))
			return k - 1;
	}
}

static double zipf_cdf(const struct dist *d, double x)
{
	return zipf_sum(d->a, fmin(floor(x) + 1, (double)d->n)) / d->zeta[ZIPF_SUM];
}

void dist_bind_n(struct dist *dist, uint64_t n)
{
	double a = dist->a;

	BUG_ON(!n);
	if (dist->kind != DIST_KIND_ZIPF)
		return;
	dist->n = n;
	dist->zeta[ZIPF_LOW] = zipf_integral(a, 1.5) - 1;
	dist->zeta[ZIPF_HIGH] = zipf_integral(a, (double)n + 0.5);
	dist->zeta[ZIPF_SURE] = 2 - zipf_integral_inverse(a, zipf_integral(a, 2.5) - pow(2, -a));
	dist->zeta[ZIPF_SUM] = zipf_sum(a, (double)n);
}

/* ---- Table of distributions ---- */

enum dist_arg {
	ARG_NONE,
	ARG_VALUE,    /* value in the distribution's unit, >= 0 */
	ARG_SCALE,    /* value in the distribution's unit, > 0 */
	ARG_FRACTION, /* a number from 0 to 1 */
	ARG_SHAPE,    /* a number from SHAPE_MIN to SHAPE_MAX */
	ARG_EXPONENT, /* a number from 0 to EXPONENT_MAX */
};

#define ARGS_MAX 3
#define SHAPE_MIN 0.001
#define SHAPE_MAX 1000
#define EXPONENT_MAX 10

struct dist_row {
	const char *name, *takes;
	enum dist_arg args[ARGS_MAX];
	double (*draw)(const struct dist *d, struct rng *rng);
	double (*cdf)(const struct dist *d, double x); /* called with x >= 0 */
};

static const struct dist_row dist_rows[] = {
	[DIST_KIND_FIXED] = { "fixed", "fixed:VALUE", { ARG_VALUE },
			      fixed_draw, fixed_cdf },
	[DIST_KIND_UNIFORM] = { "uniform", "uniform:FROM:TO", { ARG_VALUE, ARG_VALUE },
				uniform_draw, uniform_cdf },
	[DIST_KIND_EXPONENTIAL] = { "exponential", "exponential:MEAN", { ARG_SCALE },
				    exponential_draw, exponential_cdf },
	[DIST_KIND_LOGNORMAL] = { "lognormal", "lognormal:MEAN:CV", { ARG_SCALE, ARG_SHAPE },
				  lognormal_draw, lognormal_cdf },
	[DIST_KIND_GAMMA] = { "gamma", "gamma:MEAN:SHAPE", { ARG_SCALE, ARG_SHAPE },
			      gamma_draw, gamma_cdf },
	[DIST_KIND_PARETO] = { "pareto", "pareto:LOCATION:SCALE:SHAPE",
			       { ARG_VALUE, ARG_SCALE, ARG_EXPONENT },
			       pareto_draw, pareto_cdf },
	[DIST_KIND_GEV] = { "gev", "gev:LOCATION:SCALE:SHAPE",
			    { ARG_VALUE, ARG_SCALE, ARG_SHAPE }, gev_draw, gev_cdf },
	[DIST_KIND_BIMODAL] = { "bimodal", "bimodal:SHARE:VALUE:OTHER",
				{ ARG_FRACTION, ARG_VALUE, ARG_VALUE },
				bimodal_draw, bimodal_cdf },
	[DIST_KIND_NORMAL] = { "normal", "normal:MEAN:DEVIATION", { ARG_VALUE, ARG_SCALE },
			       normal_draw, normal_cut_cdf },
	[DIST_KIND_ZIPF] = { "zipf", "zipf:EXPONENT", { ARG_EXPONENT },
			     zipf_draw, zipf_cdf },
	[DIST_KIND_ETC] = { "etc", "etc", { ARG_NONE }, etc_draw, etc_cdf },
};

double dist_draw(const struct dist *dist, struct rng *rng)
{
	BUG_ON(!dist->kind);
	return fmin(fmax(dist_rows[dist->kind].draw(dist, rng), 0), DIST_LARGEST);
}

double dist_cdf(const struct dist *dist, double x)
{
	if (!dist->kind || isnan(x))
		return NAN;
	if (x < 0)
		return 0;
	return x >= DIST_LARGEST ? 1 : dist_rows[dist->kind].cdf(dist, x);
}

/* ---- Parsing ---- */

static const char *const unit_takes[] = {
	[DIST_UNIT_NS] = PARSE_DURATION_TAKES,
	[DIST_UNIT_BYTES] = PARSE_SIZE_TAKES,
	[DIST_UNIT_PLAIN] = "a number",
};

/* Finds the factor of a unit's name, by parse_duration() or parse_size() of "1NAME". */
static int parse_unit(const char *name, enum dist_unit unit, uint64_t *factor)
{
	char one[8] = "1";

	if (unit == DIST_UNIT_PLAIN) {
		*factor = 1;
		return *name ? -EINVAL : 0;
	}
	if (strlen(name) >= sizeof(one) - 1)
		return -EINVAL;
	memcpy(one + 1, name, strlen(name) + 1);
	return unit == DIST_UNIT_NS ? parse_duration(one, factor) : parse_size(one, factor);
}

/* Parses a value with its unit. Fractions of a nanosecond are valid, and 0 needs no unit. */
static int parse_number(const char *text, enum dist_unit unit, double *out)
{
	size_t digits = strspn(text, "0123456789.");
	char number[TEXT_MAX], *end;
	uint64_t factor = 1;
	double value;
	int err = 0;

	if (!digits || digits >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, digits);
	number[digits] = '\0';
	value = strtod(number, &end);
	if (*end)
		return -EINVAL;
	if (value != 0 || text[digits])
		err = parse_unit(text + digits, unit, &factor);
	value *= (double)factor;
	if (err || !(value <= 0x1p53))
		return err ? err : -ERANGE;
	*out = value;
	return 0;
}

static int dist_parse_arg(const char *text, enum dist_arg arg, enum dist_unit unit, double *out)
{
	int err;

	if (arg == ARG_FRACTION)
		return parse_fraction(text, out);
	if (arg == ARG_SHAPE || arg == ARG_EXPONENT)
		unit = DIST_UNIT_PLAIN;
	err = parse_number(text, unit, out);
	if (err)
		return err;
	if ((arg == ARG_SCALE && *out == 0) || (arg == ARG_EXPONENT && *out > EXPONENT_MAX) ||
	    (arg == ARG_SHAPE && (*out < SHAPE_MIN || *out > SHAPE_MAX)))
		return -ERANGE;
	return 0;
}

/* Parses the arguments of a distribution; `rest` is the text after its name, NULL: no text. */
static int dist_parse_args(char *rest, enum dist_kind kind, enum dist_unit unit, struct dist *out)
{
	struct dist d = { .kind = kind };
	double *to[ARGS_MAX] = { &d.a, &d.b, &d.c };

	for (int i = 0; i < ARGS_MAX && dist_rows[kind].args[i]; i++) {
		char *arg = strsep(&rest, ":");
		int err = arg ? dist_parse_arg(arg, dist_rows[kind].args[i], unit, to[i]) : -EINVAL;

		if (err)
			return err;
	}
	if (rest || (kind == DIST_KIND_UNIFORM && d.b < d.a))
		return -EINVAL;
	*out = d;
	return 0;
}

/* Whether a kind has this unit: zipf draws ranks, etc draws bytes, other kinds have any unit. */
static bool is_kind_of(enum dist_kind kind, enum dist_unit unit)
{
	return (kind != DIST_KIND_ZIPF || unit == DIST_UNIT_PLAIN) &&
	       (kind != DIST_KIND_ETC || unit == DIST_UNIT_BYTES);
}

static void dist_explain(const char *text, enum dist_kind kind, enum dist_unit unit,
			 struct strbuf *why)
{
	struct nearest nearest;
	size_t name = strcspn(text, ":");
	char word[TEXT_MAX] = "";

	if (kind) {
		strbuf_printf(why, "'%s' is not a distribution: use %s, where a value is %s and a "
			      "shape or CV is from %g to %d", text, dist_rows[kind].takes,
			      unit_takes[unit], SHAPE_MIN, SHAPE_MAX);
		return;
	}
	if (name < sizeof(word))
		memcpy(word, text, name);
	nearest_init(&nearest, word);
	strbuf_printf(why, "'%s' is not a distribution: use VALUE", text);
	for (enum dist_kind i = DIST_KIND_FIXED; i < ARRAY_LEN(dist_rows); i++) {
		if (!is_kind_of(i, unit))
			continue;
		strbuf_printf(why, ", %s", dist_rows[i].takes);
		nearest_offer(&nearest, dist_rows[i].name);
	}
	strbuf_printf(why, "; a value is %s", unit_takes[unit]);
	if (nearest.best)
		strbuf_printf(why, " (did you mean %s?)", nearest.best);
}

int dist_parse(const char *text, enum dist_unit unit, struct dist *out, struct strbuf *why)
{
	enum dist_kind kind = DIST_KIND_NONE;
	char copy[TEXT_MAX], *rest = copy, *name;
	int err = -EINVAL;

	if (strlen(text) >= sizeof(copy)) {
		strbuf_printf(why, "a distribution has at most %d characters", TEXT_MAX - 1);
		return -EINVAL;
	}
	memcpy(copy, text, strlen(text) + 1);
	if (*text >= '0' && *text <= '9') {
		kind = DIST_KIND_FIXED;
	} else {
		name = strsep(&rest, ":");
		for (enum dist_kind i = DIST_KIND_FIXED; i < ARRAY_LEN(dist_rows); i++) {
			if (strcmp(name, dist_rows[i].name) == 0 && is_kind_of(i, unit))
				kind = i;
		}
	}
	if (kind)
		err = dist_parse_args(rest, kind, unit, out);
	if (err)
		dist_explain(text, kind, unit, why);
	return err ? -EINVAL : 0;
}
