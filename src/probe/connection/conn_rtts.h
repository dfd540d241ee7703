/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram of the round trips since a connection's last report. For the last report, only the
 * range of non-empty buckets is stored: the round trips of most connections cover an octave or two.
 */
#ifndef HOSTLAT_PROBE_CONN_RTTS_H
#define HOSTLAT_PROBE_CONN_RTTS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_conns.h"

/* Counters of a connection's histogram at its last report. */
struct conn_rtts_seen {
	uint16_t wraps;
	uint8_t first, n;    /* count[i] is bucket first + i; other buckets were 0 */
	uint16_t count[];
};

/* Returns the size of `seen` in bytes; 0 for NULL. */
size_t conn_rtts_size(const struct conn_rtts_seen *seen);

/*
 * Stores in gained[CONN_RTTS] how much each bucket has grown, and the new counters in *seen, which
 * is NULL at first and freed by the caller. A counter that the kernel is just updating counts at
 * the next call. Returns 0; -ENODATA if more counters wrapped than the kernel remembers, so that
 * this interval is unknown; or -ENOMEM.
 */
int conn_rtts_gained(struct conn_rtts_seen **seen, const struct conn_rtts *now, uint32_t *gained);

/*
 * Adjusts minimum and maximum to the non-empty buckets of `gained`. They can differ: the kernel
 * resets its extremes at a report, and a sample may come between the copies of buckets and
 * extremes. *max_us is 0 if there are no extremes.
 */
void conn_rtts_extremes(const uint32_t *gained, uint32_t *min_us, uint32_t *max_us);

#endif
