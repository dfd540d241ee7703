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
	BOTTLENECK_SENDER_APPLICATION,   /* the sending application writes no more data */
	BOTTLENECK_SEND_BUFFER,          /* the sender's buffer is full */
	BOTTLENECK_NETWORK,              /* congestion window, pacing, losses */
	BOTTLENECK_LOCAL_QUEUE,          /* the sending host's queueing discipline or card */
	BOTTLENECK_RECEIVER_APPLICATION, /* the receiving application does not read its data */
	BOTTLENECK_RECEIVE_BUFFER,       /* SO_RCVBUF of the receiver's application is too small */
	BOTTLENECK_RECEIVER_WINDOW,      /* the receiver's window still grows */
	BOTTLENECK_RECEIVER,             /* the receiver's window, reason unknown */
	BOTTLENECK_DELAYED_ACK,          /* the receiver delays an ACK for which data waits */
	BOTTLENECK_MAX,
};

struct bottleneck {
	enum bottleneck_side side;
	double share;              /* share of the connection's time, 0 to 1 */
	bool harmful;              /* true: data waited because of a problem on this side */
};

/*
 * Returns the side that limits the connection. With problems, that is the side of the problem for
 * which data waited longest; else, of the limit with the largest share of the time. The problems of
 * `v` must be known: rules_judge(). Returns BOTTLENECK_UNKNOWN if the time or the other end is
 * unknown, or if the other end's record does not confirm the problem.
 */
struct bottleneck bottleneck_find(const struct conn_view *v);

/* Returns the side's name, such as "receiver-application"; NULL for BOTTLENECK_UNKNOWN. */
const char *bottleneck_name(enum bottleneck_side side);

/* Returns a sentence such as "the bottleneck is the sender: ..."; NULL if the side is unknown. */
const char *bottleneck_sentence(const struct conn_view *v, struct report *r);

#endif
