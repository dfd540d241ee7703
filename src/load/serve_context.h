/* SPDX-License-Identifier: Apache-2.0 */
/* State of the synthetic server: shared by all threads, and per thread. */
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
/* largest number of queued requests of a thread */
#define SERVE_WAITING_MAX (1U << 20)
#define SERVE_DATAGRAM_MAX 65507     /* largest payload of a UDP datagram over IPv4, bytes */

struct serve_shared {
	const struct serve_protocol *protocol;
	struct serve_settings settings;
	struct dist service; /* distribution of service times; DIST_KIND_NONE: none */
	bool spin;           /* the reading thread serves requests at once, by spinning */
	bool at_once;        /* no service time and no stalls: replies are sent at once */
	bool amplify;        /* larger replies to datagrams of other hosts are allowed */
	bool stop;           /* set when the server ends; atomic */
	struct serve_stall stall;
	pthread_mutex_t lock; /* protects the members from `queue` to `n_conns` */
	struct serve_queue queue;
	struct rng rng;
	struct link conns;   /* open connections and datagram sockets */
	uint32_t n_conns;    /* number of streams in `conns` */
};

struct serve_counts {
	uint64_t requests, replies;
	uint64_t received, sent;  /* bytes received; bytes sent */
	uint64_t busy_ns;         /* sum of service times, ns */
	uint64_t closed;          /* connections closed normally */
	uint64_t reset;           /* connections reset by the peer */
	uint64_t garbled;         /* connections or datagrams that violated the protocol */
	uint64_t refused;         /* requests refused: queue full, or reply too large */
	uint64_t unsent;          /* replies that could not be sent */
	uint64_t amplifying;      /* datagrams of other hosts, unanswered: reply would be larger */
};

/* State of one thread of the synthetic server. */
struct serve_context {
	struct serve_shared *shared;
	int epoll;
	bool one_shot;            /* threads share an epoll set: EPOLLONESHOT */
	struct serve_counts counts;
	struct hist lag;          /* delay of replies after their computed departure times, ns */
	struct hist latency;      /* from reading a request to its reply, ns; not spinning */
	struct serve_agenda agenda;
	struct rng rng;           /* draws service times of spinning workers */
	/* closed connections, freed once no pending event refers to them */
	struct link closed;
	struct serve_waiting *spare;
	uint64_t read_ns;         /* time of the last read, ns; set only if spinning */
	/* Buffered replies to a single peer, sent by serve_flush(). */
	size_t out_len;
	uint32_t n_stamps, stamp_at[SERVE_BUFFER / 40];
	char in[SERVE_BUFFER], out[SERVE_BUFFER];
};

#endif
