/* SPDX-License-Identifier: Apache-2.0 */
/* Notes in a thread's table of causes why a request failed or a connection was none. */
#ifndef HOSTLAT_LOAD_NOTED_H
#define HOSTLAT_LOAD_NOTED_H

#include "load/thread.h"

/* A reply that refuses, or whose HTTP status holds nothing of what was asked for. */
void noted_reply(struct load_thread *t, const struct load_conn *c, enum cause_of of,
		 const struct reply *reply);

/* A request had no reply in time, or not all of it. */
void noted_timeout(struct load_thread *t, const struct load_request *r);

/* A request failed with its connection, for this -errno. */
void noted_cut(struct load_thread *t, const struct load_conn *c, int err);

/* A connection has been lost or opened, or the run ends: the time without any is an outage. */
void noted_open(struct load_thread *t, bool ends);

/* A connection could not be made, or ended before a reply or by what is none, for this -errno. */
void noted_connection(struct load_thread *t, const struct load_conn *c, int err);

#endif
