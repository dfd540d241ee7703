/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison for qsort(), and binary search. */
#ifndef HOSTLAT_BASE_SORT_H
#define HOSTLAT_BASE_SORT_H

#include <stdint.h>

/* Returns < 0, 0 or > 0 as for qsort(): the order of two numbers; evaluates each twice. */
#define sort_order(a, b) ((a) == (b) ? 0 : (a) > (b) ? 1 : -1)

/*
 * Returns, by binary search, the first `i` of from .. to - 1 for which the condition `...` holds;
 * `to`: none. The condition must hold for all later `i`, too.
 */
#define sort_first(i, from, to, ...)                                                               \
	({                                                                                         \
		uint64_t sort_from = (from), sort_to = (to);                                       \
		while (sort_from < sort_to) {                                                      \
			const uint64_t i = sort_from + (sort_to - sort_from) / 2;                  \
			if (__VA_ARGS__)                                                           \
				sort_to = i;                                                       \
			else                                                                       \
				sort_from = i + 1;                                                 \
		}                                                                                  \
		sort_from;                                                                         \
	})

#endif
