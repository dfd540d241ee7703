/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/pipeline_effect.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct effect_time {
	uint64_t known, waiting; /* intervals; steps of 1/FLEET_STEPS without data */
};

struct effect {
	const struct pipeline_work *work;
	const struct pipeline_pair *pair;
	uint32_t lag;
	uint8_t *cells;          /* one connection's shares */
	struct effect_time with, otherwise;
	double much;             /* z of much of the problem, at the child at hand */
};

/* Sets the mean of the intervals in which a child has more of the problem than usual. */
static void effect_set_much(struct effect *e, uint32_t child)
{
	const uint32_t n = e->pair->intervals;
	const double *z = e->pair->problem.z + (size_t)child * n;
	double sum = 0, above = 0;

	for (uint32_t k = 0; k < n; k++) {
		sum += fmax(0, z[k]);
		above += z[k] > 0;
	}
	e->much = above > 0 ? (1 - 1e-9) * sum / above : INFINITY;
}

/* Adds the intervals of a connection in which the problem's part of its host is known. */
static void effect_add_connection(struct effect *e, uint32_t child, uint32_t conn)
{
	const uint32_t n = e->pair->intervals;
	const double *z = e->pair->problem.z + (size_t)child * n;
	const double *weight = e->pair->problem.weight + (size_t)child * n;

	fleet_cells(e->work->f, conn, FLEET_SENDER_APP, 0, n, e->cells);
	for (uint32_t k = 0; k < n; k++) {
		const uint8_t cell = e->cells[(k + e->lag) % n];
		struct effect_time *time = z[k] > 0 ? &e->with : &e->otherwise;

		if (cell == FLEET_UNKNOWN || !(weight[k] > 0) || (z[k] > 0 && z[k] < e->much))
			continue;
		time->known++;
		time->waiting += cell;
	}
}

static uint32_t effect_count(const struct pipeline_side *side, struct pipeline_range range)
{
	uint32_t n = 0;

	for (size_t i = range.first; i < range.first + range.n; i++)
		n += side->sums.group_first[side->ends.items[i].group + 1] -
		     side->sums.group_first[side->ends.items[i].group];
	return n;
}

static void effect_add_child(struct effect *e, uint32_t child)
{
	const struct pipeline_side *side = &e->work->waiting;
	const struct pipeline_range range = e->pair->children[child].waiting;

	effect_set_much(e, child);
	for (size_t i = range.first; i < range.first + range.n; i++) {
		uint32_t n;
		const struct class_conn *conns =
			class_sums_group(&side->sums, side->ends.items[i].group, &n);

		for (uint32_t j = 0; j < n; j++)
			effect_add_connection(e, child, conns[j].conn);
	}
}

static double effect_share(struct effect_time time)
{
	return time.known ? (double)time.waiting / FLEET_STEPS / (double)time.known : NAN;
}

static void effect_set(const struct effect *e, struct fleet_pipeline *out)
{
	const double step = (double)e->work->f->grid.step_ns;
	double more;

	out->share = effect_share(e->with);
	out->share_otherwise = effect_share(e->otherwise);
	more = out->share - out->share_otherwise;
	out->waiting_ns = more > 0 ? (uint64_t)(more * (double)e->with.known * step) : 0;
}

int pipeline_effect_measure(const struct pipeline_work *work, const struct pipeline_pair *pair,
			    uint32_t lag, struct fleet_pipeline *out)
{
	struct effect e = { .work = work, .pair = pair, .lag = lag };

	e.cells = malloc(pair->intervals);
	if (!e.cells)
		return -ENOMEM;
	out->hosts = pair->n;
	out->connections = out->waiting = 0;
	for (uint32_t u = 0; u < pair->n; u++) {
		out->connections += effect_count(&work->problem, pair->children[u].problem);
		out->waiting += effect_count(&work->waiting, pair->children[u].waiting);
		effect_add_child(&e, u);
	}
	effect_set(&e, out);
	free(e.cells);
	return 0;
}
