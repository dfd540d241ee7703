/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/pipeline_pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/sort.h"
#include "report/human.h"

#define ENDS_MAX ((size_t)FLEET_CONNECTIONS_MAX * FLEET_SHARES_MAX)
#define BETWEEN_ENDS " > "
#define CELLS_MAX (1u << 23) /* hosts times intervals of a pair: at 64 bytes, 512 MiB */
/* The mean of fewer connections has errors that leave more load than a small effect. */
#define OUTSIDE_MIN 30u

/* ---- ends ---- */

/*
 * The other end of a connection has its addresses in the other order. Without addresses, a
 * connection is known by its number.
 */
static uint64_t pipeline_key(const struct fleet *f, uint32_t conn)
{
	const char *name = f->all.items[conn].name, *between = strstr(name, BETWEEN_ENDS);
	char local[HUMAN_ADDRESS_MAX];

	if (!between || *name == '?' || between - name >= HUMAN_ADDRESS_MAX)
		return rng_derive(conn, 1);
	snprintf(local, sizeof(local), "%.*s", (int)(between - name), name);
	return children_key(local, 0) + children_key(between + strlen(BETWEEN_ENDS), 0);
}

static int pipeline_end_order(const void *a, const void *b)
{
	const struct pipeline_end *x = a, *y = b;

	return sort_order(x->resource, y->resource) ?: sort_order(x->host, y->host) ?:
		sort_order(x->group, y->group);
}

static enum fleet_kind pipeline_kind(const struct fleet *f, uint32_t resource)
{
	return f->resources.items[resource].kind;
}

/* Adds the ends of a group's resource: on its own host, or on all that it shares. */
static int pipeline_side_add_ends(struct pipeline_side *side, uint32_t group, uint32_t resource,
				  bool is_problem)
{
	const struct fleet_groups *groups = side->sums.groups;
	const struct fleet *f = groups->f;
	const struct fleet_group *g = &groups->all.items[group];
	const struct fleet_series *s = &f->all.items[groups->conns[g->first]];
	int err = 0;

	for (uint32_t i = 0; i < s->n && !err; i++) {
		const uint32_t host = f->shares.items[s->shares + i];

		if (pipeline_kind(f, host) == FLEET_HOST && (is_problem || host == g->host))
			err = vec_push(&side->ends, (struct pipeline_end){ resource, host, group });
	}
	return err;
}

static int pipeline_side_add(struct pipeline_side *side, uint32_t group, bool is_problem)
{
	const struct fleet_groups *groups = side->sums.groups;
	const struct fleet *f = groups->f;
	const struct fleet_series *s =
		&f->all.items[groups->conns[groups->all.items[group].first]];
	int err = 0;

	for (uint32_t i = 0; i < s->n && !err; i++) {
		const uint32_t resource = f->shares.items[s->shares + i];
		const enum fleet_kind kind = pipeline_kind(f, resource);

		if (kind == FLEET_APP || (is_problem && kind == FLEET_SERVICE))
			err = pipeline_side_add_ends(side, group, resource, is_problem);
	}
	return err;
}

int pipeline_side_fill(struct pipeline_work *work, struct pipeline_side *side,
		       enum fleet_class class, bool is_problem)
{
	int err = class_sums_fill(&side->sums, class);

	err = err ? err : pipeline_sums_begin(&side->cache, work->f->grid.intervals);
	vec_clear(&side->ends);
	for (uint32_t group = 0; group < work->groups.all.len && !err; group++)
		if (class_sums_has(&side->sums, group))
			err = pipeline_side_add(side, group, is_problem);
	if (!err && side->ends.len)
		qsort(side->ends.items, side->ends.len, sizeof(*side->ends.items),
		      pipeline_end_order);
	return err ? -ENOMEM : 0;
}

/* Returns the ends of a resource. */
static struct pipeline_range pipeline_side_find(const struct pipeline_side *side, uint32_t resource)
{
	const struct pipeline_end *ends = side->ends.items;
	const size_t n = side->ends.len, from = sort_first(i, 0, n, ends[i].resource >= resource);

	return (struct pipeline_range){
		from, sort_first(i, from, n, ends[i].resource > resource) - from };
}

int pipeline_work_init(struct pipeline_work *work, const struct fleet *f)
{
	*work = (struct pipeline_work){ .f = f };
	vec_init(&work->problem.ends, ENDS_MAX);
	vec_init(&work->waiting.ends, ENDS_MAX);
	work->keys = malloc((f->all.len + 1) * sizeof(*work->keys));
	if (!work->keys || fleet_groups_make(f, &work->groups) ||
	    class_sums_init(&work->problem.sums, &work->groups) ||
	    class_sums_init(&work->waiting.sums, &work->groups) ||
	    fleet_sums_init(&work->outside, f->grid.intervals))
		return -ENOMEM;
	for (uint32_t i = 0; i < f->all.len; i++)
		work->keys[i] = pipeline_key(f, i);
	return 0;
}

static void pipeline_side_release(struct pipeline_side *side)
{
	if (side->sums.groups)
		class_sums_release(&side->sums);
	vec_release(&side->ends);
	pipeline_sums_release(&side->cache);
}

void pipeline_work_release(struct pipeline_work *work)
{
	pipeline_side_release(&work->problem);
	pipeline_side_release(&work->waiting);
	fleet_sums_release(&work->outside);
	fleet_groups_release(&work->groups);
	free(work->keys);
}

int pipeline_work_fork(const struct pipeline_work *work, struct pipeline_work *out)
{
	const uint32_t intervals = work->f->grid.intervals;
	int err;

	*out = *work;
	out->problem.cache = out->waiting.cache = (struct pipeline_sums){ 0 };
	err = fleet_sums_init(&out->outside, intervals);
	err = pipeline_sums_begin(&out->problem.cache, intervals) ?: err;
	return pipeline_sums_begin(&out->waiting.cache, intervals) ?: err;
}

void pipeline_work_join(struct pipeline_work *fork)
{
	fleet_sums_release(&fork->outside);
	pipeline_sums_release(&fork->problem.cache);
	pipeline_sums_release(&fork->waiting.cache);
}

/* ---- common load ---- */

/*
 * Adds the connections of both resources. The side lists each group of its own resource once at the
 * host that recorded it: that list has only groups with defined connections.
 */
static void pipeline_load_add_both(struct pipeline_work *work, const struct pipeline_side *side,
				   const struct pipeline_pair *pair)
{
	const bool is_problem = side == &work->problem;
	const uint32_t listed = is_problem ? pair->resource : pair->application;
	const uint32_t other = is_problem ? pair->application : pair->resource;
	const struct pipeline_range range = pipeline_side_find(side, listed);

	for (size_t i = range.first; i < range.first + range.n; i++) {
		const struct pipeline_end *end = &side->ends.items[i];

		if (end->host == work->groups.all.items[end->group].host &&
		    fleet_group_shares(&work->groups, end->group, other))
			class_sums_add_group(&side->sums, end->group, &work->outside);
	}
}

/* Sets work->outside to the sums of the connections that share neither resource. */
static int pipeline_load_sum(struct pipeline_work *work, struct pipeline_side *side,
			     const struct pipeline_pair *pair)
{
	struct fleet_sums *outside = &work->outside;
	const struct fleet_sums *sums;

	fleet_sums_clear(outside);
	if (pair->application != pair->resource)
		pipeline_load_add_both(work, side, pair);
	if (outside->connections)
		fleet_sums_finish(outside);
	fleet_sums_merge(outside, &side->sums.total);
	sums = pipeline_sums_of(&side->cache, &side->sums, pair->resource);
	if (sums)
		fleet_sums_subtract(outside, sums);
	if (sums && pair->application != pair->resource)
		sums = pipeline_sums_of(&side->cache, &side->sums, pair->application);
	if (sums && pair->application != pair->resource)
		fleet_sums_subtract(outside, sums);
	return sums ? 0 : -ENOMEM;
}

/*
 * The mean of the connections of neither side: one of either would be with itself in the products,
 * and a connection that waits for an ACK does not wait for its application.
 */
static int pipeline_load_make(struct pipeline_work *work, struct pipeline_side *side,
			      const struct pipeline_pair *pair, struct common_load *out)
{
	const struct fleet_sums *outside = &work->outside;
	int err = pipeline_load_sum(work, side, pair);

	*out = (struct common_load){ .intervals = pair->intervals };
	if (err)
		return err;
	if (outside->connections < OUTSIDE_MIN)
		return 0;
	out->series = calloc(pair->intervals, sizeof(*out->series));
	for (uint32_t k = 0; out->series && k < pair->intervals; k++)
		if (outside->weight[k])
			out->series[k] = (double)outside->z[k] / (double)outside->weight[k];
	return out->series ? 0 : -ENOMEM;
}

/* Removes the load from a child's series; notes what was removed. */
static void pipeline_series_clean(const struct pipeline_pair *pair,
				  const struct common_load *load, struct pipeline_series *series,
				  uint32_t child)
{
	const size_t at = (size_t)child * pair->intervals;
	double *z = series->z + at, *weight = series->weight + at, *level = series->level + at;

	memcpy(level, z, pair->intervals * sizeof(*level));
	series->scale[child] = 1;
	if (load->series)
		children_remove_load(load, z, weight);
	else
		series->scale[child] = children_smooth(load, z, weight);
	for (uint32_t k = 0; k < pair->intervals; k++)
		level[k] = weight[k] > 0 ?
			(level[k] - z[k]) / weight[k] * series->scale[child] : 0;
}

static void pipeline_series_add(const struct pipeline_side *side, struct pipeline_range range,
				double *z, double *weight)
{
	for (size_t i = range.first; i < range.first + range.n; i++) {
		const uint32_t group = side->ends.items[i].group;

		for (uint32_t at = side->sums.group_first[group];
		     at < side->sums.group_first[group + 1]; at++)
			children_add_steps(&side->sums, at, z, weight);
	}
	children_add_up(z, weight, side->sums.f->grid.intervals);
}

static int pipeline_series_make(struct pipeline_work *work, struct pipeline_side *side,
				const struct pipeline_pair *pair, struct pipeline_series *out)
{
	const size_t size = (size_t)pair->n * pair->intervals;
	const bool is_problem = side == &work->problem;
	struct common_load load;
	int err = pipeline_load_make(work, side, pair, &load);

	out->z = calloc(3 * size + pair->n, sizeof(*out->z));
	if (err || !out->z) {
		free(load.series);
		return -ENOMEM;
	}
	out->weight = out->z + size;
	out->level = out->weight + size;
	out->scale = out->level + size;
	for (uint32_t u = 0; u < pair->n; u++) {
		const struct pipeline_child *child = &pair->children[u];
		const size_t at = (size_t)u * pair->intervals;

		pipeline_series_add(side, is_problem ? child->problem : child->waiting,
				    out->z + at, out->weight + at);
		pipeline_series_clean(pair, &load, out, u);
	}
	free(load.series);
	return 0;
}

/* ---- a connection with itself ---- */

struct pipeline_conn {
	uint64_t key;
	uint32_t at;             /* in class_sums.conns */
};

struct pipeline_conns VEC_OF(struct pipeline_conn);

static int pipeline_conn_order(const void *a, const void *b)
{
	const struct pipeline_conn *x = a, *y = b;

	return sort_order(x->key, y->key) ?: sort_order(x->at, y->at);
}

static uint64_t pipeline_conn_key(const struct pipeline_work *work,
				  const struct pipeline_side *side, uint32_t at)
{
	return work->keys[side->sums.conns.items[at].conn];
}

/* Lists the defined connections of a child's side by their keys. */
static int pipeline_conns_list(const struct pipeline_work *work, const struct pipeline_side *side,
			       struct pipeline_range range, struct pipeline_conns *out)
{
	int err = 0;

	vec_clear(out);
	for (size_t i = range.first; i < range.first + range.n; i++) {
		const uint32_t group = side->ends.items[i].group;

		for (uint32_t at = side->sums.group_first[group];
		     at < side->sums.group_first[group + 1] && !err; at++)
			err = vec_push(out, (struct pipeline_conn){
						    pipeline_conn_key(work, side, at), at });
	}
	if (out->len)
		qsort(out->items, out->len, sizeof(*out->items), pipeline_conn_order);
	return err;
}

struct pipeline_own {
	struct pipeline_work *work;
	struct pipeline_pair *pair;
	struct pipeline_conns problem, waiting;
	double *a, *a_weight, *b, *b_weight; /* scratch */
};

/* Fills the series of a connection, less its part of what was removed from its child. */
static void pipeline_own_fill(const struct pipeline_own *own, const struct pipeline_side *side,
			      const struct pipeline_series *series, uint32_t child, uint32_t at,
			      double *z, double *weight)
{
	const uint32_t n = own->pair->intervals;
	const double *level = series->level + (size_t)child * n;

	memset(z, 0, n * sizeof(*z));
	memset(weight, 0, n * sizeof(*weight));
	children_add_steps(&side->sums, at, z, weight);
	children_add_up(z, weight, n);
	for (uint32_t k = 0; k < n; k++) {
		z[k] -= weight[k] * level[k];
		weight[k] *= series->scale[child];
	}
}

/* Adds the products of one connection's ends at all lags. */
static void pipeline_own_add(const struct pipeline_own *own)
{
	const uint32_t n = own->pair->intervals;

	for (uint32_t i = 0; i < PIPELINE_NEAR; i++)
		for (uint32_t k = 0; k < n; k++) {
			const uint32_t later = (k + n + i - PIPELINE_LAGS) % n;

			own->pair->own[(size_t)i * n + k] += own->a[k] * own->b[later];
			own->pair->own_weight[(size_t)i * n + k] +=
				own->a_weight[k] * own->b_weight[later];
		}
}

/* Adds all pairs of the same key, from items i and j on; sets these behind them. */
static void pipeline_own_add_key(const struct pipeline_own *own, uint32_t child, size_t *i,
				 size_t *j)
{
	const uint64_t key = own->problem.items[*i].key;
	const size_t from = *j;

	for (; *i < own->problem.len && own->problem.items[*i].key == key; ++*i) {
		pipeline_own_fill(own, &own->work->problem, &own->pair->problem, child,
				  own->problem.items[*i].at, own->a, own->a_weight);
		for (*j = from; *j < own->waiting.len && own->waiting.items[*j].key == key; ++*j) {
			pipeline_own_fill(own, &own->work->waiting, &own->pair->waiting, child,
					  own->waiting.items[*j].at, own->b, own->b_weight);
			pipeline_own_add(own);
		}
	}
}

/* Makes zeros of the products, and room for two connections: most pairs need neither. */
static int pipeline_own_begin(struct pipeline_own *own)
{
	struct pipeline_pair *pair = own->pair;
	const size_t n = pair->intervals;

	if (own->a)
		return 0;
	pair->own = calloc(2 * PIPELINE_NEAR * n, sizeof(*pair->own));
	own->a = malloc(4 * n * sizeof(*own->a));
	if (!pair->own || !own->a)
		return -ENOMEM;
	pair->own_weight = pair->own + PIPELINE_NEAR * n;
	own->a_weight = own->a + n;
	own->b = own->a_weight + n;
	own->b_weight = own->b + n;
	return 0;
}

static int pipeline_own_add_child(struct pipeline_own *own, uint32_t child)
{
	const struct pipeline_child *c = &own->pair->children[child];
	int err = pipeline_conns_list(own->work, &own->work->problem, c->problem, &own->problem);

	err = err ? err : pipeline_conns_list(own->work, &own->work->waiting, c->waiting,
					      &own->waiting);
	for (size_t i = 0, j = 0; i < own->problem.len && j < own->waiting.len && !err;) {
		if (own->problem.items[i].key < own->waiting.items[j].key) {
			i++;
		} else if (own->problem.items[i].key > own->waiting.items[j].key) {
			j++;
		} else {
			err = pipeline_own_begin(own);
			if (!err)
				pipeline_own_add_key(own, child, &i, &j);
		}
	}
	return err;
}

static int pipeline_own_make(struct pipeline_work *work, struct pipeline_pair *pair)
{
	struct pipeline_own own = { .work = work, .pair = pair };
	int err = 0;

	vec_init(&own.problem, FLEET_CONNECTIONS_MAX);
	vec_init(&own.waiting, FLEET_CONNECTIONS_MAX);
	for (uint32_t u = 0; u < pair->n && !err; u++)
		err = pipeline_own_add_child(&own, u);
	free(own.a);
	vec_release(&own.problem);
	vec_release(&own.waiting);
	return err;
}

/* ---- pairs ---- */

/* Returns the ends of a range's first host. */
static struct pipeline_range pipeline_first_host(const struct pipeline_side *side,
						 struct pipeline_range range)
{
	const struct pipeline_end *ends = side->ends.items + range.first;
	size_t n = 0;

	while (n < range.n && ends[n].host == ends[0].host)
		n++;
	return (struct pipeline_range){ range.first, n };
}

static void pipeline_range_skip(struct pipeline_range *range, struct pipeline_range part)
{
	range->first += part.n;
	range->n -= part.n;
}

/* Finds the hosts of both sides. */
static int pipeline_children_list(const struct pipeline_work *work, struct pipeline_pair *pair)
{
	struct pipeline_range a = pipeline_side_find(&work->problem, pair->resource);
	struct pipeline_range b = pipeline_side_find(&work->waiting, pair->application);

	pair->children = malloc(((a.n < b.n ? a.n : b.n) + 1) * sizeof(*pair->children));
	if (!pair->children)
		return -ENOMEM;
	while (a.n && b.n) {
		const uint32_t x = work->problem.ends.items[a.first].host;
		const uint32_t y = work->waiting.ends.items[b.first].host;
		const struct pipeline_child child = { x, pipeline_first_host(&work->problem, a),
						      pipeline_first_host(&work->waiting, b) };

		if (x == y)
			pair->children[pair->n++] = child;
		if (x <= y)
			pipeline_range_skip(&a, child.problem);
		if (y <= x)
			pipeline_range_skip(&b, child.waiting);
	}
	return 0;
}

/* Keeps only so many hosts, evenly, as have series of a bounded size. */
static void pipeline_children_thin(struct pipeline_pair *pair)
{
	const uint32_t most = CELLS_MAX / pair->intervals, all = pair->n;

	if (all <= most)
		return;
	pair->n = most;
	for (uint32_t u = 0; u < most; u++)
		pair->children[u] = pair->children[(uint64_t)u * all / most];
}

int pipeline_pair_make(struct pipeline_work *work, uint32_t resource, uint32_t application,
		       struct pipeline_pair *out)
{
	int err;

	*out = (struct pipeline_pair){ .resource = resource, .application = application,
				       .intervals = work->f->grid.intervals };
	err = pipeline_children_list(work, out);
	if (err || !out->n)
		return err;
	pipeline_children_thin(out);
	err = pipeline_series_make(work, &work->problem, out, &out->problem);
	err = err ? err : pipeline_series_make(work, &work->waiting, out, &out->waiting);
	return err ? err : pipeline_own_make(work, out);
}

void pipeline_pair_release(struct pipeline_pair *pair)
{
	free(pair->children);
	free(pair->problem.z);
	free(pair->waiting.z);
	free(pair->own);
	*pair = (struct pipeline_pair){ 0 };
}

/* ---- other problems ---- */

struct pipeline_fit {
	double product, square;
};

/* Adds to the fit of a host's waiting by the other problem; or, without one, removes it. */
static void pipeline_fit_child(double *waiting, const double *problem, uint32_t n, uint32_t lag,
			       struct pipeline_fit *fit, double coefficient)
{
	for (uint32_t k = 0; k < n; k++) {
		double *at = &waiting[(k + lag) % n];

		if (fit) {
			fit->product += problem[k] * *at;
			fit->square += problem[k] * problem[k];
		} else {
			*at -= coefficient * problem[k];
		}
	}
}

static void pipeline_fit_pair(struct pipeline_pair *pair, const struct pipeline_pair *by,
			      uint32_t lag, struct pipeline_fit *fit, double coefficient)
{
	const size_t n = pair->intervals;
	uint32_t u = 0, v = 0;

	while (u < pair->n && v < by->n) {
		const uint32_t x = pair->children[u].host, y = by->children[v].host;

		if (x == y)
			pipeline_fit_child(pair->waiting.z + u * n, by->problem.z + v * n,
					   pair->intervals, lag, fit, coefficient);
		u += x <= y;
		v += y <= x;
	}
}

void pipeline_pair_explain(struct pipeline_pair *pair, const struct pipeline_pair *by, uint32_t lag)
{
	struct pipeline_fit fit = { 0 };

	pipeline_fit_pair(pair, by, lag, &fit, 0);
	if (fit.square > 0)
		pipeline_fit_pair(pair, by, lag, NULL, fit.product / fit.square);
}
