/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a topology: its nodes, and checks across the tables. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/sort.h"
#include "fleet/topology_state.h"

#define FIRST_SLOTS 256u
#define FILES_MAX 64u
#define NODES_MAX (3 * TOPOLOGY_ROWS_MAX)

struct topology *topology_new(void)
{
	struct topology *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	vec_init(&t->nodes, NODES_MAX);
	vec_init(&t->above, TOPOLOGY_ROWS_MAX);
	vec_init(&t->links, TOPOLOGY_ROWS_MAX);
	vec_init(&t->files, FILES_MAX);
	addresses_init(&t->addresses);
	return t;
}

void topology_free(struct topology *t)
{
	if (!t)
		return;
	vec_for_each(&t->nodes, node) {
		free(node->name);
		free(node->instance);
	}
	vec_for_each(&t->links, link)
		free(link->name);
	vec_for_each(&t->files, file)
		free(*file);
	vec_release(&t->nodes);
	vec_release(&t->above);
	vec_release(&t->links);
	vec_release(&t->files);
	addresses_release(&t->addresses);
	free(t->by_name);
	free(t);
}

/* ---- nodes ---- */

static uint32_t *topology_slot(const struct topology *t, const char *name)
{
	return &t->by_name[hash_bytes(name, strlen(name)) & (t->n_slots - 1)];
}

struct topology_node *topology_find(const struct topology *t, const char *name)
{
	uint32_t at = t->n_slots ? *topology_slot(t, name) : 0;

	while (at && strcmp(t->nodes.items[at - 1].name, name) != 0)
		at = t->nodes.items[at - 1].next;
	return at ? &t->nodes.items[at - 1] : NULL;
}

static void topology_chain(struct topology *t, uint32_t i)
{
	uint32_t *head = topology_slot(t, t->nodes.items[i].name);

	t->nodes.items[i].next = *head;
	*head = i + 1;
}

static int topology_grow(struct topology *t)
{
	const size_t n = t->n_slots ? 2 * t->n_slots : FIRST_SLOTS;
	uint32_t *slots;

	if (t->nodes.len < t->n_slots)
		return 0;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(t->by_name);
	t->by_name = slots;
	t->n_slots = n;
	for (uint32_t i = 0; i < t->nodes.len; i++)
		topology_chain(t, i);
	return 0;
}

int topology_node_get(struct topology *t, const char *name, uint32_t *index)
{
	const struct topology_node *found = topology_find(t, name);
	char *copy;
	int err;

	if (found) {
		*index = (uint32_t)(found - t->nodes.items);
		return 0;
	}
	err = topology_grow(t);
	copy = err ? NULL : strdup(name);
	if (!copy)
		return -ENOMEM;
	err = vec_push(&t->nodes, (struct topology_node){ .name = copy });
	if (err) {
		free(copy);
		return err;
	}
	*index = (uint32_t)t->nodes.len - 1;
	topology_chain(t, *index);
	return 0;
}

/* ---- checks ---- */

static int topology_fail(const struct topology *t, const struct topology_place *place,
			 struct strbuf *why)
{
	strbuf_printf(why, "%s:%" PRIu32 ":%" PRIu32 ": ", t->files.items[place->file], place->line,
		      place->column);
	return -EINVAL;
}

static const char *topology_role_name(uint32_t roles)
{
	return roles & ROLE_HOST ? "a host" : roles & ROLE_ABOVE ? "a switch" : "a rack";
}

/* Refuses a name of two things, and one that only says that it has a switch or a link. */
static int topology_check_node(const struct topology *t, const struct topology_node *node,
			       struct strbuf *why)
{
	const uint32_t not_host = node->roles & (ROLE_RACK | ROLE_ABOVE | ROLE_BELOW);
	const bool rack_and_switch = node->roles & ROLE_RACK && node->roles & ROLE_ABOVE;

	if (rack_and_switch || (node->roles & ROLE_HOST && not_host)) {
		topology_fail(t, &node->place, why);
		strbuf_printf(why, "'%s' is %s and also %s (give them different names)", node->name,
			      topology_role_name(node->roles), not_host & ROLE_RACK ? "a rack" :
			      topology_role_name(not_host));
		return -EINVAL;
	}
	if (node->roles & (ROLE_HOST | ROLE_RACK | ROLE_ABOVE))
		return 0;
	topology_fail(t, &node->place, why);
	strbuf_printf(why, "'%s' is no host, rack or switch of any --topology file (correct the "
		      "name, or add the row of a host in it)", node->name);
	return -EINVAL;
}

static int topology_order_edges(const void *x, const void *y)
{
	const struct topology_edge *a = x, *b = y;

	return sort_order(a->below, b->below) ?: sort_order(a->above, b->above) ?:
	       sort_order(a->place.file, b->place.file) ?: sort_order(a->place.line, b->place.line);
}

static int topology_order_links(const void *x, const void *y)
{
	const struct topology_link *a = x, *b = y;

	return sort_order(a->a, b->a) ?: sort_order(a->b, b->b) ?: strcmp(a->name, b->name) ?:
	       sort_order(a->place.file, b->place.file) ?: sort_order(a->place.line, b->place.line);
}

static int topology_refuse_double(const struct topology *t, const struct topology_place *first,
				  const struct topology_place *second, struct strbuf *why)
{
	topology_fail(t, second, why);
	strbuf_printf(why, "the same row as %s:%" PRIu32 " (keep one)", t->files.items[first->file],
		      first->line);
	return -EINVAL;
}

/* Sorts the edges, refuses doubles, and tells each node where its edges are. */
static int topology_finish_edges(struct topology *t, struct strbuf *why)
{
	struct topology_edges *e = &t->above;

	if (e->len)
		qsort(e->items, e->len, sizeof(*e->items), topology_order_edges);
	for (uint32_t i = 0; i < e->len; i++) {
		struct topology_node *node = &t->nodes.items[e->items[i].below];

		if (i && e->items[i].below == e->items[i - 1].below &&
		    e->items[i].above == e->items[i - 1].above)
			return topology_refuse_double(t, &e->items[i - 1].place,
						      &e->items[i].place, why);
		node->first_above = node->n_above++ ? node->first_above : i;
	}
	return 0;
}

static int topology_finish_links(struct topology *t, struct strbuf *why)
{
	struct topology_links *l = &t->links;

	if (l->len)
		qsort(l->items, l->len, sizeof(*l->items), topology_order_links);
	for (uint32_t i = 1; i < l->len; i++)
		if (l->items[i].a == l->items[i - 1].a && l->items[i].b == l->items[i - 1].b &&
		    !strcmp(l->items[i].name, l->items[i - 1].name))
			return topology_refuse_double(t, &l->items[i - 1].place, &l->items[i].place,
						      why);
	return 0;
}

/*
 * Removes nodes with nothing above them that remains, in order of their removal. Returns their
 * number; left[i] is then the number of edges of node i that remain.
 */
static size_t topology_trim(const struct topology *t, uint32_t *left, uint32_t *order,
			    const uint32_t *first_below, const uint32_t *below)
{
	size_t n = 0;

	for (uint32_t i = 0; i < t->nodes.len; i++) {
		left[i] = t->nodes.items[i].n_above;
		if (!left[i])
			order[n++] = i;
	}
	for (size_t done = 0; done < n; done++)
		for (uint32_t k = first_below[order[done]]; k < first_below[order[done] + 1]; k++)
			if (!--left[below[k]])
				order[n++] = below[k];
	return n;
}

/* Returns an edge of a cycle: from a node that remains, each remaining edge leads to one. */
static const struct topology_edge *topology_in_cycle(const struct topology *t, const uint32_t *left)
{
	const struct topology_edge *edge = NULL;
	uint32_t at = 0;

	while (!left[at])
		at++;
	for (size_t steps = 0; steps <= t->nodes.len; steps++) {
		edge = t->above.items + t->nodes.items[at].first_above;
		while (!left[edge->above])
			edge++;
		at = edge->above;
	}
	return edge;
}

/* Fills in, by node, the list of nodes below: those of node i are first[i] to first[i + 1]. */
static void topology_list_below(const struct topology *t, uint32_t *first, uint32_t *below)
{
	vec_for_each(&t->above, edge)
		first[edge->above + 1]++;
	for (size_t i = 0; i < t->nodes.len; i++)
		first[i + 1] += first[i];
	vec_for_each(&t->above, edge)
		below[first[edge->above]++] = edge->below;
	for (size_t i = t->nodes.len; i; i--)
		first[i] = first[i - 1];
	first[0] = 0;
}

static int topology_check_cycles(const struct topology *t, struct strbuf *why)
{
	const size_t nodes = t->nodes.len + 2;
	uint32_t *room = calloc(3 * nodes + t->above.len, sizeof(*room));
	uint32_t *left = room, *order = room + nodes, *first = room + 2 * nodes;
	int err = 0;

	if (!room)
		return -ENOMEM;
	topology_list_below(t, first, room + 3 * nodes);
	if (topology_trim(t, left, order, first, room + 3 * nodes) < t->nodes.len) {
		const struct topology_edge *edge = topology_in_cycle(t, left);

		err = topology_fail(t, &edge->place, why);
		strbuf_printf(why, "'%s' is above itself, by way of its switch '%s' (remove a row "
			      "of the cycle)", t->nodes.items[edge->below].name,
			      t->nodes.items[edge->above].name);
	}
	free(room);
	return err;
}

int topology_finish(struct topology *t, struct strbuf *why)
{
	int err = 0;

	vec_for_each(&t->nodes, node)
		if (!err)
			err = topology_check_node(t, node, why);
	if (!err)
		err = topology_finish_edges(t, why);
	if (!err)
		err = topology_finish_links(t, why);
	return err ? err : topology_check_cycles(t, why);
}
