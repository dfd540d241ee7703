/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays of any type, with a mandatory maximum.
 *
 *	struct span_vec VEC_OF(struct span);
 *
 *	struct span_vec spans;
 *	vec_init(&spans, SPANS_MAX);
 *	err = vec_push(&spans, (struct span){ .from = 1 });
 *	vec_for_each(&spans, span)
 *		use(span);
 *	vec_release(&spans);
 *
 * Invariant: `len <= cap <= max`. Growing moves the items: pointers into the vector are valid only
 * until the next vec_push() or vec_reserve(). vec_push() and vec_reserve() return 0, -ENOMEM, or
 * -E2BIG at the maximum, and change nothing when they fail.
 */
#ifndef HOSTLAT_BASE_VEC_H
#define HOSTLAT_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#include "base/bug.h"

#define VEC_OF(type)                                                                               \
	{                                                                                          \
		type *items;                                                                       \
		size_t len, cap, max;                                                              \
	}

/* Initializes without allocating. */
#define vec_init(v, max_len)                                                                       \
	do {                                                                                       \
		(v)->items = NULL;                                                                 \
		(v)->len = (v)->cap = 0;                                                           \
		(v)->max = (max_len);                                                              \
	} while (0)

/* Frees the items, not the memory that they own; leaves an empty vector of the same maximum. */
#define vec_release(v)                                                                             \
	do {                                                                                       \
		free((v)->items);                                                                  \
		(v)->items = NULL;                                                                 \
		(v)->len = (v)->cap = 0;                                                           \
	} while (0)

/* Allocates memory for `n` items in all. */
#define vec_reserve(v, n)                                                                          \
	vec_grow((void **)&(v)->items, &(v)->cap, (v)->max, (n), sizeof(*(v)->items))

/* Appends a copy of `...` (an expression; compound literals may hold commas). */
#define vec_push(v, ...)                                                                           \
	({                                                                                         \
		int vec_err_ = vec_reserve(v, (v)->len + 1);                                       \
		if (!vec_err_)                                                                     \
			(v)->items[(v)->len++] = (__VA_ARGS__);                                    \
		vec_err_;                                                                          \
	})

/* Return the last item, which must exist; vec_pop() also removes it. */
#define vec_last(v) (&(v)->items[vec_index_checked((v)->len, 1)])
#define vec_pop(v) ((v)->items[(v)->len = vec_index_checked((v)->len, 1)])
#define vec_clear(v) ((void)((v)->len = 0))

/* Empties the vector; frees its memory if that is for over `few` items and mostly unused. */
#define vec_clear_most(v, few)                                                                     \
	do {                                                                                       \
		if ((v)->cap > (few) && (v)->len < (v)->cap / 4)                                   \
			vec_release(v);                                                            \
		else                                                                               \
			vec_clear(v);                                                              \
	} while (0)

/* Loops over the items. The test of `len` avoids arithmetic on an empty vector's NULL pointer. */
#define vec_for_each(v, item)                                                                      \
	for (__typeof__((v)->items + 0) item = (v)->items;                                         \
	     (v)->len && item < (v)->items + (v)->len; item++)

/* Used only by the macros above. */
int vec_grow(void **items, size_t *cap, size_t max, size_t need, size_t item_size);

static inline size_t vec_index_checked(size_t len, size_t back)
{
	BUG_ON(len < back);
	return len - back;
}

#endif
