/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_plain.h"

#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "fleet/state.h"
#include "stats/special.h"

/* The sums of a fleet's only class. */
struct plain {
	const struct model *m;
	struct fleet_groups groups;
	struct class_sums sums;
};

static void plain_begin(struct plain *p, const struct model *m)
{
	p->m = m;
	BUG_ON(fleet_groups_make(m->fleet, &p->groups));
	BUG_ON(class_sums_init(&p->sums, &p->groups));
	BUG_ON(class_sums_fill(&p->sums, m->config.class));
}

static void plain_end(struct plain *p)
{
	class_sums_release(&p->sums);
	fleet_groups_release(&p->groups);
}

double plain_correlation(const struct model *m, unsigned int classes)
{
	const uint32_t k = m->config.intervals;
	const double n = (double)k * classes;
	double *sum = calloc(k, sizeof(*sum)), squares = 0, defined = 0, rest = 0;

	BUG_ON(!sum);
	for (uint32_t c = 0; c < m->n; c++) {
		const double *x = m->series + (size_t)c * k;
		double mean = 0, variance = 0;

		for (uint32_t i = 0; i < k; i++) {
			mean += x[i] / n;
			variance += x[i] * x[i] / n;
		}
		variance -= mean * mean;
		if (!(variance > 1e-9))
			continue;
		for (uint32_t i = 0; i < k; i++)
			sum[i] += (x[i] - mean) / sqrt(n * variance);
		rest -= mean / sqrt(n * variance);
		defined++;
	}
	squares = rest * rest * (n - k);
	for (uint32_t i = 0; i < k; i++)
		squares += sum[i] * sum[i];
	free(sum);
	return (squares - defined) / (defined * (defined - 1));
}

/* ---- children ---- */

/* Measures the children of a resource; `around` as in fleet_subset. */
static struct synchrony plain_measure(struct plain *p, uint32_t resource, uint32_t around)
{
	const struct fleet_subset subset = { resource, around, NULL, 0 };
	struct children children;
	struct synchrony s;

	BUG_ON(children_make(&p->sums, &subset, &children));
	children.bias = 0;
	synchrony_measure(&children, &s);
	children_release(&children);
	return s;
}

static double plain_z_of(const struct synchrony *s)
{
	return s->v > 0 ? s->u / sqrt(s->v) : 0;
}

struct synchrony plain_synchrony(const struct model *m, uint32_t resource)
{
	struct synchrony s;
	struct plain p;

	plain_begin(&p, m);
	s = plain_measure(&p, resource, FLEET_NONE);
	plain_end(&p);
	return s;
}

/* Counts resources of a kind with z above `least`; sets *most to the greatest z. */
static uint32_t plain_count(const struct model *m, enum fleet_kind kind, bool regress, double least,
			    double *most)
{
	const struct fleet *f = m->fleet;
	struct plain p;
	uint32_t n = 0;

	*most = 0;
	plain_begin(&p, m);
	for (uint32_t r = 0; r < f->resources.len; r++) {
		struct synchrony s;

		if (f->resources.items[r].kind != kind)
			continue;
		s = plain_measure(&p, r, regress ? r : FLEET_NONE);
		*most = fmax(*most, plain_z_of(&s));
		n += plain_z_of(&s) > least;
	}
	plain_end(&p);
	return n;
}

double plain_z(const struct model *m, enum fleet_kind kind)
{
	double most;

	plain_count(m, kind, false, 0, &most);
	return most;
}

double plain_regressed_z(const struct model *m, enum fleet_kind kind)
{
	double most;

	plain_count(m, kind, true, 0, &most);
	return most;
}

uint32_t plain_significant(const struct model *m, enum fleet_kind kind, double alpha)
{
	double most;

	return plain_count(m, kind, true, normal_quantile(1 - alpha), &most);
}

/* ---- connections ---- */

static void plain_allocate(struct children *c, uint32_t connections, uint32_t intervals)
{
	const size_t size = (size_t)connections * intervals;

	*c = (struct children){ .n = connections, .intervals = intervals };
	c->z = calloc(2 * (size + intervals), sizeof(*c->z));
	c->known = calloc(intervals, sizeof(*c->known));
	BUG_ON(!c->z || !c->known);
	c->weight = c->z + size;
	c->sum = c->weight + size;
	c->sum_weight = c->sum + intervals;
}

/* Makes child u of one connection. */
static void plain_child(const struct plain *p, struct children *c, uint32_t u, uint32_t at)
{
	double *z = c->z + (size_t)u * c->intervals, *weight = c->weight + (size_t)u * c->intervals;

	children_add_steps(&p->sums, at, z, weight);
	children_add_up(z, weight, c->intervals);
	for (uint32_t k = 0; k < c->intervals; k++) {
		c->sum[k] += z[k];
		c->sum_weight[k] += weight[k];
		c->known[k] += weight[k] > 0;
	}
}

double plain_pairs_z(const struct model *m, uint32_t resource)
{
	struct children children;
	struct synchrony s;
	struct plain p;
	uint32_t u = 0;

	plain_begin(&p, m);
	plain_allocate(&children, (uint32_t)p.sums.conns.len, m->config.intervals);
	for (uint32_t i = 0; i < p.sums.conns.len; i++)
		if (fleet_series_shares(m->fleet, &m->fleet->all.items[p.sums.conns.items[i].conn],
					resource))
			plain_child(&p, &children, u++, i);
	children.n = u;
	synchrony_measure(&children, &s);
	children_release(&children);
	plain_end(&p);
	return plain_z_of(&s);
}

/* Fills in the sum of the connections from `first` on, each interval `late` intervals later. */
static void plain_add_late(const struct model *m, uint32_t first, uint32_t n, uint32_t late,
			   double *out)
{
	const uint32_t intervals = m->config.intervals;

	for (uint32_t c = first; c < first + n; c++)
		for (uint32_t k = late; k < intervals; k++)
			out[k] += m->series[(size_t)c * intervals + k - late];
}

double plain_late(const struct model *m, uint32_t n, uint32_t others, uint32_t late)
{
	const uint32_t intervals = m->config.intervals;
	double *a = calloc(2 * (size_t)intervals, sizeof(*a)), *b = a + intervals;
	double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
	const double count = intervals - late;

	BUG_ON(!a);
	plain_add_late(m, 0, n, late, a);
	plain_add_late(m, n, others, 0, b);
	for (uint32_t k = late; k < intervals; k++) {
		x += a[k];
		y += b[k];
		xx += a[k] * a[k];
		yy += b[k] * b[k];
		xy += a[k] * b[k];
	}
	free(a);
	return (count * xy - x * y) / sqrt((count * xx - x * x) * (count * yy - y * y));
}
