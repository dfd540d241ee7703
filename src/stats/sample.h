/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and summaries of values, shared by the tests in this folder. */
#ifndef HOSTLAT_STATS_SAMPLE_H
#define HOSTLAT_STATS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns 0, -ENODATA for fewer than `min` values, -EINVAL for NaN or infinite values. O(n). */
int sample_check(const double *x, size_t n, size_t min);

/* Checks as sample_check(); also returns -EDOM if all values are equal. */
int sample_check_varied(const double *x, size_t n, size_t min);

bool sample_constant(const double *x, size_t n);

/* Returns the mean of n >= 1 values; exact if all are equal. */
double sample_mean(const double *x, size_t n);

/* Sorts ascending, in place. O(n log n). */
void sample_sort(double *x, size_t n);

#endif
