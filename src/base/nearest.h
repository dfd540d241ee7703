/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the known word nearest to a mistyped word. */
#ifndef HOSTLAT_BASE_NEAREST_H
#define HOSTLAT_BASE_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *word; /* the mistyped word; owned by the caller */
	const char *best; /* nearest known word; NULL: none is near enough to suggest */
	size_t distance;
};

void nearest_init(struct nearest *nearest, const char *word);

/* Offers one known word, which must outlive `nearest`: `best` may point to it. */
void nearest_offer(struct nearest *nearest, const char *known);

#endif
