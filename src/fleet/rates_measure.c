/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the resources and their children, beside those of comparable connections. */
#include "fleet/rates.h"

static void rates_add_conn(const struct rates *r, struct rates_suspect *suspect, uint32_t conn,
			   struct rates_unit *unit, bool *compared)
{
	const struct fleet_series *s = &r->f->all.items[conn];
	const double known_ns = (double)s->known_ns[r->class];
	const double limited_ns = (double)s->limited_ns[r->class];
	struct strata_rates rates;

	suspect->all_known_ns += known_ns;
	suspect->all_limited_ns += limited_ns;
	if (!strata_rates(&r->strata, suspect->kind, conn, &rates))
		return;
	*compared = true;
	unit->limited_ns += limited_ns;
	unit->expected_ns += known_ns * rates.limited;
	unit->aligned_ns += known_ns * rates.aligned;
	suspect->known_ns += known_ns;
	suspect->lost_ns += (double)s->lost_ns[r->class];
	suspect->lost_expected_ns += known_ns * rates.lost;
}

/* Adds a child, the entries `from` to `to`; a child without comparable connections is none. */
static int rates_add_unit(struct rates *r, struct rates_suspect *suspect, size_t from, size_t to)
{
	const struct unit_entry *entries = r->kinds[suspect->kind].items;
	const uint32_t conn = entries[from].conn;
	struct rates_unit unit = {
		.conn = conn,
		.is_own = suspect->kind != FLEET_HOST ||
			  r->f->all.items[conn].host == suspect->resource,
	};
	bool compared = false;

	for (size_t i = from; i < to; i++)
		if (r->left[entries[i].conn])
			rates_add_conn(r, suspect, entries[i].conn, &unit, &compared);
	if (!compared)
		return 0;
	suspect->limited_ns += unit.limited_ns;
	suspect->expected_ns += unit.expected_ns;
	suspect->units++;
	return vec_push(&r->units, unit);
}

/* Adds the connections that are left to the resource's own in all strata, or removes them. */
static bool rates_own(struct rates *r, const struct rates_suspect *suspect, bool own)
{
	const struct unit_entry *entries = r->kinds[suspect->kind].items + suspect->entry;
	bool any = false;

	for (size_t i = 0; i < suspect->entries; i++) {
		if (!r->left[entries[i].conn])
			continue;
		any = true;
		if (own)
			strata_own(&r->strata, r->class, entries[i].conn);
		else
			strata_disown(&r->strata, entries[i].conn);
	}
	return any;
}

/* Adds the children of a resource; sets *any: it has connections that are left. */
static int rates_add_units(struct rates *r, struct rates_suspect *suspect, bool *any)
{
	const struct units *units = &r->kinds[suspect->kind];
	const size_t end = suspect->entry + suspect->entries;
	int err = 0;

	*any = rates_own(r, suspect, true);
	if (!*any)
		return 0;
	for (size_t from = suspect->entry, to; from < end && !err; from = to) {
		to = units_child_end(units, from, end);
		err = rates_add_unit(r, suspect, from, to);
	}
	rates_own(r, suspect, false);
	return err;
}

static int rates_measure_resource(struct rates *r, const struct unit_resource *of,
				  enum fleet_kind kind)
{
	struct rates_suspect suspect = {
		.resource = of->resource, .kind = kind, .entry = of->first, .entries = of->n,
		.unit = r->units.len,
	};
	bool any;
	int err = rates_add_units(r, &suspect, &any);

	/* The rest is for comparison: no resource is behind it. */
	return err || !any || of->resource == FLEET_NONE ? err : vec_push(&r->suspects, suspect);
}

/* Gives a place to each child that has none, or with `own`, to those of the recorded hosts. */
static void rates_place_hosts(struct rates *r, bool own)
{
	vec_for_each(&r->units, unit) {
		uint32_t *place = &r->places[unit->conn];

		if (own && !unit->is_own)
			continue;
		if (*place == FLEET_NONE)
			*place = r->ranked++;
		unit->place = *place;
	}
}

/* Gives the children of one kind their places. */
static void rates_place_units(struct rates *r, enum fleet_kind kind)
{
	r->ranked = 0;
	if (kind != FLEET_HOST) {
		vec_for_each(&r->units, unit)
			unit->place = r->ranked++;
		return;
	}
	vec_for_each(&r->units, unit)
		r->places[unit->conn] = FLEET_NONE;
	rates_place_hosts(r, true);
	rates_place_hosts(r, false);
}

int rates_measure(struct rates *r, enum fleet_kind kind)
{
	const struct units *units = &r->kinds[kind];
	int err = 0;

	vec_clear(&r->units);
	vec_for_each(&units->resources, of)
		if (!err)
			err = rates_measure_resource(r, of, kind);
	err = err ? err : rates_measure_resource(r, &units->rest, kind);
	rates_place_units(r, kind);
	return err;
}
