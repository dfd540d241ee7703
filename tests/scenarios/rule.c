/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rule.h"

#define RULES_MAX 1024
#define ANY_KIND  -1
#define DATA_KIND -2

const char *const action_names[] = { "drop", "hold", "mark" };

static struct rule rules[RULES_MAX];
static unsigned int n_rules;

static bool counts(const struct rule *rule, const struct segment *segment, unsigned int conn,
		   unsigned int from, enum kind kind)
{
	bool right = rule->kind == ANY_KIND ||
		     (rule->kind == DATA_KIND && (kind == KIND_NEW || kind == KIND_AGAIN)) ||
		     rule->kind == (int)kind;

	return right && rule->from == from && (!rule->conn || rule->conn == conn) &&
	       (!rule->port || rule->port == segment->sport || rule->port == segment->dport);
}

const struct rule *rule_for(const struct segment *segment, unsigned int conn, unsigned int from,
			    enum kind kind)
{
	struct rule *found = NULL;

	for (unsigned int i = 0; i < n_rules; i++) {
		struct rule *rule = &rules[i];

		if (!counts(rule, segment, conn, from, kind))
			continue;
		rule->seen++;
		if (!found && rule->seen >= rule->first && rule->seen <= rule->last)
			found = rule;
	}
	return found;
}

static bool parse_kind(const char *word, int *kind)
{
	*kind = !strcmp(word, "any") ? ANY_KIND : DATA_KIND;
	if (*kind == ANY_KIND || !strcmp(word, "data"))
		return true;
	for (*kind = 0; *kind < KINDS; (*kind)++)
		if (!strcmp(kind_names[*kind], word))
			return true;
	return false;
}

static bool parse_number(const char *word, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(word, &end, 10);
	return !errno && end != word && !*end;
}

bool rule_add(char *const word[8], unsigned int from)
{
	struct rule rule = { .from = from };
	uint64_t conn, port;
	int action = 0;

	while (action < 3 && strcmp(word[6], action_names[action]))
		action++;
	if (n_rules == RULES_MAX || action == 3 || !parse_kind(word[3], &rule.kind) ||
	    !parse_number(word[1], &conn) || !parse_number(word[2], &port) ||
	    !parse_number(word[4], &rule.first) || !parse_number(word[5], &rule.last) ||
	    !parse_number(word[7], &rule.hold))
		return false;
	rule.conn = conn;
	rule.port = port;
	rule.action = action;
	rules[n_rules++] = rule;
	return true;
}
