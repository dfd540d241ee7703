/* SPDX-License-Identifier: Apache-2.0 */
#include "load/conn_reply.h"

#include "load/thread_causes.h"

enum reply_status conn_reply_status(const struct load_thread *t, const struct load_conn *c,
				    const struct reply *reply)
{
	if (!c->target->protocol->http || !t->expect->given)
		return reply->status;
	return statuses_has(t->expect, reply->code) ? REPLY_OK : REPLY_ERROR;
}

void conn_reply_note_success(struct load_thread *t, struct load_conn *c)
{
	c->replies++;
	c->shut = false;
	t->n_failing -= c->failing;
	c->failing = false;
}

uint32_t conn_reply_note_error(struct load_thread *t, struct load_conn *c,
			       const struct reply *reply)
{
	const struct error_text *text = reply->error_text;

	if (!c->replies && !c->failing && text && error_text_denies(text->text, text->len)) {
		c->failing = true;
		t->n_failing++;
	}
	return thread_causes_note_reply(t, c, CAUSE_REQUEST, reply);
}
