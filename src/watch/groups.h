/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of groups (--by): in which order they stand, and what a group is called. */
#ifndef HOSTLAT_WATCH_GROUPS_H
#define HOSTLAT_WATCH_GROUPS_H

#include "watch/state.h"

/*
 * Puts the rows into `w->order`: by direction and protocol, then by group, as their labels sort,
 * the overflow last, then by stage and origin. Returns 0 or -ENOMEM.
 */
int watch_order_rows(struct watch *w);

/* Mask of 1 << enum group_key: what the known groups are told apart by. */
uint32_t watch_group_keys(const struct watch *w);

/* {"cgroup": "/a", "port": 80}; of the overflow {"overflow": true}; empty without groups. */
struct value watch_group_value(const struct watch *w, const struct watch_row *row,
			       struct report *r);

/*
 * Returns the label of a row's group for one key: null if unknown, absent if the group has no such
 * label. The overflow group has a name of its own.
 */
struct value watch_group_label(const struct watch *w, const struct watch_row *row, uint32_t key);

#endif
