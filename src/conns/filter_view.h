/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a connection that a filter can compare. */
#ifndef HOSTLAT_CONNS_FILTER_VIEW_H
#define HOSTLAT_CONNS_FILTER_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "event/conn_counters.h"

enum conn_text {
	CONN_TEXT_APP,
	CONN_TEXT_COMM,
	CONN_TEXT_CGROUP,
	CONN_TEXT_UNIT,
	CONN_TEXT_NETNS,
	CONN_TEXT_CONTROL,	/* congestion control */
	CONN_TEXTS,
};

enum conn_number {
	CONN_NUMBER_PID,
	CONN_NUMBER_RTT,	/* smoothed, in ns */
	CONN_NUMBER_MIN_RTT,
	CONN_NUMBER_RETRANS,	/* segments retransmitted, of any kind */
	CONN_NUMBER_UNSENT,	/* bytes */
	CONN_NUMBER_UNACKED,
	CONN_NUMBER_SNDBUF,
	CONN_NUMBER_RCVBUF,
	CONN_NUMBER_CWND,	/* segments */
	CONN_NUMBER_MSS,
	CONN_NUMBER_AGE,	/* ns */
	/* Shares of time, in millionths. */
	CONN_NUMBER_SENDER_APP,
	CONN_NUMBER_SEND_BUFFER,
	CONN_NUMBER_CONGESTION,
	CONN_NUMBER_RECEIVER_WINDOW,
	CONN_NUMBER_DELAYED_ACK,
#define CONN_NUMBER_OF_ROW(field, ...) CONN_NUMBER_OF_##field,
	CONN_COUNTERS_EACH(CONN_NUMBER_OF_ROW)
	CONN_NUMBERS,
};

_Static_assert(CONN_NUMBERS <= 64, "bits of `known`");

/* A connection as filters see it. Zeroed: all is unknown. */
struct filter_view {
	uint8_t family;		/* AF_INET, AF_INET6; 0: no addresses and ports */
	uint8_t tcp_state;	/* number in include/net/tcp_states.h; 0: unknown */
	uint8_t local[16];	/* format of struct event_flow; IPv4-mapped is IPv4 */
	uint8_t remote[16];
	uint16_t local_port;	/* host order */
	uint16_t remote_port;
	const char *text[CONN_TEXTS]; /* NULL: unknown; strings are borrowed */
	const char *const *classes; /* names of the connection's problem classes; NULL: unknown */
	size_t n_classes;
	uint64_t known;		/* bit i: number[i] is known */
	uint64_t number[CONN_NUMBERS];
};

#endif
