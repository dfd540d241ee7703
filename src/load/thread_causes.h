/* SPDX-License-Identifier: Apache-2.0 */
/* Records in a thread's table of causes why a request or a connection failed. */
#ifndef HOSTLAT_LOAD_THREAD_CAUSES_H
#define HOSTLAT_LOAD_THREAD_CAUSES_H

#include "load/thread.h"

/*
 * Records an error reply, or a reply whose HTTP status means that it has no content. Returns the
 * number of the outcome (outcomes.h).
 */
uint32_t thread_causes_note_reply(struct load_thread *t, const struct load_conn *c,
				  enum cause_of of, const struct reply *reply);

/* Records a request without a complete reply before its timeout. */
void thread_causes_note_timeout(struct load_thread *t, const struct load_request *r);

/* Records a request that failed because its connection was lost; `err` is the -errno. */
void thread_causes_note_cut(struct load_thread *t, const struct load_conn *c, int err);

/*
 * Called when a connection is lost or opened, or the run ends (`ends`): records a time without any
 * connection as an outage.
 */
void thread_causes_update_outage(struct load_thread *t, bool ends);

/* Records that a session's peer, which has sent replies, ends the connection with an error. */
void thread_causes_note_goaway(struct load_thread *t, const struct load_conn *c);

/*
 * Records a connection that could not be opened, or ended before a reply or after garbage; `err` is
 * the -errno.
 */
void thread_causes_note_connection(struct load_thread *t, const struct load_conn *c, int err);

#endif
