/* SPDX-License-Identifier: Apache-2.0 */
/* A connection's state at the end of a record: its limit or, without one, whose turn it is. */
#ifndef HOSTLAT_CONNS_STATUS_H
#define HOSTLAT_CONNS_STATUS_H

#include "conns/view.h"

/* The limits are in the order of words_time(). */
enum conn_status {
	STATUS_UNKNOWN,
	STATUS_SENDER_APP,
	STATUS_SEND_BUFFER,
	STATUS_CONGESTION,
	STATUS_RECEIVER_WINDOW,
	STATUS_DELAYED_ACK,
	/* -- congestion, if these are known and have the greatest part of it -- */
	STATUS_PACING,
	STATUS_LOCAL_QUEUE,      /* this host's queueing discipline or network card */
	STATUS_AWAITING_REPLY,   /* this end connected, and has sent last */
	STATUS_AWAITING_REQUEST, /* this end accepted, and has sent last */
	STATUS_IDLE,             /* no data moved */
	CONN_STATUSES,
};

/* Returns a name such as "receiver-window". */
const char *conn_status_name(enum conn_status status);

/* Returns whether the status is a limit of words_limit(). */
bool conn_status_is_limit(enum conn_status status);

/* Returns whether this end has nothing to send: no data moved, or the peer has to send next. */
bool conn_status_is_peers_turn(enum conn_status status);

/*
 * Returns the status at the end of the record. A connection waits for its peer's reply or request
 * only if data moved both ways in the record, as a stream in one direction awaits no reply.
 */
enum conn_status conn_status_of(const struct event_conn *e);

#endif
