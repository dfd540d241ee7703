/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emulated processors and sanitizers take long, and look for other faults than chance shows:
 * HOSTLAT_BRIEF in a test's environment says which of them it is. HOSTLAT_LONG has everything.
 */
#ifndef TESTS_UNIT_BRIEF_H
#define TESTS_UNIT_BRIEF_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool brief(void)
{
	return getenv("HOSTLAT_BRIEF") && !getenv("HOSTLAT_LONG");
}

/* For what sanitizers are to see in full. */
static inline bool brief_emulated(void)
{
	return brief() && !strcmp(getenv("HOSTLAT_BRIEF"), "emulated");
}

#endif
