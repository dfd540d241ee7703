/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/members.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "fleet/synchrony.h"
#include "stats/multiple.h"
#include "stats/special.h"

struct members {
	const struct class_sums *sums;
	const struct children *children;
	double *rest;            /* sum of the other children, scratch */
	double *z, *weight;      /* one connection, scratch */
	double *memory;          /* autocovariance of the rest of each child */
	double *p, *adjusted;    /* p of each connection, raw and adjusted */
	struct fleet_member *all;
};

static int members_init(struct members *m)
{
	const size_t n = m->children->connections + 1, k = m->children->intervals;

	m->rest = malloc(3 * k * sizeof(*m->rest));
	m->memory = calloc(((size_t)m->children->n + 1) * (SYNCHRONY_LAGS + 1), sizeof(*m->memory));
	m->p = calloc(2 * n, sizeof(*m->p));
	m->all = calloc(n, sizeof(*m->all));
	if (!m->rest || !m->memory || !m->p || !m->all)
		return -ENOMEM;
	m->z = m->rest + k;
	m->weight = m->z + k;
	m->adjusted = m->p + n;
	return 0;
}

static void members_release(struct members *m)
{
	free(m->rest);
	free(m->memory);
	free(m->p);
	free(m->all);
}

static void members_rest(struct members *m, uint32_t child)
{
	const struct children *c = m->children;

	for (uint32_t k = 0; k < c->intervals; k++)
		m->rest[k] = c->sum[k] - c->z[(size_t)child * c->intervals + k];
}

static void members_memories(struct members *m)
{
	for (uint32_t u = 0; u < m->children->n; u++) {
		members_rest(m, u);
		synchrony_covariance(m->rest, m->rest, m->children->intervals,
				     m->memory + (size_t)u * (SYNCHRONY_LAGS + 1));
	}
}

static void members_fill(struct members *m, const struct child_conn *conn)
{
	const uint32_t intervals = m->children->intervals;

	memset(m->z, 0, 2 * intervals * sizeof(*m->z));
	children_add_steps(m->sums, conn->at, m->z, m->weight);
	children_add_up(m->z, m->weight, intervals);
	children_remove_load(&m->children->load, m->z, m->weight);
}

static double members_score(struct members *m, const struct child_conn *conn)
{
	const uint32_t intervals = m->children->intervals;
	const double *rest = m->memory + (size_t)conn->child * (SYNCHRONY_LAGS + 1);
	double own[SYNCHRONY_LAGS + 1], product = 0, v = 0;

	members_fill(m, conn);
	members_rest(m, conn->child);
	for (uint32_t k = 0; k < intervals; k++)
		product += m->z[k] * m->rest[k];
	if (product <= 0)
		return 0;
	synchrony_covariance(m->z, m->z, intervals, own);
	for (uint32_t h = 0; h <= SYNCHRONY_LAGS && h < intervals; h++)
		v += (h ? 2 : 1) * (double)(intervals - h) * own[h] * rest[h];
	return v > 0 ? product / sqrt(v) : 0;
}

static int members_order(const void *a, const void *b)
{
	const struct fleet_member *x = a, *y = b;

	return sort_order(y->score, x->score) ?: sort_order(x->conn, y->conn);
}

/* Connections much weaker than the strongest are chance: bursts give scores a longer tail. */
static double members_least(const struct members *m)
{
	double most = 0;

	for (uint32_t i = 0; i < m->children->connections; i++)
		most = fmax(most, m->all[i].score);
	return MEMBERS_PART * most;
}

static int members_choose(struct members *m, struct fleet_members *out)
{
	const uint32_t n = m->children->connections;
	const double least = members_least(m);
	const size_t first = out->len;
	int err = fdr_adjust(m->p, n, m->adjusted);

	for (uint32_t i = 0; i < n && !err; i++)
		if (m->adjusted[i] <= MEMBERS_ALPHA && m->all[i].score >= least)
			err = vec_push(out, m->all[i]);
	if (!err && out->len > first)
		qsort(out->items + first, out->len - first, sizeof(*out->items), members_order);
	return err ? -ENOMEM : 0;
}

int members_name(const struct class_sums *sums, const struct children *children,
		 struct fleet_members *out)
{
	struct members m = { .sums = sums, .children = children };
	int err = members_init(&m);

	if (!err)
		members_memories(&m);
	for (uint32_t i = 0; i < children->connections && !err; i++) {
		m.all[i] = (struct fleet_member){ sums->conns.items[children->conns[i].at].conn,
						  members_score(&m, &children->conns[i]) };
		m.p[i] = normal_sf(m.all[i].score);
	}
	if (!err)
		err = members_choose(&m, out);
	members_release(&m);
	return err;
}
