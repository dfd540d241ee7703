// SPDX-License-Identifier: Apache-2.0
#include "stats/fft.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

size_t fft_size(size_t n)
{
	size_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

static void swap(double *a, double *b)
{
	double x = *a;

	*a = *b;
	*b = x;
}

static void reverse_bits(double *re, double *im, size_t n)
{
	for (size_t i = 1, j = 0; i < n; i++) {
		size_t bit = n / 2;

		for (; j & bit; bit /= 2)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			swap(&re[i], &re[j]);
			swap(&im[i], &im[j]);
		}
	}
}

/* Joins transforms of `half` values to those of twice as many; root[k] = exp(-2 pi i k / n). */
static void join(double *re, double *im, size_t n, size_t half, const double *cosine,
		 const double *sine)
{
	size_t stride = n / (2 * half);

	for (size_t from = 0; from < n; from += 2 * half) {
		for (size_t k = 0; k < half; k++) {
			size_t a = from + k, b = a + half;
			double c = cosine[k * stride], s = sine[k * stride];
			double x = c * re[b] - s * im[b], y = c * im[b] + s * re[b];

			re[b] = re[a] - x;
			im[b] = im[a] - y;
			re[a] += x;
			im[a] += y;
		}
	}
}

int fft_power_of_two(double *re, double *im, size_t n)
{
	double *cosine, *sine;

	if (n < 2)
		return 0;
	cosine = malloc(n * sizeof(*cosine));
	if (!cosine)
		return -ENOMEM;
	sine = cosine + n / 2;
	for (size_t k = 0; k < n / 2; k++) {
		cosine[k] = cos(2 * M_PI * (double)k / (double)n);
		sine[k] = -sin(2 * M_PI * (double)k / (double)n);
	}
	reverse_bits(re, im, n);
	for (size_t half = 1; half < n; half *= 2)
		join(re, im, n, half, cosine, sine);
	free(cosine);
	return 0;
}

/* Both transforms of a circular convolution, their product and the way back. */
static int convolve(double *a_re, double *a_im, double *b_re, double *b_im, size_t size)
{
	int err = fft_power_of_two(a_re, a_im, size);

	err = err ? err : fft_power_of_two(b_re, b_im, size);
	if (err)
		return err;
	for (size_t k = 0; k < size; k++) {
		double re = a_re[k] * b_re[k] - a_im[k] * b_im[k];

		a_im[k] = a_re[k] * b_im[k] + a_im[k] * b_re[k];
		a_re[k] = re;
	}
	return fft_power_of_two(a_im, a_re, size);
}

/* j k = (j^2 + k^2 - (k - j)^2) / 2 turns the transform into a convolution with a chirp. */
int fft(double *re, double *im, size_t n)
{
	size_t size = fft_size(2 * n);
	double *a_re, *a_im, *b_re, *b_im;
	int err;

	if (n == fft_size(n))
		return fft_power_of_two(re, im, n);
	a_re = calloc(4 * size, sizeof(*a_re));
	if (!a_re)
		return -ENOMEM;
	a_im = a_re + size;
	b_re = a_im + size;
	b_im = b_re + size;
	for (size_t k = 0; k < n; k++) {
		/* exp(pi i k^2 / n) has the period 2 n in k^2: no digits are lost */
		double angle = M_PI * (double)((uint64_t)k * k % (2 * n)) / (double)n;
		double c = cos(angle), s = sin(angle);

		a_re[k] = re[k] * c + im[k] * s;
		a_im[k] = im[k] * c - re[k] * s;
		b_re[k] = b_re[k ? size - k : 0] = c;
		b_im[k] = b_im[k ? size - k : 0] = s;
	}
	err = convolve(a_re, a_im, b_re, b_im, size);
	for (size_t k = 0; !err && k < n; k++) {
		double angle = M_PI * (double)((uint64_t)k * k % (2 * n)) / (double)n;
		double c = cos(angle) / (double)size, s = sin(angle) / (double)size;

		re[k] = a_re[k] * c + a_im[k] * s;
		im[k] = a_im[k] * c - a_re[k] * s;
	}
	free(a_re);
	return err;
}
