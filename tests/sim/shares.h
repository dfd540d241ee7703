/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of time from samples taken at rates that change. Pure.
 *
 * A sample stands for the time that its level's sample_ns says (struct budget_rates): the
 * interval's length over its number of samples and over the chance that there is one at all. Times
 * so summed are unbiased (Horvitz and Thompson 1952), whatever made the rate what it is, as long
 * as that was before the interval; also for a connection that changes its level within, by what
 * happens to it and not by what was sampled. An interval without samples adds nothing: the samples
 * of its like stand for it by the chance. To leave such intervals out without that weight, or to
 * count samples of different rates alike, is wrong: rates are high where problems are.
 *
 * Shares are quotients of such sums (Hajek 1971): biased by the order of 1/n, and they add up to
 * one. Their interval is Wilson's (1927), for as many samples of equal weight as have this
 * variance (Kish 1965); the variance is an upper bound, as samples within an interval cover it
 * evenly.
 */
#ifndef HOSTLAT_SIM_SHARES_H
#define HOSTLAT_SIM_SHARES_H

#include <stdint.h>

#define SHARES_STATES 16

struct shares {
	double ns[SHARES_STATES]; /* weights of the samples that found each state */
	double squares[SHARES_STATES]; /* ... of the weights' squares */
	double all, all_squares;
	uint64_t samples;
};

struct shares_bound {
	double share, low, high; /* 0 to 1; NaN if there are no samples */
};

/*
 * `n` samples of one connection found `state` < SHARES_STATES, and each stands for `sample_ns` > 0.
 * `one_in`: of so many connections one is followed; 1 unless shares of many connections are added.
 */
void shares_add(struct shares *s, unsigned state, uint64_t n, double sample_ns, uint32_t one_in);

void shares_merge(struct shares *to, const struct shares *from);

/*
 * The share of time in `state`, with an interval of this confidence (0.95). The interval is for
 * samples whose times are independent: of one connection, or of connections in different passes.
 */
struct shares_bound shares_of(const struct shares *s, unsigned state, double confidence);

/*
 * What all connections did, from those that are followed: `sum` and `squares` over them of some
 * count, one in `one_in` drawn independently. Returns the total; `sd` becomes its standard error.
 */
double shares_total(double sum, double squares, uint32_t one_in, double *sd);

#endif
