/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

static int fleet_group_order(const void *a, const void *b, void *ctx)
{
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct fleet *f = ctx;
	const struct fleet_series *x = &f->all.items[i], *y = &f->all.items[j];
	int order = sort_order(x->host, y->host) ?: sort_order(x->n, y->n);

	for (uint32_t k = 0; k < x->n && !order; k++)
		order = sort_order(f->shares.items[x->shares + k], f->shares.items[y->shares + k]);
	return order ?: sort_order(i, j);
}

static bool fleet_group_is_same(const struct fleet *f, uint32_t i, uint32_t j)
{
	const struct fleet_series *x = &f->all.items[i], *y = &f->all.items[j];

	return x->n == y->n && !memcmp(f->shares.items + x->shares, f->shares.items + y->shares,
				       x->n * sizeof(*f->shares.items));
}

static int fleet_groups_divide(struct fleet_groups *groups)
{
	const struct fleet *f = groups->f;
	uint32_t host = FLEET_NONE;
	int err = 0;

	for (uint32_t i = 0; i < f->all.len && !err; i++) {
		groups->hosts += f->all.items[groups->conns[i]].host != host;
		host = f->all.items[groups->conns[i]].host;
		if (!i || !fleet_group_is_same(f, groups->conns[i - 1], groups->conns[i]))
			err = vec_push(&groups->all, (struct fleet_group){
				.host = host, .number = groups->hosts - 1, .first = i });
		if (!err)
			vec_last(&groups->all)->n++;
	}
	return err;
}

/* Calls with the number of each group and each of its resources. */
#define for_each_share(groups, group, share)                                                       \
	for (uint32_t group = 0; group < (groups)->all.len; group++)                               \
		for (const struct fleet_series *series_ = fleet_group_series(groups, group),       \
		     *once_ = series_; once_; once_ = NULL)                                        \
			for (const uint32_t *share = (groups)->f->shares.items + series_->shares,  \
			     *end_ = share + series_->n; share < end_; share++)

static const struct fleet_series *fleet_group_series(const struct fleet_groups *groups,
						     uint32_t group)
{
	return &groups->f->all.items[groups->conns[groups->all.items[group].first]];
}

/* Lists the groups of each resource, by counting. */
static int fleet_groups_list(struct fleet_groups *groups)
{
	const size_t resources = groups->f->resources.len;
	uint32_t *first = calloc(resources + 2, sizeof(*first));

	groups->first = first;
	if (!first)
		return -ENOMEM;
	for_each_share(groups, group, share)
		first[*share + 2]++;
	for (size_t r = 2; r <= resources + 1; r++)
		first[r] += first[r - 1];
	groups->of = malloc(((size_t)first[resources + 1] + 1) * sizeof(*groups->of));
	if (!groups->of)
		return -ENOMEM;
	/* first[r + 1] moves from the begin of r's list to its end. */
	for_each_share(groups, group, share)
		groups->of[first[*share + 1]++] = group;
	return 0;
}

int fleet_groups_make(const struct fleet *f, struct fleet_groups *out)
{
	int err;

	*out = (struct fleet_groups){ .f = f };
	vec_init(&out->all, FLEET_CONNECTIONS_MAX);
	out->conns = malloc((f->all.len + 1) * sizeof(*out->conns));
	if (!out->conns)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->all.len; i++)
		out->conns[i] = i;
	qsort_r(out->conns, f->all.len, sizeof(*out->conns), fleet_group_order, (void *)f);
	err = fleet_groups_divide(out);
	return err ? err : fleet_groups_list(out);
}

void fleet_groups_release(struct fleet_groups *groups)
{
	vec_release(&groups->all);
	free(groups->conns);
	free(groups->of);
	free(groups->first);
}

bool fleet_group_shares(const struct fleet_groups *groups, uint32_t group, uint32_t resource)
{
	const struct fleet_series *s = fleet_group_series(groups, group);
	const uint32_t *shares = groups->f->shares.items + s->shares;
	const uint64_t at = sort_first(i, 0, s->n, shares[i] >= resource);

	return at < s->n && shares[at] == resource;
}

const uint32_t *fleet_groups_of(const struct fleet_groups *groups, uint32_t resource, size_t *n)
{
	*n = groups->first[resource + 1] - groups->first[resource];
	return groups->of + groups->first[resource];
}
