/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the known word that a mistyped one was meant to be. */
#ifndef HOSTLAT_BASE_NEAREST_H
#define HOSTLAT_BASE_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *word; /* the mistyped word; not owned */
	const char *best; /* NULL: nothing is near enough to be worth suggesting */
	size_t distance;
};

void nearest_init(struct nearest *nearest, const char *word);

/* Offers one known word; `best` keeps pointing to it, so it has to outlive `nearest`. */
void nearest_offer(struct nearest *nearest, const char *known);

#endif
