/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/strata.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

/*
 * Finest first. A rack is compared with its applications elsewhere; applications that run nowhere
 * else say nothing about it. An application is compared with the others on its hosts or, where it
 * is alone, with others nearby. A link or service is compared with the same hosts' other
 * connections.
 */
static const enum strata_level strata_levels[FLEET_KINDS][STRATA_LEVELS] = {
	[FLEET_HOST] = { STRATA_APP },
	[FLEET_CONTAINER] = { STRATA_APP },
	[FLEET_APP] = { STRATA_HOST, STRATA_RACK, STRATA_FLEET },
	[FLEET_SERVICE] = { STRATA_HOST_APP, STRATA_APP },
	[FLEET_RACK] = { STRATA_APP },
	[FLEET_SWITCH] = { STRATA_APP },
	[FLEET_LINK] = { STRATA_HOST_APP, STRATA_APP },
	[FLEET_KERNEL] = { STRATA_APP },
	[FLEET_INSTANCE] = { STRATA_APP },
};

/* Returns the first resource of this kind that the connection shares; FLEET_NONE: none. */
static uint32_t strata_resource(const struct fleet *f, uint32_t conn, enum fleet_kind kind)
{
	const struct fleet_series *s = &f->all.items[conn];

	for (uint32_t i = 0; i < s->n; i++) {
		const uint32_t resource = f->shares.items[s->shares + i];

		if (f->resources.items[resource].kind == kind)
			return resource;
	}
	return FLEET_NONE;
}

/* ---- strata of connections ---- */

/* Connections without a resource of the kind share stratum 0. */
static void strata_key_resources(struct strata *s, enum strata_level level, enum fleet_kind kind)
{
	s->sizes[level] = (uint32_t)s->f->resources.len + 1;
	for (uint32_t conn = 0; conn < s->f->all.len; conn++)
		s->keys[level][conn] = strata_resource(s->f, conn, kind) + 1;
}

/* A connection is its recorded host's, not also that of its remote one. */
static void strata_key_hosts(struct strata *s)
{
	s->sizes[STRATA_HOST] = (uint32_t)s->f->resources.len + 1;
	for (uint32_t conn = 0; conn < s->f->all.len; conn++)
		s->keys[STRATA_HOST][conn] = s->f->all.items[conn].host + 1;
}

struct strata_pair {
	uint32_t host, app, conn;
};

static int strata_pair_order(const void *a, const void *b)
{
	const struct strata_pair *x = a, *y = b;

	return sort_order(x->host, y->host) ?: sort_order(x->app, y->app);
}

/* Numbers the pairs of host and application. */
static int strata_key_pairs(struct strata *s)
{
	const size_t n = s->f->all.len;
	struct strata_pair *pairs = calloc(n + 1, sizeof(*pairs));
	uint32_t key = 0;

	if (!pairs)
		return -ENOMEM;
	for (uint32_t conn = 0; conn < n; conn++)
		pairs[conn] = (struct strata_pair){
			s->keys[STRATA_HOST][conn], s->keys[STRATA_APP][conn], conn };
	qsort(pairs, n, sizeof(*pairs), strata_pair_order);
	for (size_t i = 0; i < n; i++) {
		key += i && strata_pair_order(&pairs[i - 1], &pairs[i]);
		s->keys[STRATA_HOST_APP][pairs[i].conn] = key;
	}
	s->sizes[STRATA_HOST_APP] = key + 1;
	free(pairs);
	return 0;
}

static int strata_keys(struct strata *s)
{
	for (int level = STRATA_FLEET; level < STRATA_LEVELS; level++) {
		s->keys[level] = calloc(s->f->all.len + 1, sizeof(*s->keys[level]));
		if (!s->keys[level])
			return -ENOMEM;
	}
	s->sizes[STRATA_FLEET] = 1;
	strata_key_resources(s, STRATA_APP, FLEET_APP);
	strata_key_resources(s, STRATA_RACK, FLEET_RACK);
	strata_key_hosts(s);
	return strata_key_pairs(s);
}

int strata_init(struct strata *s, const struct fleet *f)
{
	int err;

	*s = (struct strata){ .f = f };
	err = strata_keys(s);
	for (int level = STRATA_FLEET; level < STRATA_LEVELS && !err; level++) {
		s->all[level] = calloc(s->sizes[level], sizeof(*s->all[level]));
		s->own[level] = calloc(s->sizes[level], sizeof(*s->own[level]));
		if (!s->all[level] || !s->own[level])
			err = -ENOMEM;
	}
	return err;
}

void strata_release(struct strata *s)
{
	for (int level = STRATA_FLEET; level < STRATA_LEVELS; level++) {
		free(s->keys[level]);
		free(s->all[level]);
		free(s->own[level]);
	}
}

/* ---- sums ---- */

static void strata_add(struct strata *s, struct strata_sum *const *sums, enum fleet_class class,
		       uint32_t conn)
{
	const struct fleet_series *series = &s->f->all.items[conn];

	for (int level = STRATA_FLEET; level < STRATA_LEVELS; level++) {
		struct strata_sum *sum = &sums[level][s->keys[level][conn]];

		sum->known_ns += (double)series->known_ns[class];
		sum->limited_ns += (double)series->limited_ns[class];
		sum->lost_ns += (double)series->lost_ns[class];
		sum->connections++;
	}
}

void strata_count(struct strata *s, enum fleet_class class, const bool *left)
{
	for (int level = STRATA_FLEET; level < STRATA_LEVELS; level++)
		memset(s->all[level], 0, s->sizes[level] * sizeof(*s->all[level]));
	for (uint32_t conn = 0; conn < s->f->all.len; conn++)
		if (left[conn])
			strata_add(s, s->all, class, conn);
}

void strata_own(struct strata *s, enum fleet_class class, uint32_t conn)
{
	strata_add(s, s->own, class, conn);
}

void strata_disown(struct strata *s, uint32_t conn)
{
	for (int level = STRATA_FLEET; level < STRATA_LEVELS; level++)
		s->own[level][s->keys[level][conn]] = (struct strata_sum){ 0 };
}

/*
 * A part f of the stratum's time is the resource's own. The difference of both rates has the
 * variance of the own rate over 1 - f; so much of the own rate is mixed in that the factor is 1.
 */
static double strata_aligned(const struct strata_sum *all, const struct strata_sum *own,
			     double limited)
{
	const double mixed = 1 - sqrt(1 - own->known_ns / all->known_ns);

	return limited + mixed * (own->limited_ns / own->known_ns - limited);
}

bool strata_rates(const struct strata *s, enum fleet_kind kind, uint32_t conn,
		  struct strata_rates *out)
{
	for (const enum strata_level *level = strata_levels[kind]; *level != STRATA_END; level++) {
		const uint32_t key = s->keys[*level][conn];
		const struct strata_sum *all = &s->all[*level][key], *own = &s->own[*level][key];
		const double known_ns = all->known_ns - own->known_ns;

		if (all->connections < own->connections + STRATA_CONNECTIONS_MIN)
			continue;
		/* A difference of sums that are equal may be rounded to just below 0. */
		out->limited = fmax(all->limited_ns - own->limited_ns, 0) / known_ns;
		out->aligned = strata_aligned(all, own, out->limited);
		out->lost = fmax(all->lost_ns - own->lost_ns, 0) / known_ns;
		return true;
	}
	return false;
}
