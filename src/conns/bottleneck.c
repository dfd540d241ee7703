// SPDX-License-Identifier: Apache-2.0
#include "conns/bottleneck.h"

#include <string.h>

#include "conns/problem.h"
#include "conns/words.h"
#include "report/human.h"

static const struct {
	const char *name;
	bool receiver;
	const char *what;
} sides[AT_MAX] = {
	[AT_SENDER_APPLICATION] = { "sender-application", false,
				      "its application gives no more" },
	[AT_SEND_BUFFER] = { "send-buffer", false, "its send buffer is full" },
	[AT_NETWORK] = { "network", false, NULL },
	[AT_RECEIVER_APPLICATION] = { "receiver-application", true,
					"its application does not read" },
	[AT_RECEIVE_BUFFER] = { "receive-buffer", true,
				  "its application has set SO_RCVBUF too small" },
	[AT_RECEIVER_WINDOW] = { "receiver-window", true, "its window still grows" },
	[AT_RECEIVER] = { "receiver", true, "its window is too small" },
	[AT_DELAYED_ACK] = { "delayed-ack", true, "it delays acknowledgements, and data is held "
						    "until they come" },
};

const char *bottleneck_name(enum bottleneck_at side)
{
	return sides[side].name;
}

static enum bottleneck_at of_window(enum window_limit limit)
{
	return limit == WINDOW_NOT_READ ? AT_RECEIVER_APPLICATION :
	       limit == WINDOW_SET ? AT_RECEIVE_BUFFER :
	       limit == WINDOW_GROWING ? AT_RECEIVER_WINDOW : AT_RECEIVER;
}

static enum bottleneck_at of_problem(const struct conn_problem *p)
{
	switch (p->class) {
	case CONN_SEND_BUFFER:
		return AT_SEND_BUFFER;
	case CONN_FAST_RETRANSMIT:
	case CONN_TIMEOUT:
	case CONN_TAIL_LOSS_PROBE:
		return AT_NETWORK;
	case CONN_RECEIVER_WINDOW:
		return of_window(p->limit);
	case CONN_DELAYED_ACK: /* inferred: the receiver does not tell */
		return p->confidence == CONN_OBSERVED ? AT_DELAYED_ACK : AT_UNKNOWN;
	default:
		return AT_UNKNOWN;
	}
}

/* Those that stand for a part of the sender's time. */
static bool is_part(const struct conn_problem *p)
{
	return p->harm == CONN_HARMFUL && p->lost_ns && !p->ours &&
	       (p->class == CONN_SEND_BUFFER || p->class == CONN_FAST_RETRANSMIT ||
		p->class == CONN_TIMEOUT || p->class == CONN_TAIL_LOSS_PROBE ||
		p->class == CONN_RECEIVER_WINDOW || p->class == CONN_DELAYED_ACK);
}

/* A part that is no problem: a window or a late ACK that is none has no side. */
static enum bottleneck_at of_limit(const char *limit)
{
	return !strcmp(limit, "sender-app") ? AT_SENDER_APPLICATION :
	       !strcmp(limit, "send-buffer") ? AT_SEND_BUFFER :
	       !strcmp(limit, "congestion") ? AT_NETWORK : AT_UNKNOWN;
}

/* A stall is what its losses cost at the least. */
static double share_of(const struct event_conn *c, enum bottleneck_at side, uint64_t ns)
{
	return conn_share(c, side == AT_NETWORK && c->congestion_ns > ns ? c->congestion_ns : ns);
}

struct bottleneck bottleneck_find(const struct conn_view *v)
{
	struct bottleneck found = { .side = AT_UNKNOWN };
	const struct conn_problem *worst = NULL;
	const char *limit;

	if (!v->peer || !conn_knows(v->c, CONN_KNOWS_TIMES))
		return found;
	for (uint32_t i = 0; i < v->n_found; i++)
		if (is_part(&v->found[i]) && (!worst || v->found[i].lost_ns > worst->lost_ns))
			worst = &v->found[i];
	if (worst) {
		found.side = of_problem(worst);
		found.share = share_of(v->c, found.side, worst->lost_ns);
		found.harmful = true;
		return found;
	}
	limit = words_limit(v->c, &found.share);
	if (limit)
		found.side = of_limit(limit);
	return found;
}

const char *bottleneck_say(const struct conn_view *v, struct report *r)
{
	const struct bottleneck found = bottleneck_find(v);
	char share[HUMAN_MAX];

	if (found.side == AT_UNKNOWN)
		return NULL;
	human_fraction(share, found.share);
	if (found.side == AT_NETWORK)
		return report_format(r, "the limit lies in the network, for %s of the time", share);
	return report_format(r, "the limit lies at the %s: %s, for %s of the time",
			     sides[found.side].receiver ? "receiver" : "sender",
			     sides[found.side].what, share);
}
