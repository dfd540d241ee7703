/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/paper.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "fleet/units.h"

/* The classes before SENDER_APP, which the paper leaves out. */
#define PAPER_CLASSES FLEET_SENDER_APP

struct paper {
	const struct fleet *f;
	size_t size;             /* entries of a vector */
	uint8_t *cells;
	double *vector, *sum;
};

/* Sets the vector of a connection, with mean 0 and length 1. Returns false for a constant one. */
static bool paper_vector(const struct paper *p, uint32_t conn)
{
	const uint32_t intervals = p->f->grid.intervals;
	double mean = 0, squares = 0;

	for (unsigned int class = 0; class < PAPER_CLASSES; class++)
		fleet_cells(p->f, conn, class, 0, intervals, p->cells + (size_t)class * intervals);
	for (size_t i = 0; i < p->size; i++) {
		p->vector[i] = p->cells[i] == FLEET_UNKNOWN ? 0 : p->cells[i];
		mean += p->vector[i] / (double)p->size;
	}
	for (size_t i = 0; i < p->size; i++) {
		p->vector[i] -= mean;
		squares += p->vector[i] * p->vector[i];
	}
	/* Cells are integers: a vector that changes has more than rounding errors. */
	if (squares < 1e-6)
		return false;
	for (size_t i = 0; i < p->size; i++)
		p->vector[i] /= sqrt(squares);
	return true;
}

/*
 * With vectors of length 1, the square of their sum is their number plus the correlations of all
 * ordered pairs.
 */
static void paper_correlate(const struct paper *p, const struct unit_entry *entries, size_t n,
			    struct fleet_paper_resource *out)
{
	double squares = 0, m;

	*out = (struct fleet_paper_resource){ .connections = (uint32_t)n };
	memset(p->sum, 0, p->size * sizeof(*p->sum));
	for (size_t i = 0; i < n; i++) {
		if (!paper_vector(p, entries[i].conn))
			continue;
		out->defined++;
		for (size_t k = 0; k < p->size; k++)
			p->sum[k] += p->vector[k];
	}
	for (size_t k = 0; k < p->size; k++)
		squares += p->sum[k] * p->sum[k];
	m = out->defined;
	out->acc = m > 1 ? (squares - m) / (m * (m - 1)) : NAN;
}

static int paper_kind(const struct paper *p, enum fleet_kind kind, double alpha,
		      struct fleet_paper *out)
{
	struct units units;
	int err = units_list(p->f, kind, &units);

	vec_for_each(&units.resources, of) {
		struct fleet_paper_resource resource;

		if (err)
			break;
		paper_correlate(p, units.items + of->first, of->n, &resource);
		resource.resource = of->resource;
		if (resource.acc > alpha)
			err = vec_push(out, resource);
	}
	units_release(&units);
	return err;
}

static int paper_order(const void *a, const void *b)
{
	const struct fleet_paper_resource *x = a, *y = b;

	return sort_order(y->acc, x->acc) ?: sort_order(x->resource, y->resource);
}

int fleet_paper(const struct fleet *f, double alpha, struct fleet_paper *out)
{
	struct paper p = { .f = f, .size = (size_t)PAPER_CLASSES * f->grid.intervals };
	int err = 0;

	vec_init(out, FLEET_RESOURCES_MAX);
	p.cells = malloc(p.size);
	p.vector = calloc(p.size, sizeof(*p.vector));
	p.sum = calloc(p.size, sizeof(*p.sum));
	if (!p.cells || !p.vector || !p.sum)
		err = -ENOMEM;
	for (unsigned int kind = 0; kind < FLEET_KINDS && !err; kind++)
		err = paper_kind(&p, kind, alpha, out);
	if (out->len)
		qsort(out->items, out->len, sizeof(*out->items), paper_order);
	free(p.cells);
	free(p.vector);
	free(p.sum);
	return err;
}
