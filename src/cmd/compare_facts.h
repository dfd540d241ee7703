/* SPDX-License-Identifier: Apache-2.0 */
/* The set-up facts of two recordings, and those in which they differ. */
#ifndef HOSTLAT_CMD_COMPARE_FACTS_H
#define HOSTLAT_CMD_COMPARE_FACTS_H

#include "base/vec.h"
#include "report/report.h"

/* More than any recording of ours has: further ones are left out. */
#define COMPARE_FACTS_MAX 16384u

struct compare_fact {
	char *key, *value;
};

struct compare_facts VEC_OF(struct compare_fact);

void compare_facts_init(struct compare_facts *facts);
void compare_facts_release(struct compare_facts *facts);

/*
 * Adds a fact, unless it is of the run itself (its time, its pid), which always differs. 0 or
 * -ENOMEM.
 */
int compare_facts_add(struct compare_facts *facts, const char *key, const char *value);

/*
 * Adds "facts": {name, a, b}, null where one has none. Sorts both. A fact that was put several
 * times has all of its values.
 */
void compare_facts_report(struct compare_facts *a, struct compare_facts *b, struct report *r);

#endif
