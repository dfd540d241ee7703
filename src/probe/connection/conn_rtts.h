/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Round trips that a connection had since it was told last, by their length. Of what was told only
 * the range is kept that has something: most connections have an octave or two.
 */
#ifndef HOSTLAT_PROBE_CONN_RTTS_H
#define HOSTLAT_PROBE_CONN_RTTS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_conns.h"

/* The counters as they were. */
struct conn_rtts_seen {
	uint16_t wraps;
	uint8_t first, n;    /* count[i] is that of bucket first + i; others were 0 */
	uint16_t count[];
};

/* Bytes; of NULL 0. */
size_t conn_rtts_size(const struct conn_rtts_seen *seen);

/*
 * What each bucket gained, into gained[CONN_RTTS]; *seen, which is the caller's to free() and NULL
 * at first, has the new ones then. What the kernel had written half when it was read, is gained the
 * next time. Returns 0; -ENODATA if more ran over since than the kernel remembers: then nothing is
 * known of this time; -ENOMEM.
 */
int conn_rtts_gained(struct conn_rtts_seen **seen, const struct conn_rtts *now, uint32_t *gained);

/*
 * Extremes that hold for what is in the buckets: those of the kernel begin again when they are
 * told, and a sample may come between the two. `*max_us` 0: there are none.
 */
void conn_rtts_extremes(const uint32_t *gained, uint32_t *min_us, uint32_t *max_us);

#endif
