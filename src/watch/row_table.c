/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/row_table.h"

#include "base/bug.h"
#include "event/names.h"
#include "watch/groups.h"

static bool row_table_is_headed(enum column_when when, const struct watch *w,
				const struct watch_common *c)
{
	switch (when) {
	case SEVERAL_DIRECTIONS:
		return row_table_several(c->directions);
	case SEVERAL_PROTOCOLS:
		return row_table_several(c->protocols);
	case SEVERAL_ORIGINS:
		return row_table_several(c->origins);
	case WHOLE_GROUPS:
		return c->grouped && !watch_group_keys(w);
	default:
		return true;
	}
}

static void row_table_add_column(struct row_table *t, const struct row_column *column, bool headed)
{
	BUG_ON(t->n == ROW_COLUMNS_MAX);
	t->columns[t->n] = *column;
	if (!headed)
		t->columns[t->n].column.head = NULL;
	t->n++;
}

static void row_table_add_keys(struct row_table *t, const struct watch *w, struct row_column column)
{
	for (column.key = 0; column.key < GROUP_KEY_MAX; column.key++) {
		column.column.head = group_key_name(column.key);
		if (watch_group_keys(w) >> column.key & 1)
			row_table_add_column(t, &column, true);
	}
}

void row_table_begin(struct row_table *t, const struct watch *w, const struct watch_common *c,
		     struct report *r, const struct row_column *columns, size_t n)
{
	struct column plain[ROW_COLUMNS_MAX];

	t->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (columns[i].each_key)
			row_table_add_keys(t, w, columns[i]);
		else
			row_table_add_column(t, &columns[i],
					     row_table_is_headed(columns[i].headed, w, c));
	}
	for (size_t i = 0; i < t->n; i++)
		plain[i] = t->columns[i].column;
	t->table = table_new(r, plain, t->n);
}

void row_table_add(const struct row_table *t, struct row_line line)
{
	struct value cells[ROW_COLUMNS_MAX];

	for (size_t i = 0; i < t->n; i++) {
		line.column = &t->columns[i];
		cells[i] = line.column->cell(&line);
	}
	table_add(t->table, cells, t->n);
}

struct value row_table_distribution(const struct row_line *l, unsigned int dist)
{
	return value_distribution_sampled(l->r, &l->row->hists[l->span][dist],
					  l->w->periods[l->span].one_in_max);
}

struct value row_table_dist(const struct row_line *l)
{
	const struct row_column *c = l->column;

	if ((c->stage && l->row->id.stage != c->stage) ||
	    (c->protocol && l->row->id.protocol != c->protocol))
		return value_absent();
	return l->row->measured[c->dist] ?
	       row_table_distribution(l, c->dist) : value_null();
}

struct value row_table_group(const struct row_line *l)
{
	return watch_group_value(l->w, l->row, l->r);
}

struct value row_table_label(const struct row_line *l)
{
	return watch_group_label(l->w, l->row, l->column->key);
}
