/* SPDX-License-Identifier: Apache-2.0 */
#include "load/conn_redirect.h"

#include "load/causes.h"
#include "load/conn_reply.h"
#include "load/conn_resend.h"
#include "load/route.h"

/* A request follows this many MOVED and ASK, as in clients for Redis. */
#define REDIRECTS_MAX 5

bool conn_redirect_follow(struct load_thread *t, struct load_conn *c, struct load_request *r,
			  struct reply *reply)
{
	struct cluster *cluster = t->route->cluster;
	struct cluster_redirect to;
	uint16_t node;

	if (!r || r->sample.flags & SAMPLE_FAILED || !reply->error_text ||
	    !cluster_read_redirect(reply->error_text, &to))
		return false;
	node = cluster_redirect_node(cluster, (uint16_t)(c->pool - t->pools), &to);
	if (node == CLUSTER_NO_NODE) {
		reply->cause = CAUSE_NEW_NODE;
		return false;
	}
	if (!to.ask)
		cluster_move_slot(cluster, to.slot, node);
	if (r->redirects == REDIRECTS_MAX) {
		reply->cause = CAUSE_REDIRECTS;
		return false;
	}
	r->redirects++;
	r->asking = to.ask;
	r->asking_answered = false;
	t->cluster.moved += !to.ask;
	t->cluster.asked += to.ask;
	conn_resend_move(t, c, r, &t->pools[node]);
	conn_reply_note_success(t, c);
	return true;
}
