/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the host's set-up (kernel, CPUs ...) in two recordings, and their differences. */
#ifndef HOSTLAT_CMD_COMPARE_FACTS_H
#define HOSTLAT_CMD_COMPARE_FACTS_H

#include "base/vec.h"
#include "report/report.h"

/* Largest number of facts of a recording. Real recordings have fewer; further facts are dropped. */
#define COMPARE_FACTS_MAX 16384u

struct compare_fact {
	char *key, *value;
};

struct compare_facts VEC_OF(struct compare_fact);

void compare_facts_init(struct compare_facts *facts);
void compare_facts_release(struct compare_facts *facts);

/*
 * Adds a set-up fact. Ignores facts about the run itself (its time, its pid), which always differ.
 * Returns 0 or -ENOMEM.
 */
int compare_facts_add(struct compare_facts *facts, const char *key, const char *value);

/* Moves all facts of `from` to `to`. Returns 0 or -ENOMEM. */
int compare_facts_move(struct compare_facts *from, struct compare_facts *to);

/*
 * Adds "facts": rows of {name, a, b}, null where a recording lacks the fact. Sorts both lists. A
 * fact that a side has several times shows all its values, each once.
 */
void compare_facts_report(struct compare_facts *a, struct compare_facts *b, struct report *r);

#endif
