/* SPDX-License-Identifier: Apache-2.0 */
/* State of the synthetic server: shared by all threads, and of each thread. */
#ifndef HOSTLAT_LOAD_SERVE_CONTEXT_H
#define HOSTLAT_LOAD_SERVE_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "load/dist.h"
#include "load/list.h"
#include "load/serve_queue.h"
#include "load/serve_request.h"
#include "stats/hist.h"

#define SERVE_BUFFER 65536
/* largest number of queued requests of a thread's connections */
#define SERVE_WAITING_MAX (1U << 20)
#define SERVE_DATAGRAM_MAX 65507     /* largest payload of UDP over IPv4 */

/* State shared by all threads. */
struct serve_shared {
	const struct serve_protocol *protocol;
	struct serve_settings settings;
	struct dist service; /* DIST_KIND_NONE: no time at all */
	bool spin;           /* requests are served by the thread that reads them, by spinning */
	bool at_once;        /* replies are sent at once: no service time, no stalls */
	bool amplify;        /* datagrams of other hosts may get larger replies */
	bool stop;           /* the server ends; atomic */
	struct serve_stall stall;
	pthread_mutex_t lock; /* protects the members below */
	struct serve_queue queue;
	struct rng rng;
	struct link conns;   /* open connections and datagram sockets */
	uint32_t n_conns;    /* number of streams among them */
};

struct serve_counts {
	uint64_t requests, replies;
	uint64_t received, sent;  /* bytes */
	uint64_t busy_ns;         /* sum of the service times */
	uint64_t closed;          /* connections closed in order */
	uint64_t reset;           /* connections reset by the peer */
	uint64_t garbled;         /* connections or datagrams that violated the protocol */
	uint64_t refused;         /* requests refused: queue full, or reply too large */
	uint64_t unsent;          /* replies that could not be sent */
	uint64_t amplifying;      /* datagrams of other hosts whose reply would have been larger */
};

/* State of one thread. */
struct serve_context {
	struct serve_shared *shared;
	int epoll;
	bool one_shot;            /* several threads wait for the same connections */
	struct serve_counts counts;
	struct hist lag;          /* delay of departures behind their computed time */
	struct serve_agenda agenda;
	struct rng rng;           /* service times of spinning workers */
	/* closed connections, freed when no pending event can refer to them */
	struct link closed;
	struct serve_waiting *spare;
	uint64_t read_ns;         /* spinning: when the current bytes were read */
	/* Buffered replies, all to one peer. */
	size_t out_len;
	uint32_t n_stamps, stamp_at[SERVE_BUFFER / 40];
	char in[SERVE_BUFFER], out[SERVE_BUFFER];
};

#endif
