/* SPDX-License-Identifier: Apache-2.0 */
/* On which side of a connection the limit of what one end sends lies: it takes both ends. */
#ifndef HOSTLAT_CONNS_BOTTLENECK_H
#define HOSTLAT_CONNS_BOTTLENECK_H

#include "conns/view.h"
#include "report/report.h"

enum bottleneck_at {
	AT_UNKNOWN,
	AT_SENDER_APPLICATION,   /* gives no more */
	AT_SEND_BUFFER,          /* the sender's */
	AT_NETWORK,              /* congestion window, pacing, losses */
	AT_RECEIVER_APPLICATION, /* does not read */
	AT_RECEIVE_BUFFER,       /* set by the receiver's application */
	AT_RECEIVER_WINDOW,      /* still grows */
	AT_RECEIVER,             /* its window; it does not tell why */
	AT_DELAYED_ACK,          /* the receiver's; the sender holds data until it comes */
	AT_MAX,
};

struct bottleneck {
	enum bottleneck_at side;
	double share;              /* of the time */
	bool harmful;              /* data waited for it */
};

/*
 * For a judged view: the problem for which data waited longest; without one, what takes the
 * greatest part of the time. Unknown if that is, or if the other end is not known, or does not tell
 * or denies it.
 */
struct bottleneck bottleneck_find(const struct conn_view *v);

/* "receiver-application"; NULL: unknown. */
const char *bottleneck_name(enum bottleneck_at side);

/* "the limit lies at the receiver: its application does not read, for 98 % of the time"; NULL if it
 * is unknown. */
const char *bottleneck_say(const struct conn_view *v, struct report *r);

#endif
