/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/runs.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CHANGES FLEET_CLASSES

static uint32_t runs_change(enum fleet_class class, uint32_t from, uint8_t cell)
{
	return from << 16 | (uint32_t)class << 8 | cell;
}

static uint32_t runs_change_from(uint32_t change)
{
	return change >> 16;
}

static uint32_t runs_change_class(uint32_t change)
{
	return change >> 8 & 0xff;
}

void fleet_runs_release(struct fleet_runs *r)
{
	free(r->changes);
	*r = (struct fleet_runs){ 0 };
}

/* Makes room for two changes. */
static int runs_reserve(struct fleet_runs *r, size_t *bytes)
{
	const uint32_t cap = r->cap ? r->cap + r->cap / 2 : FIRST_CHANGES;
	uint32_t *changes;

	if (r->n + 2 <= r->cap)
		return 0;
	if (*bytes + (cap - r->cap) * sizeof(*changes) > FLEET_CELLS_MAX)
		return -E2BIG;
	changes = realloc(r->changes, cap * sizeof(*changes));
	if (!changes)
		return -ENOMEM;
	*bytes += (cap - r->cap) * sizeof(*changes);
	r->changes = changes;
	r->cap = cap;
	return 0;
}

int fleet_runs_append(struct fleet_runs *r, enum fleet_class class, const struct fleet_run *run,
		      size_t *bytes)
{
	const bool gap = r->end[class] && r->end[class] < run->from;
	int err = 0;

	if (!r->end[class] || gap || r->last[class] != run->cell) {
		err = runs_reserve(r, bytes);
		if (err)
			return err;
		if (gap)
			r->changes[r->n++] = runs_change(class, r->end[class], FLEET_UNKNOWN);
		r->changes[r->n++] = runs_change(class, run->from, run->cell);
	}
	r->last[class] = run->cell;
	r->end[class] = (uint16_t)run->to;
	return 0;
}

int fleet_runs_raise(struct fleet_runs *r, enum fleet_class class, uint8_t cell, size_t *bytes)
{
	const uint32_t k = r->end[class] - 1u;
	uint32_t i = r->n;
	int err;

	if (cell <= r->last[class])
		return 0;
	err = runs_reserve(r, bytes);
	if (err)
		return err;
	r->last[class] = cell;
	while (runs_change_class(r->changes[i - 1]) != class)
		i--;
	if (runs_change_from(r->changes[i - 1]) == k)
		r->changes[i - 1] = runs_change(class, k, cell);
	else
		r->changes[r->n++] = runs_change(class, k, cell);
	return 0;
}

struct fleet_runs_cursor fleet_runs_begin(const struct fleet_runs *r, enum fleet_class class)
{
	struct fleet_runs_cursor c = { .class = class, .end = r->end[class], .cell = FLEET_UNKNOWN,
				       .more.cell = FLEET_UNKNOWN };

	if (c.end) {
		c.at = r->changes;
		c.stop = r->changes + r->n;
	}
	return c;
}

bool fleet_runs_next(struct fleet_runs_cursor *cursor, struct fleet_run *out)
{
	do {
		*out = (struct fleet_run){ cursor->from, cursor->end, cursor->cell };
		while (cursor->at != cursor->stop &&
		       runs_change_class(*cursor->at) != cursor->class)
			cursor->at++;
		cursor->cell = FLEET_UNKNOWN;
		if (cursor->at != cursor->stop) {
			out->to = runs_change_from(*cursor->at);
			cursor->from = out->to;
			cursor->cell = (uint8_t)*cursor->at++;
		}
	} while (out->cell == FLEET_UNKNOWN && cursor->cell != FLEET_UNKNOWN);
	if (out->cell == FLEET_UNKNOWN) {
		*out = cursor->more;
		cursor->more.cell = FLEET_UNKNOWN;
	}
	return out->cell != FLEET_UNKNOWN;
}
