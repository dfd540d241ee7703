/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/status.h"

#include <string.h>

#include "conns/words.h"

const char *conn_status_name(enum conn_status status)
{
	switch (status) {
	case STATUS_AWAITING_REPLY:
		return "awaiting-reply";
	case STATUS_AWAITING_REQUEST:
		return "awaiting-request";
	case STATUS_IDLE:
		return "idle";
	case STATUS_PACING:
		return "pacing";
	case STATUS_LOCAL_QUEUE:
		return "local-queue";
	default:
		return conn_status_is_limit(status) ? words_time_name(status - STATUS_SENDER_APP)
						    : "unknown";
	}
}

bool conn_status_is_limit(enum conn_status status)
{
	return status >= STATUS_SENDER_APP && status <= STATUS_LOCAL_QUEUE;
}

bool conn_status_is_peers_turn(enum conn_status status)
{
	return status == STATUS_AWAITING_REPLY || status == STATUS_AWAITING_REQUEST ||
	       status == STATUS_IDLE;
}

static bool status_is_idle(const struct event_conn *e)
{
	for (int i = 0; i < CONN_STATES; i++)
		if (i != CONN_AT_IDLE && e->sampled[i])
			return false;
	return !e->bytes_sent && !e->bytes_received && !e->bytes_acked && !e->busy_ns &&
	       !e->unsent && !e->unacked && !e->unclear_ns && !e->unread && !e->send_calls &&
	       e->sender_app_ns == e->to - e->from;
}

/* Returns whether the peer has to send next. */
static bool status_is_peers_turn(const struct event_conn *e)
{
	if (!e->bytes_sent || !e->bytes_received || e->unsent || e->rcv_queue ||
	    !(e->flags & CONN_SENT_LAST))
		return false;
	/* in one tick: a server that has read all has most likely answered */
	return !(e->flags & CONN_RECEIVED_LAST) || e->flags & CONN_ACCEPTED;
}

/* Returns which part of congestion is the greatest. */
static enum conn_status status_of_congestion(const struct event_conn *e)
{
	uint64_t ns[WORDS_HELD], network;

	if (!words_divide_congestion(e, ns))
		return STATUS_CONGESTION;
	network = ns[WORDS_HELD_REPAIR] + ns[WORDS_HELD_WINDOW];
	if (ns[WORDS_HELD_QUEUE] > network && ns[WORDS_HELD_QUEUE] > ns[WORDS_HELD_PACING])
		return STATUS_LOCAL_QUEUE;
	return ns[WORDS_HELD_PACING] > network ? STATUS_PACING : STATUS_CONGESTION;
}

enum conn_status conn_status_of(const struct event_conn *e)
{
	double share;
	const char *limit = words_limit(e, &share);
	enum conn_status status = STATUS_SENDER_APP;

	if (!limit)
		return STATUS_UNKNOWN;
	while (strcmp(limit, words_time_name(status - STATUS_SENDER_APP)) != 0)
		status++;
	if (status == STATUS_CONGESTION)
		return status_of_congestion(e);
	if (status != STATUS_SENDER_APP)
		return status;
	if (status_is_idle(e))
		return STATUS_IDLE;
	if (!status_is_peers_turn(e))
		return status;
	return e->flags & CONN_ACCEPTED ? STATUS_AWAITING_REQUEST : STATUS_AWAITING_REPLY;
}
