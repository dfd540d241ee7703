/* SPDX-License-Identifier: Apache-2.0 */
#include "shares.h"

#include <math.h>

#include "base/bug.h"
#include "stats/special.h"

void shares_add(struct shares *s, unsigned state, uint64_t n, double sample_ns, uint32_t one_in)
{
	double weight = sample_ns * one_in, count = (double)n;

	BUG_ON(state >= SHARES_STATES || !(sample_ns > 0) || !one_in);
	s->ns[state] += count * weight;
	s->squares[state] += count * weight * weight;
	s->all += count * weight;
	s->all_squares += count * weight * weight;
	s->samples += n;
}

void shares_merge(struct shares *to, const struct shares *from)
{
	for (int i = 0; i < SHARES_STATES; i++) {
		to->ns[i] += from->ns[i];
		to->squares[i] += from->squares[i];
	}
	to->all += from->all;
	to->all_squares += from->all_squares;
	to->samples += from->samples;
}

/*
 * The variance of the quotient is the sum of (weight * (hit - share))^2 over all^2; of n equal
 * samples it is share * (1 - share) / n. Where the state was always or never found, n is Kish's.
 */
static double equal_samples(const struct shares *s, unsigned state, double share)
{
	double in = s->squares[state], out = s->all_squares - in, kish;
	double variance = in * (1 - share) * (1 - share) + out * share * share;

	kish = s->all * s->all / s->all_squares;
	if (!(variance > 0) || share <= 0 || share >= 1)
		return kish;
	return fmin(share * (1 - share) * s->all * s->all / variance, (double)s->samples);
}

struct shares_bound shares_of(const struct shares *s, unsigned state, double confidence)
{
	double share, n, z, centre, half;

	BUG_ON(state >= SHARES_STATES);
	if (!s->samples)
		return (struct shares_bound){ NAN, NAN, NAN };
	share = fmin(s->ns[state] / s->all, 1);
	n = equal_samples(s, state, share);
	z = normal_quantile((1 + confidence) / 2);
	centre = (share + z * z / (2 * n)) / (1 + z * z / n);
	half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
	return (struct shares_bound){ share, share > 0 ? fmax(centre - half, 0) : 0,
				      share < 1 ? fmin(centre + half, 1) : 1 };
}

double shares_total(double sum, double squares, uint32_t one_in, double *sd)
{
	double n = one_in;

	*sd = sqrt(n * (n - 1) * squares);
	return n * sum;
}
