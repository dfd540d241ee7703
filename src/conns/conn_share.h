/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of time from samples. */
#ifndef HOSTLAT_CONNS_CONN_SHARE_H
#define HOSTLAT_CONNS_CONN_SHARE_H

#include "event/layout.h"
#include "stats/proportion.h"

/*
 * The share of from..to in which samples found a thing: `hits` of them, that stand for `ns`. It is
 * a quotient of sums of weights (Hajek 1971), biased by the order of 1/n. Its interval is Wilson's
 * (1927), for as many samples of equal weight as have this variance (Kish 1965); of an
 * interval, samples that found the same are taken to weigh the same. Without weights all do.
 */
struct proportion conn_share_sampled(const struct event_conn *c, uint64_t ns, uint32_t hits,
				     double confidence);

#endif
