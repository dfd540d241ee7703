/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of many alike things, each known from few samples: the largest of them is large by chance.
 * Each share is judged by its own samples and by how the shares of the others vary: a beta-binomial
 * model, its law fitted by moments (Kleinman, JASA 1973). One in 100 may be unlike the others: its
 * share may be anything.
 */
#ifndef HOSTLAT_STATS_SHRINK_H
#define HOSTLAT_STATS_SHRINK_H

#include <stdint.h>

/* Sums over things. All 0: none yet. */
struct shrink_sum {
	uint64_t things;
	double n, squares;         /* number of samples; sum of its squares */
	double hits, hit_shares;   /* sums of share * n and of share^2 * n */
};

/* Beta law of the shares: of `strength` samples with the mean share. */
struct shrink_law {
	double mean, strength;     /* strength 0: nothing is known */
};

/* Adds a thing with `share` of its n samples, 0..1; n > 0 need not be an integer. */
void shrink_add(struct shrink_sum *sum, double share, double n);

/* Returns the law of the shares; of a single thing, strength 0. */
struct shrink_law shrink_fit(const struct shrink_sum *sum);

/*
 * Returns the probability that a thing's true share is above `limit`, 0..1, if `share` of its n
 * samples show it. Without a law, all shares are as likely.
 */
double shrink_above(const struct shrink_law *law, double share, double n, double limit);

#endif
