/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds whether the sender, the network or the receiver limits one direction of a connection. It
 * needs the records of both ends.
 */
#ifndef HOSTLAT_CONNS_BOTTLENECK_H
#define HOSTLAT_CONNS_BOTTLENECK_H

#include "conns/view.h"
#include "report/report.h"

enum bottleneck_side {
	BOTTLENECK_UNKNOWN,
	BOTTLENECK_SENDER_APPLICATION,   /* gives no more */
	BOTTLENECK_SEND_BUFFER,          /* the sender's */
	BOTTLENECK_NETWORK,              /* congestion window, pacing, losses */
	BOTTLENECK_RECEIVER_APPLICATION, /* does not read */
	BOTTLENECK_RECEIVE_BUFFER,       /* set by the receiver's application */
	BOTTLENECK_RECEIVER_WINDOW,      /* still grows */
	BOTTLENECK_RECEIVER,             /* its window, for an unknown reason */
	BOTTLENECK_DELAYED_ACK,          /* the receiver's; the sender holds data until it comes */
	BOTTLENECK_MAX,
};

struct bottleneck {
	enum bottleneck_side side;
	double share;              /* of the time */
	bool harmful;              /* data waited for it */
};

/*
 * Takes a judged view. Returns the problem for which data waited longest, or, without a problem,
 * the largest part of the time. BOTTLENECK_UNKNOWN if the time or the other end is unknown, or if
 * the other end's record is silent about it or contradicts it.
 */
struct bottleneck bottleneck_find(const struct conn_view *v);

/* "receiver-application"; NULL: unknown. */
const char *bottleneck_name(enum bottleneck_side side);

/* "the limit lies at the receiver: its application does not read, for 98 % of the time"; NULL if it
 * is unknown. */
const char *bottleneck_sentence(const struct conn_view *v, struct report *r);

#endif
