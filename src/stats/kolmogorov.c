/* SPDX-License-Identifier: Apache-2.0 */
/* Distribution of Kolmogorov's D: stats/special.h says which source gives which part. */
#include <math.h>
#include <stdbool.h>

#include "stats/special.h"

/*
 * Up to this n the matrix is always used; it has at most 2 * ceil(sqrt(4 * 140)) - 1 rows, since
 * the upper tail is used above n d^2 = 4. For greater n it is used while it and d are small.
 */
#define MATRIX_N_MAX 140
#define ROWS_MAX 47
#define ONE_SIDED_N_MAX 100000

double kolmogorov_sf(double x)
{
	double sum = 0, sign = 1;

	if (isnan(x))
		return NAN;
	if (x < 0.04) /* exp(-pi^2 / 8 x^2) is negligible */
		return 1;
	if (x < 1) {
		for (int k = 1; k < 40; k += 2)
			sum += exp(-k * k * M_PI * M_PI / (8 * x * x));
		return 1 - sqrt(2 * M_PI) / x * sum;
	}
	for (int k = 1; k < 10; k++, sign = -sign)
		sum += sign * exp(-2 * k * k * x * x);
	return 2 * sum;
}

/* P(D+ >= d), Birnbaum and Tingey: d * sum over j of C(n, j) (d + j/n)^(j-1) (1 - d - j/n)^(n-j) */
static double one_sided(double d, uint64_t n)
{
	double log_choose = 0, sum = 0, size = (double)n;

	for (uint64_t j = 0; j < n; j++) {
		double x = d + (double)j / size, rest = 1 - x;

		if (rest <= 0)
			break;
		sum += exp(log_choose + ((double)j - 1) * log(x) + (double)(n - j) * log(rest));
		log_choose += log((double)(n - j) / (double)(j + 1));
	}
	return d * sum;
}

struct matrix {
	int rows;
	int exponent; /* entries are scaled by 2^exponent */
	double at[ROWS_MAX][ROWS_MAX];
};

static void multiply(struct matrix *a, const struct matrix *b)
{
	struct matrix c = { .rows = a->rows, .exponent = a->exponent + b->exponent };

	for (int i = 0; i < a->rows; i++) {
		for (int k = 0; k < a->rows; k++) {
			for (int j = 0; j < a->rows; j++)
				c.at[i][j] += a->at[i][k] * b->at[k][j];
		}
	}
	if (c.at[a->rows / 2][a->rows / 2] > 0x1p300) {
		for (int i = 0; i < a->rows; i++) {
			for (int j = 0; j < a->rows; j++)
				c.at[i][j] *= 0x1p-300;
		}
		c.exponent += 300;
	}
	*a = c;
}

/* Sets m to H of Marsaglia, Tsang and Wang for d = (k - h) / n. */
static void durbin_matrix(struct matrix *m, int k, double h)
{
	int rows = 2 * k - 1;
	double corner = 1 - 2 * pow(h, rows);

	if (h > 0.5)
		corner += pow(2 * h - 1, rows);
	*m = (struct matrix){ .rows = rows };
	for (int i = 0; i < rows; i++) {
		for (int j = 0; j < rows; j++)
			m->at[i][j] = i - j + 1 >= 0 ? 1 / tgamma(i - j + 2) : 0;
	}
	for (int i = 0; i < rows - 1; i++) {
		double edge = (1 - pow(h, i + 1)) / tgamma(i + 2);

		m->at[i][0] = edge;
		m->at[rows - 1][rows - 1 - i] = edge;
	}
	m->at[rows - 1][0] = corner / tgamma(rows + 1);
}

/* Returns P(D < d): n! / n^n times the middle entry of H^n. n d > 0.5. */
static double matrix_cdf(double d, int n)
{
	int k = (int)ceil(n * d);
	struct matrix base, power = { .rows = 2 * k - 1 };
	double log_p;

	durbin_matrix(&base, k, k - n * d);
	for (int i = 0; i < power.rows; i++)
		power.at[i][i] = 1;
	for (int left = n; left; left /= 2) {
		if (left & 1)
			multiply(&power, &base);
		if (left > 1)
			multiply(&base, &base);
	}
	log_p = log(power.at[k - 1][k - 1]) + power.exponent * M_LN2;
	for (int i = 1; i <= n; i++)
		log_p += log((double)i / n);
	return exp(log_p);
}

/* Returns P(D < d) by Pelz and Good's expansion to n^(-3/2), n > 140. */
static double expansion_cdf(double d, double n)
{
	double z = sqrt(n) * d, z2 = z * z, z4 = z2 * z2, z6 = z4 * z2, pi2 = M_PI * M_PI;
	double k[4] = { 0 }, extra2 = 0, extra3 = 0;

	for (int i = 0; i < 40; i++) {
		double m2 = pi2 * (2 * i + 1) * (2 * i + 1) / 4, q = exp(-m2 / (2 * z2));
		double j2 = pi2 * i * i, r = exp(-j2 / (2 * z2));

		k[0] += q;
		k[1] += q * (m2 - z2);
		k[2] += q * (6 * z6 + 2 * z4 + (2 * z4 - 5 * z2) * m2 + (1 - 2 * z2) * m2 * m2);
		k[3] += q * (-30 * z6 - 90 * z6 * z2 + (135 * z4 - 96 * z6) * m2 +
			     (212 * z4 - 60 * z2) * m2 * m2 + (5 - 30 * z2) * m2 * m2 * m2);
		extra2 += r * j2;
		extra3 += r * j2 * (3 * z2 - j2);
	}
	k[0] /= z;
	k[1] /= 6 * z4;
	k[2] = k[2] / (72 * z6 * z) - extra2 / (36 * z2 * z);
	k[3] = k[3] / (6480 * z6 * z4) + extra3 / (216 * z6);
	return sqrt(2 * M_PI) * (k[0] + (k[1] + (k[2] + k[3] / sqrt(n)) / sqrt(n)) / sqrt(n));
}

double kolmogorov_exact_sf(double d, uint64_t n)
{
	double size = (double)n, spread = size * d * d, cdf;
	bool matrix = n <= MATRIX_N_MAX;

	if (isnan(d) || n == 0)
		return NAN;
	if (d >= 1 || size * d <= 0.5)
		return d < 1;
	if (n <= ONE_SIDED_N_MAX && (d >= 0.5 || spread >= (matrix ? 4 : 2.2)))
		return fmin(2 * one_sided(d, n), 1);
	if (spread >= 18)
		return kolmogorov_sf(sqrt(spread));
	if (spread < 0.002) /* P(D < d) < 1e-250 */
		return 1;
	matrix = matrix || (size * pow(d, 1.5) <= 1.4 && 2 * ceil(size * d) - 1 <= ROWS_MAX);
	cdf = matrix ? matrix_cdf(d, (int)n) : expansion_cdf(d, size);
	return fmin(fmax(1 - cdf, 0), 1);
}
