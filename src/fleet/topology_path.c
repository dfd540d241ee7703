/* SPDX-License-Identifier: Apache-2.0 */
/* Answers questions about a topology: what is reported of a host, and what a connection crosses. */
#include <string.h>

#include "base/sort.h"
#include "fleet/topology_state.h"

/* Nodes of a path: both hosts, both racks and the switches above. */
#define PATH_MAX_NODES (2 * TOPOLOGY_ABOVE_MAX + 4)

/* ---- hosts ---- */

static struct topology_node *topology_find_host(const struct topology *t, const char *name)
{
	struct topology_node *node = name ? topology_find(t, name) : NULL;

	return node && node->roles & ROLE_HOST ? node : NULL;
}

struct topology_host topology_host(const struct topology *t, const char *name)
{
	const struct topology_node *node = topology_find_host(t, name);

	if (!node)
		return (struct topology_host){ 0 };
	return (struct topology_host){
		.known = true, .instance = node->instance,
		.rack = node->rack ? t->nodes.items[node->rack - 1].name : NULL,
	};
}

bool topology_has_racks(const struct topology *t)
{
	vec_for_each(&t->nodes, node)
		if (node->roles & ROLE_RACK)
			return true;
	return false;
}

const char *topology_host_of(const struct topology *t, const struct fleet_address *address)
{
	const uint32_t host = addresses_find(&t->addresses, address);

	return host == ADDRESSES_NONE ? NULL : t->nodes.items[host].name;
}

/* ---- paths ---- */

struct topology_set {
	uint32_t nodes[PATH_MAX_NODES];
	uint32_t n;
	bool beyond;
};

static bool topology_has(const struct topology_set *s, uint32_t node)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->nodes[i] == node)
			return true;
	return false;
}

static void topology_put(struct topology_set *s, uint32_t node, uint32_t max)
{
	if (topology_has(s, node))
		return;
	if (s->n == max)
		s->beyond = true;
	else
		s->nodes[s->n++] = node;
}

/* Adds all switches above the nodes that the set has from `from` on. */
static void topology_climb(const struct topology *t, struct topology_set *s, uint32_t from,
			   uint32_t max)
{
	for (uint32_t i = from; i < s->n; i++) {
		const struct topology_node *node = &t->nodes.items[s->nodes[i]];

		for (uint32_t k = 0; k < node->n_above; k++)
			topology_put(s, t->above.items[node->first_above + k].above, max);
	}
}

/* Returns the switches above a rack, which is node + 1; none of 0. */
static struct topology_set topology_above(const struct topology *t, uint32_t rack)
{
	struct topology_set s = { .n = 0 };

	if (!rack)
		return s;
	s.nodes[s.n++] = rack - 1;
	topology_climb(t, &s, 0, TOPOLOGY_ABOVE_MAX + 1);
	memmove(s.nodes, s.nodes + 1, --s.n * sizeof(s.nodes[0]));
	return s;
}

/* Returns whether another common node is below this one: then the path turns there. */
static bool topology_is_passed(const struct topology *t, const struct topology_set *a,
			       const struct topology_set *b, uint32_t node)
{
	for (uint32_t i = 0; i < a->n; i++) {
		struct topology_set above = { .nodes = { a->nodes[i] }, .n = 1 };

		if (a->nodes[i] == node || !topology_has(b, a->nodes[i]))
			continue;
		topology_climb(t, &above, 0, TOPOLOGY_ABOVE_MAX + 1);
		if (topology_has(&above, node))
			return true;
	}
	return false;
}

/* Adds the switches of `a` up to where the path turns to `b`. */
static void topology_put_switches(const struct topology *t, const struct topology_set *a,
				  const struct topology_set *b, struct topology_set *path)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (!topology_has(b, a->nodes[i]) || !topology_is_passed(t, a, b, a->nodes[i]))
			topology_put(path, a->nodes[i], PATH_MAX_NODES);
	path->beyond |= a->beyond;
}

static void topology_put_host(struct topology_set *path, const struct topology *t,
			      const struct topology_node *host)
{
	if (!host)
		return;
	topology_put(path, (uint32_t)(host - t->nodes.items), PATH_MAX_NODES);
	if (host->rack)
		topology_put(path, host->rack - 1, PATH_MAX_NODES);
}

static void topology_share(struct topology_path *out, enum fleet_kind kind, const char *name)
{
	for (uint32_t i = 0; i < out->n; i++)
		if (out->shares[i].kind == kind && !strcmp(out->shares[i].name, name))
			return;
	if (out->n == FLEET_SHARES_MAX)
		out->beyond = true;
	else
		out->shares[out->n++] = (struct topology_share){ kind, name };
}

static void topology_share_links(const struct topology *t, uint32_t x, uint32_t y,
				 struct topology_path *out)
{
	const struct topology_links *l = &t->links;
	const uint32_t a = x < y ? x : y, b = x < y ? y : x;

	for (size_t i = sort_first(k, 0, l->len, l->items[k].a > a ||
				   (l->items[k].a == a && l->items[k].b >= b));
	     i < l->len && l->items[i].a == a && l->items[i].b == b; i++)
		topology_share(out, FLEET_LINK, l->items[i].name);
}

static void topology_share_path(const struct topology *t, const struct topology_set *path,
				struct topology_path *out)
{
	for (uint32_t i = 0; i < path->n; i++) {
		const struct topology_node *node = &t->nodes.items[path->nodes[i]];

		if (node->roles & (ROLE_RACK | ROLE_ABOVE))
			topology_share(out, node->roles & ROLE_RACK ? FLEET_RACK : FLEET_SWITCH,
				       node->name);
	}
	for (uint32_t i = 0; i < path->n; i++)
		for (uint32_t k = 0; k < i; k++)
			topology_share_links(t, path->nodes[i], path->nodes[k], out);
	out->beyond |= path->beyond;
}

void topology_path(const struct topology *t, const char *from, const char *to,
		   struct topology_path *out)
{
	const struct topology_node *a = topology_find_host(t, from), *b = topology_find_host(t, to);
	struct topology_set above_a, above_b, path = { .n = 0 };

	*out = (struct topology_path){ .n = 0 };
	if (to && !strcmp(from, to))
		return;
	topology_put_host(&path, t, a);
	topology_put_host(&path, t, b);
	above_a = topology_above(t, a ? a->rack : 0);
	above_b = topology_above(t, b ? b->rack : 0);
	topology_put_switches(t, &above_a, &above_b, &path);
	topology_put_switches(t, &above_b, &above_a, &path);
	topology_share_path(t, &path, out);
}
