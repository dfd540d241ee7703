/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How numbers are written for people, in sentences and in tables alike: 0.3 µs, 18 204,
 * 96 %. UTF-8; src/output folds it to ASCII where the terminal asks for that.
 */
#ifndef HOSTLAT_REPORT_HUMAN_H
#define HOSTLAT_REPORT_HUMAN_H

#include <stdint.h>

/* Holds any number in any unit with its separators, and the NUL. */
#define HUMAN_MAX 40

/* All return `buf`, which holds HUMAN_MAX bytes. */

/* One decimal below 10 of a unit, none from there on: 312 ns, 4.4 µs, 21 µs, 3.1 ms, 1.0 s. */
const char *human_ns(char *buf, uint64_t ns);
const char *human_sns(char *buf, int64_t ns);
/* Groups of three digits: 18 204. */
const char *human_count(char *buf, uint64_t n);
/* 0..1 as percent: 0 %, 0.3 %, 9 %, 96 %; what is not quite nothing is never 0: <0.1 %. */
const char *human_fraction(char *buf, double fraction);

#endif
