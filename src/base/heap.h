/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary heap of pointers: the first item precedes all others. Each call passes a constant
 * comparison, so that a compiler can inline it.
 */
#ifndef HOSTLAT_BASE_HEAP_H
#define HOSTLAT_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

typedef bool heap_before(const void *a, const void *b);

/*
 * Moves the item at `at` down until its children do not precede it. The two subtrees below `at`
 * must be heaps already.
 */
static inline void heap_sift(void **items, size_t n, size_t at, heap_before *before)
{
	void *item = items[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= n)
			break;
		if (child + 1 < n && before(items[child + 1], items[child]))
			child++;
		if (!before(items[child], item))
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = item;
}

static inline void heap_order(void **items, size_t n, heap_before *before)
{
	for (size_t i = n / 2; i--;)
		heap_sift(items, n, i, before);
}

#endif
