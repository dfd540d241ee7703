/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/doubt.h"

#include <stdlib.h>

#include "fleet/state.h"

#define DOUBT_HOSTS_MAX 32u   /* more hosts are not few */

/* Connections behind a finding, and how many of them each host has. */
struct doubt {
	const struct fleet *f;
	const uint32_t **shares;      /* resources of each connection that is not covered */
	uint32_t *lengths;            /* their numbers */
	uint32_t n;
	uint32_t *counts;             /* by resource: connections of a host that are not covered */
};

/* Returns whether a connection between two hosts crosses no rack: these are in none. */
static bool doubt_lacks_rack(const struct fleet *f, const struct fleet_series *s)
{
	uint32_t n[FLEET_KINDS] = { 0 };

	for (uint32_t i = 0; i < s->n; i++)
		n[f->resources.items[f->shares.items[s->shares + i]].kind]++;
	return n[FLEET_HOST] > 1 && !n[FLEET_RACK];
}

static bool doubt_has_all_racks(const struct fleet *f)
{
	vec_for_each(&f->all, s)
		if (doubt_lacks_rack(f, s))
			return false;
	return true;
}

enum doubt_paths doubt_paths(const struct fleet *f)
{
	uint32_t n[FLEET_KINDS] = { 0 };

	vec_for_each(&f->resources, resource)
		n[resource->kind]++;
	if (n[FLEET_LINK] || n[FLEET_SWITCH] || n[FLEET_HOST] < 2)
		return DOUBT_PATHS_KNOWN;
	if (n[FLEET_RACK] == 1)
		return doubt_has_all_racks(f) ? DOUBT_PATHS_KNOWN : DOUBT_NO_RACKS;
	return n[FLEET_RACK] ? DOUBT_NO_LINKS : DOUBT_NO_RACKS;
}

static bool doubt_is_host(const struct fleet *f, uint32_t resource)
{
	return f->resources.items[resource].kind == FLEET_HOST;
}

/* Returns the number of hosts that the resource's connections have. */
static uint32_t doubt_count_hosts(struct doubt *d, uint32_t resource)
{
	const struct fleet *f = d->f;
	uint32_t n = 0;

	vec_for_each(&f->all, s) {
		const uint32_t *shares = &f->shares.items[s->shares];

		if (!fleet_series_shares(f, s, resource))
			continue;
		for (uint32_t i = 0; i < s->n; i++)
			if (doubt_is_host(f, shares[i]))
				n += !d->counts[shares[i]]++;
	}
	return n;
}

static void doubt_add(struct doubt *d, const struct fleet_series *s)
{
	d->shares[d->n] = &d->f->shares.items[s->shares];
	d->lengths[d->n++] = s->n;
}

/* Gathers the members of the finding; without members, all connections with the problem. */
static void doubt_gather(struct doubt *d, const struct fleet_result *result,
			 const struct fleet_finding *finding)
{
	const struct fleet *f = d->f;

	for (uint32_t i = 0; i < finding->n; i++)
		doubt_add(d, &f->all.items[result->members.items[finding->first + i].conn]);
	if (finding->n)
		return;
	vec_for_each(&f->all, s)
		if (s->limited_ns[finding->class] && fleet_series_shares(f, s, finding->resource))
			doubt_add(d, s);
}

/* Returns the host with the most connections that are left. */
static uint32_t doubt_find_host(struct doubt *d)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < d->f->resources.len; i++)
		d->counts[i] = 0;
	for (uint32_t i = 0; i < d->n; i++)
		for (uint32_t k = 0; k < d->lengths[i]; k++)
			if (doubt_is_host(d->f, d->shares[i][k]))
				d->counts[d->shares[i][k]]++;
	for (uint32_t i = 0; i < d->f->resources.len; i++)
		if (d->counts[i] > d->counts[best])
			best = i;
	return best;
}

static bool doubt_has(const uint32_t *shares, uint32_t n, uint32_t resource)
{
	bool has = false;

	for (uint32_t i = 0; i < n; i++)
		has |= shares[i] == resource;
	return has;
}

/* Removes the host's connections from those that are left. */
static void doubt_cover(struct doubt *d, uint32_t host)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		if (doubt_has(d->shares[i], d->lengths[i], host))
			continue;
		d->shares[n] = d->shares[i];
		d->lengths[n++] = d->lengths[i];
	}
	d->n = n;
}

/* Returns whether so many hosts have nine tenths of the connections. */
static bool doubt_few_cover(struct doubt *d, uint32_t hosts)
{
	const uint32_t rest = d->n / 10;

	for (uint32_t i = 0; i < hosts && d->n > rest; i++) {
		const uint32_t host = doubt_find_host(d);

		/* the further ones have no more each */
		if ((uint64_t)d->counts[host] * (hosts - i) < d->n - rest)
			return false;
		doubt_cover(d, host);
	}
	return d->n <= rest;
}

static bool doubt_share_few_hosts(struct doubt *d, const struct fleet_result *result,
				  const struct fleet_finding *finding)
{
	const uint32_t half = doubt_count_hosts(d, finding->resource) / 2;

	doubt_gather(d, result, finding);
	return d->n && doubt_few_cover(d, half < DOUBT_HOSTS_MAX ? half : DOUBT_HOSTS_MAX);
}

static bool doubt_may_be_path(const struct fleet *f, const struct fleet_finding *finding)
{
	const enum fleet_kind kind = f->resources.items[finding->resource].kind;

	return (finding->class == FLEET_FAST_RETRANSMIT || finding->class == FLEET_TIMEOUT) &&
	       (kind == FLEET_APP || kind == FLEET_SERVICE || kind == FLEET_CONTAINER) &&
	       doubt_paths(f) != DOUBT_PATHS_KNOWN;
}

bool doubt_is_path(const struct fleet *f, const struct fleet_result *result,
		   const struct fleet_finding *finding)
{
	struct doubt d = { .f = f };
	bool is;

	if (!doubt_may_be_path(f, finding))
		return false;
	d.shares = calloc(f->all.len + 1, sizeof(*d.shares));
	d.lengths = calloc(f->all.len + 1, sizeof(*d.lengths));
	d.counts = calloc(f->resources.len + 1, sizeof(*d.counts));
	is = !d.shares || !d.lengths || !d.counts || doubt_share_few_hosts(&d, result, finding);
	free(d.shares);
	free(d.lengths);
	free(d.counts);
	return is;
}
