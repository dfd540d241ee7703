/* SPDX-License-Identifier: Apache-2.0 */
/* The only function that the vector macros need. */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>

#define FIRST_ITEMS 8

int vec_grow(void **items, size_t *cap, size_t max, size_t need, size_t item_size)
{
	size_t want = *cap ? *cap : FIRST_ITEMS;
	size_t bytes;
	void *grown;

	if (need > max)
		return -E2BIG;
	if (need <= *cap)
		return 0;
	while (want < need)
		want = want > SIZE_MAX / 2 ? need : want * 2;
	if (want > max)
		want = max;
	if (__builtin_mul_overflow(want, item_size, &bytes))
		return -ENOMEM;
	grown = realloc(*items, bytes);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*cap = want;
	return 0;
}
