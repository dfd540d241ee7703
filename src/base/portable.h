/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log, exp and sine with the same bits on every machine, for results that another machine must
 * reproduce from a seed. libm differs between versions and between processors with and without
 * fused multiplication; these functions use only +, -, *, / and sqrt of doubles, which IEEE 754
 * rounds in one way (built with -ffp-contract=off). Within 2 units in the last place, expm1 within
 * 4.
 */
#ifndef HOSTLAT_BASE_PORTABLE_H
#define HOSTLAT_BASE_PORTABLE_H

/* Returns ln x; x > 0, finite and not subnormal. */
double portable_log(double x);

/* Returns e^x; 0 below -708, infinite above 709. */
double portable_exp(double x);

/* Returns exp(x) - 1 without cancellation near 0. */
double portable_expm1(double x);

/* Returns sin(2 pi x) for 0 <= x < 1, within 1e-15. */
double portable_sin_turn(double x);

#endif
