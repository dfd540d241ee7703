/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MOVED and ASK: a node of a cluster answers that another node has the key. The request is sent
 * again to that node, after ASK behind the command ASKING, and keeps its due time.
 */
#ifndef HOSTLAT_LOAD_CONN_REDIRECT_H
#define HOSTLAT_LOAD_CONN_REDIRECT_H

#include "load/thread.h"

/* The command before a request that follows ASK; it has a reply of its own. */
#define CONN_REDIRECT_ASKING "*1\r\n$6\r\nASKING\r\n"

/*
 * Follows an error reply, if it is MOVED or ASK: queues the request, which may be NULL, to be sent
 * again. Returns false if it cannot be followed, with reply->cause if that has a reason of its own.
 */
bool conn_redirect_follow(struct load_thread *t, struct load_conn *c, struct load_request *r,
			  struct reply *reply);

/* Notes the reply to ASKING, which the reply to the request follows. */
static inline void conn_redirect_asked(struct load_request *r)
{
	r->asking_answered = true;
	r->sample.type = r->asked_type;
}

#endif
