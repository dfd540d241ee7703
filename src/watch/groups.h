/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of groups (--by): their order, and the names of groups. */
#ifndef HOSTLAT_WATCH_GROUPS_H
#define HOSTLAT_WATCH_GROUPS_H

#include "watch/state.h"

/*
 * Puts the rows into `w->order`: by direction and protocol, then by group, as their labels sort,
 * the overflow last, then by stage and origin. Returns 0 or -ENOMEM.
 */
int watch_order_rows(struct watch *w);

/* Returns a mask of 1 << enum group_key: the keys that occur in the groups' labels. */
uint32_t watch_group_keys(const struct watch *w);

/* Returns a group as {"cgroup": "/a", "port": 80}; the overflow: {"overflow": true}; none: {}. */
struct value watch_group_value(const struct watch *w, const struct watch_row *row,
			       struct report *r);

/*
 * Returns the label of a row's group for one key: null if unknown, absent if the group has no such
 * label. The overflow group has a name of its own.
 */
struct value watch_group_label(const struct watch *w, const struct watch_row *row, uint32_t key);

#endif
