/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a host's threads did not run: the time in gaps by windows of equal width, a power of two in
 * ns, aligned to multiples of it, and by the gaps' length, in powers of two. Windows are widened as
 * needed, so that memory is bounded and every gap counts.
 */
#ifndef HOSTLAT_LOAD_GAP_SERIES_H
#define HOSTLAT_LOAD_GAP_SERIES_H

#include <stdint.h>

#define GAP_SERIES_WINDOWS 128
#define GAP_SERIES_SHIFT 20 /* smallest width: 2^20 ns, as that of the latencies' windows */
#define GAP_SERIES_LENGTHS 16
#define GAP_SERIES_SHORT 13 /* gaps shorter than 2^13 ns are of one length */

struct gap_series {
	uint32_t shift;      /* windows are 2^shift ns wide; 0: no gap yet */
	uint64_t first;      /* window i begins at (first + i) << shift */
	uint32_t n;          /* windows in use */
	/* time in gaps by length, ascending, summed over threads */
	double ns[GAP_SERIES_LENGTHS][GAP_SERIES_WINDOWS];
};

/* Adds a gap of `amount` ns, spread evenly over [begin, end]; ignores end < begin. */
void gap_series_add(struct gap_series *gaps, uint64_t begin, uint64_t end, uint64_t amount);

/*
 * Returns the time within [from, to) in gaps of at least `least` ns, or less than a factor of two
 * shorter, in ns; a window partly in it counts partly.
 */
double gap_series_between(const struct gap_series *gaps, uint64_t from, uint64_t to,
			  uint64_t least);

#endif
