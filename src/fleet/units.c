/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/units.h"

#include "base/sort.h"

bool units_are_connections(enum fleet_kind kind)
{
	return kind == FLEET_HOST || kind == FLEET_CONTAINER;
}

static int unit_order(const void *a, const void *b)
{
	const struct unit_entry *x = a, *y = b;

	return sort_order(x->resource, y->resource) ?: sort_order(x->child, y->child) ?:
		sort_order(x->conn, y->conn);
}

static int units_add(const struct fleet *f, enum fleet_kind kind, uint32_t conn, struct units *out)
{
	const struct fleet_series *s = &f->all.items[conn];
	int err = 0;

	for (uint32_t i = 0; i < s->n && !err; i++) {
		const uint32_t resource = f->shares.items[s->shares + i];

		if (f->resources.items[resource].kind == kind)
			err = vec_push(out, (struct unit_entry){
				.resource = resource, .conn = conn,
				.child = units_are_connections(kind) ? conn : s->host });
	}
	return err;
}

int units_list(const struct fleet *f, enum fleet_kind kind, struct units *out)
{
	int err = 0;

	vec_init(out, (size_t)FLEET_CONNECTIONS_MAX * FLEET_SHARES_MAX);
	for (uint32_t conn = 0; conn < f->all.len && !err; conn++)
		err = units_add(f, kind, conn, out);
	if (!err && out->len)
		qsort(out->items, out->len, sizeof(*out->items), unit_order);
	return err;
}

size_t units_resource_end(const struct units *units, size_t from)
{
	size_t to = from;

	while (to < units->len && units->items[to].resource == units->items[from].resource)
		to++;
	return to;
}

size_t units_child_end(const struct units *units, size_t from)
{
	const struct unit_entry *first = &units->items[from];
	size_t to = from;

	while (to < units->len && units->items[to].resource == first->resource &&
	       units->items[to].child == first->child)
		to++;
	return to;
}
