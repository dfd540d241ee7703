/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram of the round trips since a connection's last report. Of the last report only the range
 * of non-empty buckets is stored: most connections have an octave or two.
 */
#ifndef HOSTLAT_PROBE_CONN_RTTS_H
#define HOSTLAT_PROBE_CONN_RTTS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_conns.h"

/* Counters at the last report. */
struct conn_rtts_seen {
	uint16_t wraps;
	uint8_t first, n;    /* count[i] belongs to bucket first + i; all others were 0 */
	uint16_t count[];
};

/* Returns the bytes of `seen`; 0 for NULL. */
size_t conn_rtts_size(const struct conn_rtts_seen *seen);

/*
 * Stores in gained[CONN_RTTS] how much each bucket has grown, and the new counters in *seen, which
 * is NULL at first and which the caller frees. A counter that the kernel was just updating counts
 * the next time. Returns 0; -ENODATA if more counters wrapped than the kernel remembers, so that
 * this interval is unknown; or -ENOMEM.
 */
int conn_rtts_gained(struct conn_rtts_seen **seen, const struct conn_rtts *now, uint32_t *gained);

/*
 * Adjusts the extremes to the buckets' contents: the kernel resets its extremes at a report, and a
 * sample may fall between the two. `*max_us` is 0 if there are none.
 */
void conn_rtts_extremes(const uint32_t *gained, uint32_t *min_us, uint32_t *max_us);

#endif
