/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_conns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_SLOTS 256u

int fleet_conns_init(struct fleet_conns *c)
{
	*c = (struct fleet_conns){ .names = event_dict_new() };
	vec_init(&c->all, FLEET_CONNECTIONS_MAX);
	vec_init(&c->flows, FLEET_CONNECTIONS_MAX);
	return c->names ? 0 : -ENOMEM;
}

void fleet_conns_release(struct fleet_conns *c)
{
	vec_release(&c->all);
	vec_release(&c->flows);
	free(c->by_key);
	free(c->by_flow);
	event_dict_free(c->names);
	*c = (struct fleet_conns){ 0 };
}

/* ---- flows ---- */

static uint32_t *fleet_conns_flow_slot(const struct fleet_conns *c, uint32_t id)
{
	return &c->by_flow[hash_u64(id) & (c->flow_slots - 1)];
}

static struct fleet_flow_state *fleet_conns_flow(const struct fleet_conns *c, uint32_t id)
{
	uint32_t at = c->flow_slots ? *fleet_conns_flow_slot(c, id) : 0;

	while (at && c->flows.items[at - 1].flow.id != id)
		at = c->flows.items[at - 1].next;
	return at ? &c->flows.items[at - 1] : NULL;
}

static void fleet_conns_chain_flow(struct fleet_conns *c, uint32_t i)
{
	uint32_t *head = fleet_conns_flow_slot(c, c->flows.items[i].flow.id);

	c->flows.items[i].next = *head;
	*head = i + 1;
}

static int fleet_conns_grow_flows(struct fleet_conns *c)
{
	const size_t n = c->flow_slots ? 2 * c->flow_slots : FIRST_SLOTS;
	uint32_t *slots;

	if (c->flows.len < c->flow_slots)
		return 0;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->by_flow);
	c->by_flow = slots;
	c->flow_slots = n;
	for (uint32_t i = 0; i < c->flows.len; i++)
		fleet_conns_chain_flow(c, i);
	return 0;
}

int fleet_conns_set_flow(struct fleet_conns *c, const struct event_flow *flow)
{
	struct fleet_flow_state *known = fleet_conns_flow(c, flow->id);
	int err;

	if (known) {
		known->flow = *flow;
		return 0;
	}
	err = fleet_conns_grow_flows(c);
	if (!err)
		err = vec_push(&c->flows, (struct fleet_flow_state){ .flow = *flow });
	if (!err)
		fleet_conns_chain_flow(c, (uint32_t)c->flows.len - 1);
	return err;
}

/* ---- connections ---- */

static uint32_t *fleet_conns_slot(const struct fleet_conns *c, uint64_t netns, uint64_t cookie)
{
	return &c->by_key[hash_u64(hash_u64(netns) ^ cookie) & (c->key_slots - 1)];
}

static void fleet_conns_chain(struct fleet_conns *c, uint32_t i)
{
	uint32_t *head = fleet_conns_slot(c, c->all.items[i].netns, c->all.items[i].cookie);

	c->all.items[i].next = *head;
	*head = i + 1;
}

static int fleet_conns_grow(struct fleet_conns *c)
{
	const size_t n = c->key_slots ? 2 * c->key_slots : FIRST_SLOTS;
	uint32_t *slots;

	if (c->all.len < c->key_slots)
		return 0;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->by_key);
	c->by_key = slots;
	c->key_slots = n;
	for (uint32_t i = 0; i < c->all.len; i++)
		fleet_conns_chain(c, i);
	return 0;
}

struct fleet_conn_state *fleet_conns_find_key(const struct fleet_conns *c, uint64_t netns,
					      uint64_t cookie)
{
	uint32_t at = c->key_slots ? *fleet_conns_slot(c, netns, cookie) : 0;

	while (at && (c->all.items[at - 1].netns != netns ||
		      c->all.items[at - 1].cookie != cookie))
		at = c->all.items[at - 1].next;
	return at ? &c->all.items[at - 1] : NULL;
}

struct fleet_conn_state *fleet_conns_find(const struct fleet_conns *c, const struct event_conn *e)
{
	const struct fleet_flow_state *flow = fleet_conns_flow(c, e->flow);

	return fleet_conns_find_key(c, flow ? flow->flow.netns_cookie : 0, e->cookie);
}

static int fleet_conns_push(struct fleet_conns *c, const struct fleet_conn_state *conn)
{
	int err = fleet_conns_grow(c);

	if (!err)
		err = vec_push(&c->all, *conn);
	if (!err)
		fleet_conns_chain(c, (uint32_t)c->all.len - 1);
	return err;
}

int fleet_conns_add(struct fleet_conns *c, uint64_t netns, uint64_t cookie, uint32_t index)
{
	return fleet_conns_push(c, &(struct fleet_conn_state){ .netns = netns, .cookie = cookie,
							       .index = index });
}

static int fleet_conns_make(struct fleet_conns *c, const struct event_conn *e)
{
	const struct fleet_flow_state *flow = fleet_conns_flow(c, e->flow);
	struct fleet_conn_state conn = { .cookie = e->cookie, .index = FLEET_NONE };

	if (flow) {
		conn.flow = flow->flow;
		conn.netns = flow->flow.netns_cookie;
	}
	return fleet_conns_push(c, &conn);
}

int fleet_conns_keep(struct fleet_conns *c, struct fleet_conns *before)
{
	int err = 0;

	vec_for_each(&before->all, conn) {
		struct fleet_conn_state kept = *conn;

		if (err || conn->flags & CONN_CLOSED || conn->index == FLEET_NONE ||
		    fleet_conns_find_key(c, conn->netns, conn->cookie))
			continue;
		kept.idle = false;
		err = fleet_conns_push(c, &kept);
		err = err == -E2BIG ? 0 : err;
	}
	fleet_conns_release(before);
	return err;
}

static void fleet_conns_note(uint32_t *name, uint32_t latest)
{
	*name = latest ? latest : *name;
}

int fleet_conns_gather(struct fleet_conns *c, const struct event_conn *e)
{
	struct fleet_conn_state *conn = fleet_conns_find(c, e);
	int err = conn ? 0 : fleet_conns_make(c, e);

	if (err)
		return err;
	conn = conn ? conn : vec_last(&c->all);
	conn->flags |= e->flags;
	fleet_conns_note(&conn->app, e->app);
	fleet_conns_note(&conn->comm, e->comm);
	fleet_conns_note(&conn->cgroup, e->cgroup);
	fleet_conns_note(&conn->unit, e->unit);
	return 0;
}
