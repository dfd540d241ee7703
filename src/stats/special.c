/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/bug.h"

#define TINY 1e-300 /* replaces 0 as a divisor in Lentz' continued fractions */
#define STEPS_MAX 10000000

double normal_cdf(double z)
{
	return 0.5 * erfc(-z * M_SQRT1_2);
}

double normal_sf(double z)
{
	return 0.5 * erfc(z * M_SQRT1_2);
}

/* Returns c[0] + c[1] x + ... + c[n - 1] x^(n - 1). */
static double polynomial(const double *c, int n, double x)
{
	double sum = 0;

	while (n-- > 0)
		sum = sum * x + c[n];
	return sum;
}

/* Rational approximations of AS241's PPND16: numerator, denominator. */
static const double centre[2][8] = {
	{ 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
	  1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
	  3.3430575583588128105e4, 2.5090809287301226727e3 },
	{ 1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
	  2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
	  5.2264952788528545610e3 },
};
static const double middle[2][8] = {
	{ 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
	  3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
	  2.27238449892691845833e-2, 7.74545014278341407640e-4 },
	{ 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
	  1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
	  1.05075007164441684324e-9 },
};
static const double far[2][8] = {
	{ 6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
	  2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
	  2.71155556874348757815e-5, 2.01033439929228813265e-7 },
	{ 1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
	  7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
	  2.04426310338993978564e-15 },
};

static double special_ratio(const double c[2][8], double x)
{
	return polynomial(c[0], 8, x) / polynomial(c[1], 8, x);
}

double normal_quantile(double p)
{
	double q = p - 0.5, r, z;

	if (!(p >= 0 && p <= 1))
		return NAN;
	if (p == 0 || p == 1)
		return p == 0 ? -INFINITY : INFINITY;
	if (fabs(q) <= 0.425)
		return q * special_ratio(centre, 0.180625 - q * q);
	r = sqrt(-log(q < 0 ? p : 1 - p));
	z = r <= 5 ? special_ratio(middle, r - 1.6) : special_ratio(far, r - 5);
	return q < 0 ? -z : z;
}

/*
 * Returns ln Gamma(z) - [(z - 1/2) ln z - z + ln sqrt(2 pi)], z > 0 (Abramowitz and Stegun 6.1.40).
 */
static double stirling_error(double z)
{
	static const double c[] = { 1 / 12.0, -1 / 360.0, 1 / 1260.0, -1 / 1680.0, 1 / 1188.0,
				    -691 / 360360.0, 1 / 156.0 };
	double shift = 0;

	/*
	 * Raises z to where the series is precise. `shift` sums the differences between the errors
	 * of z and z + 1.
	 */
	for (; z < 10; z++)
		shift += (z + 0.5) * log1p(1 / z) - 1;
	return shift + polynomial(c, ARRAY_LEN(c), 1 / (z * z)) / z;
}

/*
 * Returns a ln(a / m) + m - a >= 0, without cancellation near a = m (the deviance of Loader 2000,
 * by a different series).
 */
static double special_deviance(double a, double m)
{
	double d = (a - m) / (a + m), d2 = d * d, sum = 0, power = d;

	if (fabs(d) > 0.1)
		return a * log(a / m) + m - a;
	/* Uses ln(a / m) = 2 artanh(d) and a - m = d (a + m), and the series of artanh. */
	for (int k = 3; k < 40; k += 2) {
		power *= d2;
		sum += power / k;
	}
	return 2 * a * sum + d * (a - m);
}

/* Returns x^a y^b / B(a, b) with x + y = 1. */
static double beta_factor(double x, double y, double a, double b)
{
	double n = a + b;
	double exponent = stirling_error(n) - stirling_error(a) - stirling_error(b) -
			  special_deviance(a, n * x) - special_deviance(b, n * y);

	return sqrt(a / n * b / (2 * M_PI)) * exp(exponent);
}

/* One step of Lentz' algorithm with the coefficient `term`. Returns false when it has converged. */
static bool lentz(double term, double one, double *c, double *d, double *f)
{
	double factor;

	*d = one + term * *d;
	*c = one + term / *c;
	if (fabs(*d) < TINY)
		*d = TINY;
	if (fabs(*c) < TINY)
		*c = TINY;
	*d = 1 / *d;
	factor = *c * *d;
	*f *= factor;
	return fabs(factor - 1) > 2 * DBL_EPSILON;
}

/*
 * Returns I_x(a, b) for x <= (a + 1) / (a + b + 2), where it converges in O(sqrt(max(a, b))) steps.
 * Continued fraction: Abramowitz and Stegun 26.5.8.
 */
static double beta_fraction(double x, double y, double a, double b)
{
	double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;

	for (int i = 1; i < STEPS_MAX; i++) {
		double m = i, at = a + 2 * m;

		lentz(m * (b - m) * x / ((at - 1) * at), 1, &c, &d, &f);
		if (!lentz(-(a + m) * (a + b + m) * x / (at * (at + 1)), 1, &c, &d, &f))
			break;
	}
	return beta_factor(x, y, a, b) * f / a;
}

/* Returns I_x(a, b), or 1 - that if `upper`; y = 1 - x is passed since it may be more precise. */
static double beta_pair(double x, double y, double a, double b, bool upper)
{
	bool swap;
	double part;

	if (isnan(x) || !(a > 0 && b > 0) || x < 0 || y < 0)
		return NAN;
	if (x == 0 || y == 0)
		return (y == 0) != upper;
	/* Once only: near the bound, rounding may put both x and y beyond theirs. */
	swap = x > (a + 1) / (a + b + 2);
	part = fmin(swap ? beta_fraction(y, x, b, a) : beta_fraction(x, y, a, b), 1);
	return upper != swap ? 1 - part : part;
}

double beta_sf(double x, double a, double b)
{
	return beta_pair(x, 1 - x, a, b, true);
}

/* Returns x^a e^-x / Gamma(a + 1). */
static double gamma_factor(double a, double x)
{
	return exp(-stirling_error(a) - special_deviance(a, x)) / sqrt(2 * M_PI * a);
}

static double gamma_series(double a, double x)
{
	double term = 1, sum = 1;

	for (int i = 1; i < STEPS_MAX && term > sum * DBL_EPSILON / 4; i++) {
		term *= x / (a + i);
		sum += term;
	}
	return gamma_factor(a, x) * sum;
}

static double gamma_fraction(double a, double x)
{
	double one = x + 1 - a, c = 1 / TINY, d = 1 / one, f = d;

	for (int i = 1; i < STEPS_MAX; i++) {
		one += 2;
		if (!lentz(-i * (i - a), one, &c, &d, &f))
			break;
	}
	return gamma_factor(a, x) * a * f;
}

static double gamma_pair(double a, double x, bool upper)
{
	bool series = x < a + 1;
	double part;

	if (!(a > 0) || !(x >= 0))
		return NAN;
	if (x == 0 || isinf(x))
		return (x == 0) == upper;
	part = fmin(series ? gamma_series(a, x) : gamma_fraction(a, x), 1);
	return series == upper ? 1 - part : part;
}

double gamma_p(double a, double x)
{
	return gamma_pair(a, x, false);
}

double student_two_sided(double t, double df)
{
	if (isnan(t) || !(df > 0))
		return NAN;
	if (isinf(df))
		return 2 * normal_sf(fabs(t));
	if (isinf(t))
		return 0;
	if (fabs(t) > 1e150) /* t * t would overflow */
		return beta_pair(df / t / t, 1, df / 2, 0.5, false);
	return beta_pair(df / (df + t * t), t * t / (df + t * t), df / 2, 0.5, false);
}

/* Bisects on bits, which order doubles >= 0 like their values: any t is found in 64 steps. */
double student_quantile(double p, double df)
{
	double tail = 2 * fmin(p, 1 - p);
	union {
		double value;
		uint64_t bits;
	} lo = { .value = 0 }, hi = { .value = DBL_MAX }, at;

	if (!(p >= 0 && p <= 1) || !(df > 0))
		return NAN;
	if (tail == 0)
		return p == 0 ? -INFINITY : INFINITY;
	if (isinf(df))
		return normal_quantile(p);
	if (p == 0.5)
		return 0;
	while (hi.bits - lo.bits > 1) {
		at.bits = lo.bits + (hi.bits - lo.bits) / 2;
		if (student_two_sided(at.value, df) > tail)
			lo = at;
		else
			hi = at;
	}
	return p < 0.5 ? -hi.value : hi.value;
}

double chi2_sf(double x, double df)
{
	return gamma_pair(df / 2, x / 2, true);
}
