/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/units.h"

#include <errno.h>
#include <stdlib.h>

#define REST_RESOURCES 4u    /* so many have enough others among themselves */

bool units_are_connections(enum fleet_kind kind)
{
	return kind == FLEET_HOST || kind == FLEET_CONTAINER;
}

uint32_t units_child(const struct units *units, uint32_t conn)
{
	return units_are_connections(units->kind) ? conn : units->f->all.items[conn].host;
}

/* Sets order[i] to all connections in order of child, connection. Counts by host. */
static int units_order(const struct units *units, uint32_t *order)
{
	const struct fleet *f = units->f;
	uint32_t *first;

	if (units_are_connections(units->kind)) {
		for (uint32_t conn = 0; conn < f->all.len; conn++)
			order[conn] = conn;
		return 0;
	}
	first = calloc(f->resources.len + 1, sizeof(*first));
	if (!first)
		return -ENOMEM;
	vec_for_each(&f->all, s)
		first[s->host + 1]++;
	for (size_t r = 1; r <= f->resources.len; r++)
		first[r] += first[r - 1];
	for (uint32_t conn = 0; conn < f->all.len; conn++)
		order[first[f->all.items[conn].host]++] = conn;
	free(first);
	return 0;
}

static const uint32_t *units_shares(const struct units *units, uint32_t conn)
{
	return units->f->shares.items + units->f->all.items[conn].shares;
}

/* Calls for each resource of the kind that a connection shares. */
#define for_each_unit(units, conn, share)                                                          \
	for (const uint32_t *share = units_shares(units, conn),                                    \
	     *end_ = share + (units)->f->all.items[conn].n; share < end_; share++)                 \
		if ((units)->f->resources.items[*share].kind == (units)->kind)

/* In a fleet with one uplink, only connections that do not cross it are others. */
static bool units_have_rest(const struct units *units)
{
	return (units->kind == FLEET_LINK || units->kind == FLEET_RACK ||
		units->kind == FLEET_SWITCH) &&
	       units->resources.len && units->resources.len < REST_RESOURCES;
}

/* Puts a connection to the entries of its resources. */
static void units_put(struct units *units, uint32_t conn, size_t *next)
{
	bool any = false;

	for_each_unit(units, conn, share) {
		units->items[next[*share]++].conn = conn;
		any = true;
	}
	if (!any && units_have_rest(units))
		units->items[units->rest.first + units->rest.n++].conn = conn;
}

/* Counts the entries of each resource, and gives those that have any their places. */
static int units_count(struct units *units, size_t *next)
{
	const struct fleet *f = units->f;
	int err = 0;

	for (uint32_t conn = 0; conn < f->all.len; conn++)
		for_each_unit(units, conn, share)
			next[*share]++;
	for (uint32_t r = 0; r < f->resources.len && !err; r++) {
		const struct unit_resource resource = { r, units->len, next[r] };

		if (resource.n)
			err = vec_push(&units->resources, resource);
		next[r] = units->len;
		units->len += resource.n;
	}
	units->rest = (struct unit_resource){ FLEET_NONE, units->len, 0 };
	units->items = malloc((units->len + (units_have_rest(units) ? f->all.len : 0) + 1) *
			      sizeof(*units->items));
	return err || !units->items ? -ENOMEM : 0;
}

int units_list(const struct fleet *f, enum fleet_kind kind, struct units *out)
{
	uint32_t *order = malloc((f->all.len + 1) * sizeof(*order));
	size_t *next = calloc(f->resources.len + 1, sizeof(*next));
	int err = -ENOMEM;

	*out = (struct units){ .f = f, .kind = kind };
	vec_init(&out->resources, FLEET_RESOURCES_MAX);
	if (order && next)
		err = units_order(out, order) ?: units_count(out, next);
	for (uint32_t i = 0; i < f->all.len && !err; i++)
		units_put(out, order[i], next);
	free(order);
	free(next);
	return err;
}

void units_release(struct units *units)
{
	vec_release(&units->resources);
	free(units->items);
	*units = (struct units){ 0 };
}

size_t units_child_end(const struct units *units, size_t from, size_t end)
{
	const uint32_t child = units_child(units, units->items[from].conn);
	size_t to = from;

	while (to < end && units_child(units, units->items[to].conn) == child)
		to++;
	return to;
}
