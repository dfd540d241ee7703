/* SPDX-License-Identifier: Apache-2.0 */
/* Input of a fleet's analysis: resources, connections, and their readings by interval. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/sort.h"
#include "fleet/state.h"

#define FIRST_SLOTS 64u

/* ---- making ---- */

struct fleet *fleet_new(const struct fleet_grid *grid)
{
	struct fleet *f;
	uint64_t end;

	if (!grid->intervals || grid->intervals > FLEET_INTERVALS_MAX || !grid->step_ns ||
	    __builtin_mul_overflow(grid->step_ns, grid->intervals, &end) ||
	    __builtin_add_overflow(grid->start_ns, end, &end) || end > INT64_MAX)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->grid = *grid;
	vec_init(&f->resources, FLEET_RESOURCES_MAX);
	vec_init(&f->all, FLEET_CONNECTIONS_MAX);
	vec_init(&f->shares, (size_t)FLEET_CONNECTIONS_MAX * FLEET_SHARES_MAX);
	return f;
}

void fleet_free(struct fleet *f)
{
	if (!f)
		return;
	vec_for_each(&f->resources, resource)
		free(resource->name);
	vec_for_each(&f->all, series) {
		free(series->name);
		free(series->open);
		fleet_runs_release(&series->runs);
	}
	vec_release(&f->resources);
	vec_release(&f->all);
	vec_release(&f->shares);
	free(f->by_name);
	free(f);
}

/* ---- resources ---- */

static size_t fleet_slot(const struct fleet *f, enum fleet_kind kind, const char *name)
{
	return (hash_bytes(name, strlen(name)) + kind) & (f->slots - 1);
}

static void fleet_resource_chain(struct fleet *f, uint32_t index)
{
	struct fleet_resource *resource = &f->resources.items[index];
	uint32_t *head = &f->by_name[fleet_slot(f, resource->kind, resource->name)];

	resource->next = *head;
	*head = index + 1;
}

static int fleet_resource_grow(struct fleet *f)
{
	const size_t slots = f->slots ? 2 * f->slots : FIRST_SLOTS;
	uint32_t *table;

	if (f->resources.len < f->slots)
		return 0;
	table = calloc(slots, sizeof(*table));
	if (!table)
		return -ENOMEM;
	free(f->by_name);
	f->by_name = table;
	f->slots = slots;
	for (uint32_t i = 0; i < f->resources.len; i++)
		fleet_resource_chain(f, i);
	return 0;
}

uint32_t fleet_find(const struct fleet *f, enum fleet_kind kind, const char *name)
{
	uint32_t at = f->slots ? f->by_name[fleet_slot(f, kind, name)] : 0;

	while (at && (f->resources.items[at - 1].kind != kind ||
		      strcmp(f->resources.items[at - 1].name, name)))
		at = f->resources.items[at - 1].next;
	return at ? at - 1 : FLEET_NONE;
}

int fleet_resource(struct fleet *f, enum fleet_kind kind, const char *name, uint32_t *index)
{
	char *copy;
	int err;

	*index = fleet_find(f, kind, name);
	if (*index != FLEET_NONE)
		return 0;
	err = fleet_resource_grow(f);
	copy = err ? NULL : strdup(name);
	if (!copy)
		return -ENOMEM;
	err = vec_push(&f->resources, (struct fleet_resource){ .name = copy, .kind = kind });
	if (err) {
		free(copy);
		return err;
	}
	*index = (uint32_t)f->resources.len - 1;
	fleet_resource_chain(f, *index);
	return 0;
}

/* ---- connections ---- */

static int fleet_share_order(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return sort_order(x, y);
}

/* Appends the resources in the order of their numbers: equal sets are equal lists. */
static int fleet_push_shares(struct fleet *f, const struct fleet_conn *conn)
{
	const size_t first = f->shares.len;
	uint32_t *shares;
	bool host = false;
	int err = vec_reserve(&f->shares, first + conn->n);

	if (err)
		return err;
	shares = f->shares.items + first;
	memcpy(shares, conn->shares, conn->n * sizeof(*shares));
	qsort(shares, conn->n, sizeof(*shares), fleet_share_order);
	for (uint32_t i = 0; i < conn->n; i++) {
		if (shares[i] >= f->resources.len || (i && shares[i] == shares[i - 1]))
			return -EINVAL;
		host |= shares[i] == conn->host;
	}
	if (!host || f->resources.items[conn->host].kind != FLEET_HOST)
		return -EINVAL;
	f->shares.len += conn->n;
	return 0;
}

int fleet_connection(struct fleet *f, const struct fleet_conn *conn, uint32_t *index)
{
	struct fleet_series series = {
		.host = conn->host, .shares = (uint32_t)f->shares.len, .n = conn->n,
		.cookie = conn->cookie,
	};
	int err;

	if (!conn->n || conn->n > FLEET_SHARES_MAX)
		return -EINVAL;
	err = fleet_push_shares(f, conn);
	if (err)
		return err;
	series.name = strdup(conn->name);
	err = series.name ? vec_push(&f->all, series) : -ENOMEM;
	if (err) {
		free(series.name);
		f->shares.len = series.shares;
		return err;
	}
	*index = (uint32_t)f->all.len - 1;
	return 0;
}

/* ---- readings ---- */

static bool fleet_reading_is_possible(const struct fleet_reading *reading)
{
	if (reading->from_ns >= reading->to_ns || reading->to_ns > INT64_MAX ||
	    reading->known >> FLEET_CLASSES)
		return false;
	for (unsigned int class = 0; class < FLEET_CLASSES; class++)
		if (reading->known >> class & 1 &&
		    !(reading->share[class] >= 0 && reading->share[class] <= 1))
			return false;
	return true;
}

static uint8_t fleet_open_cell(const struct fleet *f, const struct fleet_series *s,
			       unsigned int class)
{
	const uint64_t known = s->open ? s->open->known_ns[class] : 0;

	if (!known || known < f->grid.step_ns - known)
		return FLEET_UNKNOWN;
	return (uint8_t)((double)s->open->limited_ns[class] * FLEET_STEPS / (double)known + 0.5);
}

/* Stores the open interval and begins interval k. */
static int fleet_open(struct fleet *f, struct fleet_series *s, uint32_t k)
{
	int err = 0;

	for (unsigned int class = 0; class < FLEET_CLASSES && !err; class++) {
		const struct fleet_run run = { s->open_at, s->open_at + 1,
					       fleet_open_cell(f, s, class) };

		if (run.cell != FLEET_UNKNOWN)
			err = fleet_runs_append(&s->runs, class, &run, &f->cells_bytes);
	}
	*s->open = (struct fleet_open){ 0 };
	s->open_at = k;
	return err;
}

static int fleet_add_overlap(struct fleet *f, struct fleet_series *s,
			     const struct fleet_reading *reading, uint32_t k, uint64_t ns)
{
	int err = k == s->open_at ? 0 : fleet_open(f, s, k);

	for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
		if (!(reading->known >> class & 1))
			continue;
		s->open->known_ns[class] += ns;
		s->open->limited_ns[class] +=
			(uint64_t)(reading->share[class] * (double)ns + 0.5);
	}
	return err;
}

/* Adds to the totals; the part of a reading that lies outside of the grid does not count. */
static void fleet_add_totals(struct fleet_series *s, const struct fleet_reading *reading,
			     uint64_t ns)
{
	const double part = (double)ns / (double)(reading->to_ns - reading->from_ns);

	for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
		if (!(reading->known >> class & 1))
			continue;
		s->known_ns[class] += ns;
		s->limited_ns[class] += (uint64_t)(reading->share[class] * (double)ns + 0.5);
		s->lost_ns[class] += (uint64_t)((double)reading->lost_ns[class] * part + 0.5);
	}
}

/* Adds a reading's part within the grid to the intervals. */
static int fleet_add_part(struct fleet *f, struct fleet_series *s,
			  const struct fleet_reading *reading, uint64_t from, uint64_t to)
{
	const uint64_t start = f->grid.start_ns, step = f->grid.step_ns;
	int err = 0;

	if (!s->open)
		s->open = calloc(1, sizeof(*s->open));
	if (!s->open)
		return -ENOMEM;
	while (from < to && !err) {
		const uint32_t k = (uint32_t)((from - start) / step);
		const uint64_t next = start + step * (k + 1);
		const uint64_t until = next < to ? next : to;

		err = fleet_add_overlap(f, s, reading, k, until - from);
		from = until;
	}
	return err;
}

int fleet_add(struct fleet *f, uint32_t conn, const struct fleet_reading *reading)
{
	const uint64_t start = f->grid.start_ns, end = start + f->grid.step_ns * f->grid.intervals;
	struct fleet_series *s = conn < f->all.len ? &f->all.items[conn] : NULL;
	uint64_t from, to;
	int err = 0;

	if (!s || !fleet_reading_is_possible(reading) || reading->from_ns < s->last_ns)
		return -EINVAL;
	from = reading->from_ns > start ? reading->from_ns : start;
	to = reading->to_ns < end ? reading->to_ns : end;
	if (from < to && reading->known) {
		err = fleet_add_part(f, s, reading, from, to);
		if (err)
			return err;
		fleet_add_totals(s, reading, to - from);
	}
	s->last_ns = reading->to_ns;
	return 0;
}

/* ---- stretches ---- */

/* Returns the interval behind those from `from` on with the same share. */
static uint32_t fleet_stretch_same(const struct fleet_stretch *stretch, uint32_t from)
{
	const uint8_t *cells = stretch->cells;
	const uint64_t eight = cells[from] * UINT64_C(0x0101010101010101);
	uint32_t to = from + 1;

	/* Most stretches are constant. */
	for (uint64_t word; to + sizeof(word) <= stretch->n; to += sizeof(word)) {
		memcpy(&word, cells + to, sizeof(word));
		if (word != eight)
			break;
	}
	while (to < stretch->n && cells[to] == cells[from])
		to++;
	return to;
}

/* Returns whether the stretch is possible, and begins where the class has nothing known. */
static bool fleet_stretch_is_possible(const struct fleet *f, const struct fleet_series *s,
				      enum fleet_class class, const struct fleet_stretch *stretch)
{
	const uint32_t intervals = f->grid.intervals;
	uint32_t first = stretch->first;

	if (!stretch->n || first >= intervals || stretch->n > intervals - first ||
	    stretch->limited_ns > stretch->known_ns || s->last_ns)
		return false;
	for (uint32_t k = 0; k < stretch->n; k = fleet_stretch_same(stretch, k))
		if (stretch->cells[k] > FLEET_STEPS && stretch->cells[k] != FLEET_UNKNOWN)
			return false;
	if (stretch->cells[0] == FLEET_UNKNOWN)
		first += fleet_stretch_same(stretch, 0);
	return first + 1 >= s->runs.end[class];
}

static int fleet_add_run(struct fleet *f, struct fleet_series *s, enum fleet_class class,
			 struct fleet_run run)
{
	int err = 0;

	if (run.from < s->runs.end[class]) {
		err = fleet_runs_raise(&s->runs, class, run.cell, &f->cells_bytes);
		run.from++;
	}
	if (run.from == run.to || err)
		return err;
	return fleet_runs_append(&s->runs, class, &run, &f->cells_bytes);
}

int fleet_add_stretch(struct fleet *f, uint32_t conn, enum fleet_class class,
		      const struct fleet_stretch *stretch)
{
	struct fleet_series *s = conn < f->all.len ? &f->all.items[conn] : NULL;
	int err = 0;

	if (!s || !fleet_stretch_is_possible(f, s, class, stretch))
		return -EINVAL;
	for (uint32_t k = 0, to; k < stretch->n && !err; k = to) {
		to = fleet_stretch_same(stretch, k);
		if (stretch->cells[k] != FLEET_UNKNOWN)
			err = fleet_add_run(f, s, class, (struct fleet_run){
				stretch->first + k, stretch->first + to, stretch->cells[k] });
	}
	if (err)
		return err;
	s->known_ns[class] += stretch->known_ns;
	s->limited_ns[class] += stretch->limited_ns;
	s->lost_ns[class] += stretch->lost_ns;
	return 0;
}

/* ---- asking ---- */

struct fleet_runs_cursor fleet_series_runs(const struct fleet *f, const struct fleet_series *s,
					   enum fleet_class class)
{
	struct fleet_runs_cursor cursor = fleet_runs_begin(&s->runs, class);

	cursor.more = (struct fleet_run){ s->open_at, s->open_at + 1,
					  fleet_open_cell(f, s, class) };
	return cursor;
}

void fleet_cells(const struct fleet *f, uint32_t conn, enum fleet_class class, uint32_t first,
		 uint32_t n, uint8_t *out)
{
	struct fleet_runs_cursor at = fleet_series_runs(f, &f->all.items[conn], class);
	const uint32_t end = first + n;

	memset(out, FLEET_UNKNOWN, n);
	for (struct fleet_run run; fleet_runs_next(&at, &run);) {
		const uint32_t from = run.from < first ? first : run.from;
		const uint32_t to = run.to < end ? run.to : end;

		if (from < to)
			memset(out + (from - first), run.cell, to - from);
	}
}

bool fleet_series_shares(const struct fleet *f, const struct fleet_series *s, uint32_t resource)
{
	const uint32_t *shares = f->shares.items + s->shares;

	return bsearch(&resource, shares, s->n, sizeof(*shares), fleet_share_order);
}

bool fleet_series_changes(const struct fleet *f, const struct fleet_series *s,
			  enum fleet_class class)
{
	struct fleet_runs_cursor at = fleet_series_runs(f, s, class);
	uint8_t first = FLEET_UNKNOWN;

	if (!s->limited_ns[class])
		return false;
	for (struct fleet_run run; fleet_runs_next(&at, &run); first = run.cell)
		if (first != FLEET_UNKNOWN && run.cell != first)
			return true;
	return false;
}
