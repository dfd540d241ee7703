/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Broken invariants end the program at once, so that no impossible state becomes a number. Anything
 * that input, the kernel or the machine can cause is an error code instead.
 */
#ifndef HOSTLAT_BASE_BUG_H
#define HOSTLAT_BASE_BUG_H

#include <stdio.h>
#include <stdlib.h>

#define BUG_ON(condition)                                                                          \
	do {                                                                                       \
		if (__builtin_expect(!!(condition), 0)) {                                          \
			fprintf(stderr, "hostlat: broken invariant at %s:%d: %s\n", __FILE__,      \
				__LINE__, #condition);                                             \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The value of a macro as a string literal. */
#define LITERAL(macro) LITERAL_(macro)
#define LITERAL_(text) #text

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#endif
