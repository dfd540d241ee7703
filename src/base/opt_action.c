/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt_action.h"

#include <string.h>

#include "base/bug.h"

const struct opt_slot *opt_action_find(const struct opt_table *table)
{
	for (uint32_t i = 0; i < table->len; i++)
		if (table->slots[i].row->takes)
			return &table->slots[i];
	return NULL;
}

/* Returns whether a list "a,b" has the name. */
static bool opt_action_lists(const char *list, const char *name)
{
	while (*list) {
		const size_t len = strcspn(list, ",");

		if (strlen(name) == len && !strncmp(list, name, len))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

uint32_t opt_action_all(const struct opt *action)
{
	uint32_t mask = 0;

	for (unsigned int i = 0; action->choices[i].name; i++)
		mask |= 1u << i;
	return mask;
}

uint32_t opt_action_mask(const struct opt *action, const struct opt *row)
{
	uint32_t mask = 0;

	if (row == action)
		return opt_action_all(action);
	for (unsigned int i = 0; action->choices[i].name; i++)
		if (opt_action_lists(action->takes[i], row->name))
			mask |= 1u << i;
	BUG_ON(!mask); /* an option without an effect */
	return mask;
}

void opt_action_put_names(const struct opt *action, uint32_t mask, struct strbuf *out)
{
	const char *between = "";

	for (unsigned int i = 0; mask; i++) {
		if (!(mask & 1u << i))
			continue;
		mask &= ~(1u << i);
		strbuf_printf(out, "%s%s", between, action->choices[i].name);
		between = mask & (mask - 1) ? ", " : " and ";
	}
}

static unsigned int opt_action_index(const struct opt_slot *action, const void *config)
{
	const uint32_t value = *(const uint32_t *)((const char *)config + action->offset);
	unsigned int i = 0;

	while (action->row->choices[i].name && action->row->choices[i].value != value)
		i++;
	BUG_ON(!action->row->choices[i].name);
	return i;
}

const char *opt_action_given(const struct opt_slot *action, const void *config)
{
	return action->row->choices[opt_action_index(action, config)].name;
}

const struct opt *opt_action_useless(const struct opt_table *table, const void *config)
{
	const struct opt_slot *action = opt_action_find(table);

	if (!action)
		return NULL;
	for (uint32_t i = 0; i < table->len; i++) {
		const struct opt_slot *slot = &table->slots[i];

		if (slot->given && !slot->row->positional &&
		    !(opt_action_mask(action->row, slot->row) &
		      1u << opt_action_index(action, config)))
			return slot->row;
	}
	return NULL;
}
