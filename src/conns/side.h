/* SPDX-License-Identifier: Apache-2.0 */
/* On which side of a connection the limit of what one end sends lies: it takes both ends. */
#ifndef HOSTLAT_CONNS_SIDE_H
#define HOSTLAT_CONNS_SIDE_H

#include "conns/view.h"
#include "report/report.h"

enum side {
	SIDE_UNKNOWN,
	SIDE_SENDER_APPLICATION,   /* gives no more */
	SIDE_SEND_BUFFER,          /* the sender's */
	SIDE_NETWORK,              /* congestion window, pacing, losses */
	SIDE_RECEIVER_APPLICATION, /* does not read */
	SIDE_RECEIVE_BUFFER,       /* set by the receiver's application */
	SIDE_RECEIVER_WINDOW,      /* still grows */
	SIDE_RECEIVER,             /* its window; it does not tell why */
	SIDE_DELAYED_ACK,          /* the receiver's; the sender holds data until it comes */
	SIDES,
};

struct side_found {
	enum side side;
	double share;              /* of the time */
	bool harmful;              /* data waited for it */
};

/*
 * Of a view that is judged: the problem for which data waited longest; without one, what takes the
 * greatest part of the time. Unknown if that is, or if the other end is not known, or does not tell
 * or denies it.
 */
struct side_found side_find(const struct conn_view *v);

/* "receiver-application"; NULL: unknown. */
const char *side_name(enum side side);

/* "the limit lies at the receiver: its application does not read, for 98 % of the time"; NULL if it
 * is unknown. */
const char *side_say(const struct conn_view *v, struct report *r);

#endif
