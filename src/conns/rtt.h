/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distribution of round-trip times, and its quantiles within the resolution of the buckets
 * (event/layout_conn.h). A bucket is a quarter of an octave, and a quantile is the bucket's middle:
 * the true value is at most 9 % above or below (2^(1/8)), and within minimum and maximum, which are
 * exact. The first bucket is below 8 us, the last above 8.6 s. Buckets add up without loss.
 */
#ifndef HOSTLAT_CONNS_RTT_H
#define HOSTLAT_CONNS_RTT_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"
#include "report/report.h"

/* Sums of the round trips of connections. Zeroed before the first. */
struct rtt_sum {
	uint64_t connections, samples, sum_us;
	uint32_t min_us, max_us;
	uint64_t count[CONN_RTTS];
};

static inline bool rtt_is_known(const struct event_conn *e)
{
	const uint32_t both = CONN_KNOWS_RTT | CONN_KNOWS_RTTS;

	return (e->known & both) == both;
}

/* Returns whether buckets, number and extremes are consistent with each other. */
bool rtt_is_valid(const struct event_conn *e);

/* Adds a connection's round trips, if they are known. */
void rtt_add(struct rtt_sum *sum, const struct event_conn *e);

/*
 * Return the round trip with rank ceil(permille / 1000 * samples), in ns: the geometric middle of
 * its possible range. Null if there are too few samples: at least one must be expected above it.
 */
struct value rtt_quantile_value(const struct rtt_sum *sum, uint32_t permille);
struct value rtt_value_of(const struct event_conn *e, uint32_t permille);

/*
 * Add fields to `to`: samples, mean_ns, min_ns, max_ns; (rtt_put) p50_ns, p90_ns, p99_ns,
 * buckets[]. Unknown values are null.
 */
void rtt_put_extremes(const struct rtt_sum *sum, struct object *to);
void rtt_put(const struct rtt_sum *sum, struct object *to, struct report *r);

/* Adds a table to the text: each bucket with its share of the samples. */
void rtt_table(const struct rtt_sum *sum, struct report *r);

#endif
