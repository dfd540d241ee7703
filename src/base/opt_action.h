/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands with actions, such as `hostlat fleet report`: the row of the action says which options
 * each one takes (opt.takes). Help, the man page and the refusal of others follow from it.
 */
#ifndef HOSTLAT_BASE_OPT_ACTION_H
#define HOSTLAT_BASE_OPT_ACTION_H

#include "base/opt_row.h"

/* Returns the slot of the action; NULL: the command has none. */
const struct opt_slot *opt_action_find(const struct opt_table *table);

/* Returns the actions that take an option or argument: a mask of 1 << index in its choices. */
uint32_t opt_action_mask(const struct opt *action, const struct opt *row);

/* Adds the names of the actions in a mask: "report, init and export". */
void opt_action_put_names(const struct opt *action, uint32_t mask, struct strbuf *out);

/* Returns the mask of all actions. */
uint32_t opt_action_all(const struct opt *action);

/*
 * Returns the first given option that the given action does not take; NULL: it takes all. `config`
 * has the action. Arguments are not checked.
 */
const struct opt *opt_action_useless(const struct opt_table *table, const void *config);

/* Returns the name of the given action. */
const char *opt_action_given(const struct opt_slot *action, const void *config);

#endif
