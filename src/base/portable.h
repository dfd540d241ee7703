/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log, exp and sine whose bits are the same on every machine: for what must be made again from a
 * seed elsewhere. libm's differ between versions and between processors with and without fused
 * multiplication; these use only +, -, *, / and sqrt of doubles, which IEEE 754 rounds in one way
 * (the build forbids contraction: -ffp-contract=off). Within 2 units in the last place,
 * expm1 within 4.
 */
#ifndef HOSTLAT_BASE_PORTABLE_H
#define HOSTLAT_BASE_PORTABLE_H

/* x > 0, finite and not subnormal. */
double portable_log(double x);

/* 0 below -708, infinite above 709. */
double portable_exp(double x);

/* exp(x) - 1 without cancellation near 0. */
double portable_expm1(double x);

/* sin(2 pi x) for 0 <= x < 1: within 1e-15. */
double portable_sin_turn(double x);

#endif
