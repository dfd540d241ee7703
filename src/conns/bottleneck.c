/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/bottleneck.h"

#include <string.h>

#include "conns/problem.h"
#include "conns/status.h"
#include "conns/words.h"
#include "report/human.h"

static const struct {
	const char *name;
	bool receiver;
	const char *cause;
} sides[BOTTLENECK_MAX] = {
	[BOTTLENECK_SENDER_APPLICATION] = { "sender-application", false,
				      "its application sends no more data" },
	[BOTTLENECK_SEND_BUFFER] = { "send-buffer", false, "its send buffer is full" },
	[BOTTLENECK_NETWORK] = { "network", false, NULL },
	[BOTTLENECK_LOCAL_QUEUE] = { "local-queue", false,
				     "its host's own queue or network card is full" },
	[BOTTLENECK_RECEIVER_APPLICATION] = { "receiver-application", true,
					"its application does not read" },
	[BOTTLENECK_RECEIVE_BUFFER] = { "receive-buffer", true,
				  "its application has set SO_RCVBUF too small" },
	[BOTTLENECK_RECEIVER_WINDOW] = { "receiver-window", true, "its window still grows" },
	[BOTTLENECK_RECEIVER] = { "receiver", true, "its window is too small" },
	[BOTTLENECK_DELAYED_ACK] = { "delayed-ack", true,
				     "it delays acknowledgements, and data waits for them" },
};

const char *bottleneck_name(enum bottleneck_side side)
{
	return sides[side].name;
}

static enum bottleneck_side bottleneck_of_window(enum window_limit limit)
{
	return limit == WINDOW_NOT_READ ? BOTTLENECK_RECEIVER_APPLICATION :
	       limit == WINDOW_SET ? BOTTLENECK_RECEIVE_BUFFER :
	       limit == WINDOW_GROWING ? BOTTLENECK_RECEIVER_WINDOW : BOTTLENECK_RECEIVER;
}

static enum bottleneck_side bottleneck_of_problem(const struct conn_problem *p)
{
	switch (p->class) {
	case CONN_SEND_BUFFER:
		return BOTTLENECK_SEND_BUFFER;
	case CONN_FAST_RETRANSMIT:
	case CONN_TIMEOUT:
	case CONN_TAIL_LOSS_PROBE:
		return BOTTLENECK_NETWORK;
	case CONN_RECEIVER_WINDOW:
		return bottleneck_of_window(p->limit);
	case CONN_DELAYED_REPAIR:
	case CONN_DELAYED_ACK: /* unless the receiver's record confirms it, the side is unknown */
		return p->confidence == CONN_OBSERVED ? BOTTLENECK_DELAYED_ACK : BOTTLENECK_UNKNOWN;
	default:
		return BOTTLENECK_UNKNOWN;
	}
}

/* Returns whether a problem has made this end's data wait for a known time. */
static bool bottleneck_takes_time(const struct conn_problem *p)
{
	return p->harm == CONN_HARMFUL && p->lost_ns && !p->ours &&
	       (p->class == CONN_SEND_BUFFER || p->class == CONN_FAST_RETRANSMIT ||
		p->class == CONN_TIMEOUT || p->class == CONN_TAIL_LOSS_PROBE ||
		p->class == CONN_RECEIVER_WINDOW || p->class == CONN_DELAYED_ACK ||
		p->class == CONN_DELAYED_REPAIR);
}

/*
 * Returns the side of a limit that is no problem. A window or a late ACK without a problem has no
 * side.
 */
static enum bottleneck_side bottleneck_of_limit(const struct event_conn *c, const char *limit)
{
	if (conn_status_of(c) == STATUS_LOCAL_QUEUE)
		return BOTTLENECK_LOCAL_QUEUE;
	return !strcmp(limit, "sender-app") ? BOTTLENECK_SENDER_APPLICATION :
	       !strcmp(limit, "send-buffer") ? BOTTLENECK_SEND_BUFFER :
	       !strcmp(limit, "congestion") ? BOTTLENECK_NETWORK : BOTTLENECK_UNKNOWN;
}

/*
 * Returns `ns` as a share of the connection's time. For BOTTLENECK_NETWORK, uses congestion_ns
 * instead if that is longer: `ns` may then be only the time stalled by losses.
 */
static double bottleneck_share(const struct event_conn *c, enum bottleneck_side side, uint64_t ns)
{
	if (side == BOTTLENECK_NETWORK && c->congestion_ns > ns)
		ns = c->congestion_ns;
	return conn_share(c, ns);
}

struct bottleneck bottleneck_find(const struct conn_view *v)
{
	struct bottleneck found = { .side = BOTTLENECK_UNKNOWN };
	const struct conn_problem *worst = NULL;
	const char *limit;

	if (!v->peer || !conn_knows(v->c, CONN_KNOWS_TIMES))
		return found;
	for (uint32_t i = 0; i < v->judged.n; i++)
		if (bottleneck_takes_time(&v->found[i]) &&
		    (!worst || v->found[i].lost_ns > worst->lost_ns))
			worst = &v->found[i];
	if (worst) {
		found.side = bottleneck_of_problem(worst);
		found.share = bottleneck_share(v->c, found.side, worst->lost_ns);
		found.harmful = true;
		return found;
	}
	limit = words_limit(v->c, &found.share);
	if (limit)
		found.side = bottleneck_of_limit(v->c, limit);
	return found;
}

const char *bottleneck_sentence(const struct conn_view *v, struct report *r)
{
	const struct bottleneck found = bottleneck_find(v);
	char share[HUMAN_MAX];

	if (found.side == BOTTLENECK_UNKNOWN)
		return NULL;
	human_fraction(share, found.share);
	if (found.side == BOTTLENECK_NETWORK)
		return report_format(r, "the bottleneck is the network, for %s of the time", share);
	return report_format(r, "the bottleneck is the %s: %s, for %s of the time",
			     sides[found.side].receiver ? "receiver" : "sender",
			     sides[found.side].cause, share);
}
