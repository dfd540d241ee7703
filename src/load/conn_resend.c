/* SPDX-License-Identifier: Apache-2.0 */
#include "load/conn_resend.h"

#include "load/conn_queue.h"

void conn_resend_move(struct load_thread *t, struct load_conn *c, struct load_request *r,
		      struct load_pool *pool)
{
	conn_detach(c, r);
	match_forget(&c->match, &r->tx);
	r->tx = (struct match_tx){};
	if (r->begun)
		r->sample.flags |= SAMPLE_RESENT;
	r->begun = false;
	r->awaits_resend = true;
	r->resend_pool = (uint16_t)(pool - t->pools);
	r->next = NULL;
	*pool->resend_end = r;
	pool->resend_end = &r->next;
	t->n_resends++;
}

void conn_resend_queue(struct load_thread *t, struct load_conn *c, struct load_request *r)
{
	t->count.resent += r->begun;
	conn_resend_move(t, c, r, c->pool);
}

/*
 * Whether a request may be sent again. Those that an HTTP server left unanswered when it closed the
 * connection may: idempotent requests (all but writes, which only PUT may repeat) and unsent
 * requests (RFC 9110, 9.2.2; RFC 9112, 9.3.1). A request whose reply has begun is `served`.
 */
static bool conn_may_resend(const struct load_conn *c, const struct load_request *r,
			    bool served)
{
	const struct protocol *protocol = c->target->protocol;
	const struct protocol_session *session = c->parser.session;

	if (r->sample.flags & SAMPLE_FAILED)
		return false;
	if (!r->begun)
		return protocol->http || session;
	if (session)
		served = protocol->session->reply_begun(session, r->reply_id);
	return protocol->http && !served &&
	       (c->target->workload.idempotent || r->sample.type != OPERATION_SET);
}

void conn_resend_queue_all(struct load_thread *t, struct load_conn *c)
{
	/* Without ids, only the reply to the first request can have begun. */
	struct load_request *const served = c->rx != c->reply_begin ? c->head : NULL, *r, *next;

	for (r = c->head; r; r = next) {
		next = r->next;
		if (conn_may_resend(c, r, r == served))
			conn_resend_queue(t, c, r);
	}
}

void conn_resend_drop(struct load_thread *t, struct load_request *r)
{
	struct load_pool *pool = &t->pools[r->resend_pool];
	struct load_request **at = &pool->resend;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	if (pool->resend_end == &r->next)
		pool->resend_end = at;
	t->n_resends--;
	r->next = NULL;
	r->awaits_resend = false;
}

void conn_resend_first(struct load_thread *t, struct load_conn *c)
{
	struct load_request *r = c->pool->resend;

	conn_resend_drop(t, r);
	r->conn = c;
	r->phc = c->phc;
	r->sample.flow = c->flow;
	conn_append(t, c, r);
}
