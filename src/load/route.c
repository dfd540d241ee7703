/* SPDX-License-Identifier: Apache-2.0 */
#include "load/route.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "load/conn_queue.h"
#include "load/conn_resend.h"
#include "load/target_urls.h"

/* ---- memory ---- */

/* Returns how many requests may wait at a time. */
static uint64_t route_room(const struct load_thread *t)
{
	const struct load_config *c = t->config;

	return c->loop == LOOP_CLOSED ? (uint64_t)t->n_conns * c->outstanding :
					t->schedule->n / c->threads + 1;
}

int route_new(struct load_thread *t, struct cluster *cluster, struct load_target *first)
{
	struct route *r = calloc(1, sizeof(*r));
	const uint64_t room = route_room(t);

	t->route = r;
	if (!r)
		return -ENOMEM;
	r->cluster = cluster;
	r->first = first;
	/* The request pool of a thread with several nodes holds twice what may be outstanding. */
	r->resends_max = t->n_pools > 1 ? (uint64_t)t->n_conns * t->config->outstanding : 1;
	r->spare = LOAD_NONE;
	r->lists = calloc(t->n_pools, sizeof(*r->lists));
	r->waits = room < LOAD_NONE ? calloc(room, sizeof(*r->waits)) : NULL;
	r->room = (uint32_t)room;
	for (uint32_t i = 0; r->lists && i < t->n_pools; i++)
		r->lists[i].first = r->lists[i].last = LOAD_NONE;
	return r->lists && r->waits ? 0 : -ENOMEM;
}

void route_free(struct route *r)
{
	if (!r)
		return;
	free(r->lists);
	free(r->waits);
	free(r);
}

/* ---- nodes ---- */

/* Returns the connections to the node of request `number` or, in PHASE_PRELOAD, of this key. */
static struct load_pool *route_pool(struct load_thread *t, uint64_t number)
{
	const struct load_target *target = t->conns->target;
	struct rng rng;
	size_t size;

	/* The buffer of output is free: unwritten requests are encoded again before each write. */
	if (t->phase == PHASE_PRELOAD) {
		size = workload_key_text(&target->workload, number, t->out);
	} else {
		thread_request_rng(t, number, &rng);
		size = protocol_key(target_urls_draw(target, &rng), &rng, number, t->out);
		if (!size)
			return &t->pools[rng_below(&rng, t->n_pools)];
	}
	return &t->pools[cluster_node_of(t->route->cluster, cluster_slot(t->out, size))];
}

static struct load_conn *route_conn(struct load_thread *t, const struct load_pool *pool)
{
	return &t->conns[pool->free[rng_below(&t->rng, pool->n_free)]];
}

/* ---- requests that wait ---- */

static void route_push(struct load_thread *t, const struct load_pool *pool, uint64_t number,
		       uint64_t at_ns)
{
	struct route *r = t->route;
	struct route_list *list = &r->lists[pool - t->pools];
	uint32_t at = r->spare;

	if (at == LOAD_NONE) {
		BUG_ON(r->used == r->room);
		at = r->used++;
	} else {
		r->spare = r->waits[at].next;
	}
	r->waits[at] = (struct route_wait){ .number = number, .at_ns = at_ns, .next = LOAD_NONE };
	if (list->first == LOAD_NONE)
		list->first = at;
	else
		r->waits[list->last].next = at;
	list->last = at;
	r->n_waiting++;
}

static struct route_wait route_pop(struct route *r, struct route_list *list)
{
	const uint32_t at = list->first;
	const struct route_wait wait = r->waits[at];

	list->first = wait.next;
	r->waits[at].next = r->spare;
	r->spare = at;
	r->n_waiting--;
	return wait;
}

static bool route_may_assign(const struct load_thread *t)
{
	return t->n_resends < t->route->resends_max;
}

/* Assigns requests of one node. Returns how many. */
static unsigned int route_assign_node(struct load_thread *t, uint32_t node, unsigned int most)
{
	struct load_pool *pool = &t->pools[node];
	struct route_list *list = &t->route->lists[node];
	unsigned int n;

	for (n = 0; n < most && pool->n_free && pool->resend; n++)
		conn_resend_first(t, route_conn(t, pool));
	if (t->stopped)
		return n;
	for (; n < most && pool->n_free && list->first != LOAD_NONE && route_may_assign(t); n++) {
		const struct route_wait wait = route_pop(t->route, list);

		conn_assign(t, route_conn(t, pool), wait.number, wait.at_ns);
	}
	return n;
}

unsigned int route_assign(struct load_thread *t, unsigned int most)
{
	unsigned int n = 0;

	if (!t->n_resends && !t->route->n_waiting)
		return 0;
	for (uint32_t i = 0; i < t->n_pools && n < most; i++)
		n += route_assign_node(t, i, most - n);
	return n;
}

bool route_accepts(const struct load_thread *t)
{
	return t->config->loop == LOOP_OPEN ||
	       t->assigned + t->route->n_waiting < (uint64_t)t->n_conns * t->config->outstanding;
}

void route_request(struct load_thread *t, uint64_t number, uint64_t at_ns)
{
	struct load_pool *pool = route_pool(t, number);

	/* Requests of a node are sent in the order in which they are due. */
	if (pool->n_free && t->route->lists[pool - t->pools].first == LOAD_NONE &&
	    route_may_assign(t))
		conn_assign(t, route_conn(t, pool), number, at_ns);
	else
		route_push(t, pool, number, at_ns);
}

void route_store(struct load_thread *t)
{
	struct load_target *first = t->route->first;
	struct load_pool *pool;

	route_assign(t, UINT32_MAX);
	while (protocol_stores(first->protocol) && first->stored < first->workload.keys) {
		pool = route_pool(t, first->stored);
		if (!pool->n_free || !route_may_assign(t))
			return;
		conn_assign(t, route_conn(t, pool), first->stored++, t->now);
	}
}

uint64_t route_oldest(const struct load_thread *t, uint64_t or_else)
{
	const struct route *r = t->route;
	uint64_t oldest = or_else;

	for (uint32_t i = 0; r->n_waiting && i < t->n_pools; i++) {
		const uint32_t at = r->lists[i].first;

		if (at != LOAD_NONE && r->waits[at].at_ns < oldest)
			oldest = r->waits[at].at_ns;
	}
	return oldest;
}
