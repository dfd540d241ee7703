/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and summaries of values that all tests of this folder begin with. */
#ifndef HOSTLAT_STATS_SAMPLE_H
#define HOSTLAT_STATS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

/* 0, -ENODATA for fewer than `min` values, -EINVAL for NaN or infinite ones. O(n). */
int sample_check(const double *x, size_t n, size_t min);

/* The same, and -EDOM if all are equal. */
int sample_check_varied(const double *x, size_t n, size_t min);

bool sample_constant(const double *x, size_t n);

/* n >= 1; exact for constants. */
double sample_mean(const double *x, size_t n);

/* Ascending, in place. O(n log n). */
void sample_sort(double *x, size_t n);

#endif
