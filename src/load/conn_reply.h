/* SPDX-License-Identifier: Apache-2.0 */
/* Replies, as they count for their requests and their connections. */
#ifndef HOSTLAT_LOAD_CONN_REPLY_H
#define HOSTLAT_LOAD_CONN_REPLY_H

#include "load/thread.h"

/* Returns the reply's status; with --expect, only the given HTTP statuses are a success. */
enum reply_status conn_reply_status(const struct load_thread *t, const struct load_conn *c,
				    const struct reply *reply);

/* Counts a reply: its connection no longer counts as failing. */
void conn_reply_note_success(struct load_thread *t, struct load_conn *c);

/*
 * Handles an error reply; returns its outcome (outcomes.h). If the server refuses all that the
 * connection asks for, the connection counts as failing until another reply comes.
 */
uint32_t conn_reply_note_error(struct load_thread *t, struct load_conn *c,
			       const struct reply *reply);

#endif
