/* SPDX-License-Identifier: Apache-2.0 */
#include "load/conn_queue.h"

#include "load/request.h"

static bool conn_is_free(const struct load_thread *t, const struct load_conn *c)
{
	const struct protocol_session *s = c->parser.session;

	return c->state == CONN_OPEN && !c->blocked && !c->retiring && !c->dead &&
	       c->outstanding < t->config->outstanding &&
	       (!s || (!s->going_away && c->outstanding < s->requests_max));
}

void conn_settle(struct load_thread *t, struct load_conn *c)
{
	struct load_pool *pool = c->pool;
	uint32_t last;

	if (conn_is_free(t, c) == (c->free_at != LOAD_NONE))
		return;
	if (c->free_at == LOAD_NONE) {
		c->free_at = pool->n_free;
		pool->free[pool->n_free++] = c->index;
		return;
	}
	last = pool->free[--pool->n_free];
	pool->free[c->free_at] = last;
	t->conns[last].free_at = c->free_at;
	c->free_at = LOAD_NONE;
}

void conn_append(struct load_thread *t, struct load_conn *c, struct load_request *r)
{
	r->id = c->serial++;
	r->reply_id = 0;
	if (c->tail)
		c->tail->next = r;
	else
		c->head = r;
	c->tail = r;
	if (!c->unwritten)
		c->unwritten = r;
	c->outstanding++;
	if (++c->requests == t->config->requests_per_connection)
		c->retiring = true;
	conn_mark_dirty(t, c);
	conn_settle(t, c);
}

void conn_assign(struct load_thread *t, struct load_conn *c, uint64_t number, uint64_t intended)
{
	t->taken++;
	t->assigned++;
	conn_append(t, c, request_new(t, c, number, intended));
}
