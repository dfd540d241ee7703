/* SPDX-License-Identifier: Apache-2.0 */
/* Computes log, exp and sine by series, on arguments that are first reduced near zero. */
#include "base/portable.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "base/bug.h"

/* FLT_EVAL_METHOD 16 concerns only half precision. */
_Static_assert((FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16) && DBL_MANT_DIG == 53,
	       "doubles are not IEEE 754's");
#ifdef __FAST_MATH__
#error "-ffast-math changes the bits"
#endif

/* ln 2 in two parts; the first has so few bits that its product with any exponent is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33

/*
 * ln x: x = m 2^k with m near 1. With f = m - 1 (exact) and s = f / (2 + f), ln m = 2 atanh s = f -
 * s (f - r), where r = 2 (s^2/3 + s^4/5 + ...): |s| < 0.172, and 11 terms leave 1e-18.
 */
double portable_log(double x)
{
	double f, s, s2, r = 0;
	int k;

	BUG_ON(!(x >= DBL_MIN && x <= DBL_MAX));
	f = frexp(x, &k);
	if (f < M_SQRT1_2) {
		f *= 2;
		k--;
	}
	f -= 1;
	s = f / (2 + f);
	s2 = s * s;
	for (int i = 23; i >= 3; i -= 2)
		r = s2 * (2.0 / i + r);
	return k * LN2_HIGH - ((s * (f - r) - k * LN2_LOW) - f);
}

/* Returns r in x = k ln 2 + r; |r| < 0.347. */
static double portable_split(double x, int *k)
{
	double n = floor(x * M_LOG2E + 0.5);

	*k = (int)n;
	return (x - n * LN2_HIGH) - n * LN2_LOW;
}

/* Returns exp(r) - 1 by 14 terms of the series; the error is 1e-17. */
static double portable_small_expm1(double r)
{
	double sum = 1;

	for (int i = 14; i >= 2; i--)
		sum = 1 + r / i * sum;
	return r * sum;
}

double portable_exp(double x)
{
	double r;
	int k;

	if (x < -708)
		return 0;
	if (x > 709)
		return INFINITY;
	r = portable_split(x, &k);
	return ldexp(1 + portable_small_expm1(r), k);
}

double portable_expm1(double x)
{
	return fabs(x) < 0.34 ? portable_small_expm1(x) : portable_exp(x) - 1;
}

/*
 * Reduces x to the nearest quarter turn and an angle t from it, |t| <= pi / 4, for the series of
 * sine or cosine. Their last terms are t^17/17! and t^16/16!.
 */
double portable_sin_turn(double x)
{
	int quarter = (int)floor(x * 4 + 0.5);
	double t = (x - quarter * 0.25) * (2 * M_PI), sum = 1;
	double last = quarter & 1 ? 16 : 17;

	for (double i = last; i >= 2; i -= 2)
		sum = 1 - t * t / (i * (i - 1)) * sum;
	if (!(quarter & 1))
		sum *= t;
	return quarter & 2 ? -sum : sum;
}
