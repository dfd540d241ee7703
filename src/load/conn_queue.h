/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a connection, and the connections that take more. */
#ifndef HOSTLAT_LOAD_CONN_QUEUE_H
#define HOSTLAT_LOAD_CONN_QUEUE_H

#include "load/thread.h"

/* Assigns a request due at `intended` to a free connection; conn_flush() sends it. */
void conn_assign(struct load_thread *t, struct load_conn *c, uint64_t number, uint64_t intended);

/* Appends a request, which is of no connection, to those of a free connection. */
void conn_append(struct load_thread *t, struct load_conn *c, struct load_request *r);

/* Adds a connection to the thread's free connections or removes it, according to its state. */
void conn_settle(struct load_thread *t, struct load_conn *c);

/* Makes the thread call conn_flush() before it waits. */
static inline void conn_mark_dirty(struct load_thread *t, struct load_conn *c)
{
	if (c->dirty)
		return;
	c->dirty = true;
	c->dirty_next = NULL;
	*t->dirty_end = c;
	t->dirty_end = &c->dirty_next;
}

/* Removes a request from those of its connection, which then no longer waits for the reply. */
static inline void conn_detach(struct load_conn *c, struct load_request *r)
{
	struct load_request *before = NULL, *at;

	for (at = c->head; at != r; at = at->next)
		before = at;
	if (before)
		before->next = r->next;
	else
		c->head = r->next;
	if (c->tail == r)
		c->tail = before;
	if (c->unwritten == r) {
		c->unwritten = r->next;
		c->skip = 0;
	}
	c->outstanding--;
}

#endif
