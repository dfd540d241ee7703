/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discrete Fourier transform, X_k = sum of x_j exp(-2 pi i j k / n), in place and unscaled.
 * Relative error about 1e-15 log n. Returns 0 or -ENOMEM; `re` and `im` are then unchanged.
 */
#ifndef HOSTLAT_STATS_FFT_H
#define HOSTLAT_STATS_FFT_H

#include <stddef.h>

/* n a power of two (Cooley and Tukey 1965). For the inverse swap `re` and `im`. O(n log n). */
int fft_power_of_two(double *re, double *im, size_t n);

/* Any n (Bluestein 1970, by three transforms of a power of two >= 2 n). O(n log n). */
int fft(double *re, double *im, size_t n);

/* The smallest power of two >= n, n <= SIZE_MAX / 2. */
size_t fft_size(size_t n);

#endif
