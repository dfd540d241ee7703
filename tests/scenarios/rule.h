/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: what the box does to which packets; box.c explains how they are written. */
#ifndef SCENARIOS_RULE_H
#define SCENARIOS_RULE_H

#include "flow.h"

enum action { ACT_DROP, ACT_HOLD, ACT_MARK };

extern const char *const action_names[];

struct rule {
	unsigned int from;          /* number of a link */
	unsigned int conn, port;
	int kind;
	uint64_t first, last, seen;
	enum action action;
	uint64_t hold;              /* ns */
};

/*
 * Adds the rule in the 8 words of a line, the first of which names link `from`; false if invalid.
 */
bool rule_add(char *const word[8], unsigned int from);

/* Counts a packet; the first rule that applies to it, or NULL. */
const struct rule *rule_for(const struct segment *segment, unsigned int conn, unsigned int from,
			    enum kind kind);

#endif
