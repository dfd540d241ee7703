/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* qsort_r() */
#include "watch/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "event/names.h"

/* Dictionary with the names of a label's values, by enum group_key. */
static const uint32_t label_dicts[GROUP_KEY_MAX] = {
	[GROUP_CGROUP] = DICT_CGROUP, [GROUP_NETNS] = DICT_NETNS, [GROUP_IFINDEX] = DICT_IFACE,
};

static const char *groups_label_name(const struct watch *w, const struct event_label *label)
{
	uint32_t dict = label->key < GROUP_KEY_MAX ? label_dicts[label->key] : DICT_STRING;

	return label->name ? watch_name(w, dict, label->name) : NULL;
}

static struct value groups_label_value(const struct watch *w, const struct event_label *label)
{
	const char *name = groups_label_name(w, label);

	if (name)
		return value_string(name);
	if (label->value == GROUP_UNKNOWN)
		return value_null();
	if (label->value > INT64_MAX)
		return value_u64(label->value);
	return value_s64((int64_t)label->value); /* signed: shown without digit groups, as a name */
}

/* ---- order ---- */

/* Orders unknown labels first, then numbers, then names. */
static int groups_compare_labels(const struct watch *w, const struct event_label *a,
				 const struct event_label *b)
{
	const char *x = groups_label_name(w, a), *y = groups_label_name(w, b);

	if (a->key != b->key)
		return sort_order(a->key, b->key);
	if (x && y && strcmp(x, y) != 0)
		return strcmp(x, y);
	if (!x != !y)
		return x ? 1 : -1;
	return sort_order(a->value + 1, b->value + 1);
}

static int groups_compare(const struct watch *w, uint32_t a, uint32_t b)
{
	const struct watch_group *x = watch_group_find(w, a), *y = watch_group_find(w, b);
	int order = 0;

	if (a == b)
		return 0;
	if (!x || !y)
		return x ? 1 : y ? -1 : sort_order(a, b);
	for (uint32_t i = 0; !order && i < x->n && i < y->n; i++)
		order = groups_compare_labels(w, &x->labels[i], &y->labels[i]);
	if (!order)
		order = sort_order(x->n, y->n);
	return order ? order : sort_order(a, b);
}

/* Direction, protocol and overflow bit, which precede the group in watch_row_key(). */
#define BEFORE_GROUP(key) ((key) >> 52)

static int groups_compare_rows(const void *a, const void *b, void *watch)
{
	const struct watch_row *x = *(struct watch_row *const *)a;
	const struct watch_row *y = *(struct watch_row *const *)b;
	int order = sort_order(BEFORE_GROUP(x->key), BEFORE_GROUP(y->key));

	if (!order)
		order = groups_compare(watch, x->id.group, y->id.group);
	return order ? order : sort_order(x->key, y->key);
}

int watch_order_rows(struct watch *w)
{
	int err = 0;

	vec_clear(&w->order);
	vec_for_each(&w->rows, row) {
		if (!err)
			err = vec_push(&w->order, *row);
	}
	if (!err && w->groups.len && w->order.len)
		qsort_r(w->order.items, w->order.len, sizeof(w->order.items[0]),
			groups_compare_rows, w);
	return err;
}

/* ---- names ---- */

uint32_t watch_group_keys(const struct watch *w)
{
	uint32_t keys = 0;

	vec_for_each(&w->groups, group) {
		for (uint32_t i = 0; i < group->n; i++)
			if (group->labels[i].key < GROUP_KEY_MAX)
				keys |= 1U << group->labels[i].key;
	}
	return keys;
}

struct value watch_group_value(const struct watch *w, const struct watch_row *row,
			       struct report *r)
{
	const struct watch_group *group = watch_group_find(w, row->id.group);
	struct object *o = object_new(r);

	if (row->id.flags & HIST_OVERFLOW_GROUP)
		object_add(o, "overflow", value_bool(true));
	for (uint32_t i = 0; group && i < group->n; i++)
		object_add(o, group_key_name(group->labels[i].key),
			   groups_label_value(w, &group->labels[i]));
	if (row->id.group && !group)
		object_add(o, "unknown", value_u64(row->id.group));
	return value_object(o);
}

struct value watch_group_label(const struct watch *w, const struct watch_row *row, uint32_t key)
{
	const struct watch_group *group = watch_group_find(w, row->id.group);

	if (row->id.flags & HIST_OVERFLOW_GROUP)
		return value_string("overflow");
	for (uint32_t i = 0; group && i < group->n; i++)
		if (group->labels[i].key == key)
			return groups_label_value(w, &group->labels[i]);
	return value_absent();
}
