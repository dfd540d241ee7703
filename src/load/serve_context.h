/* SPDX-License-Identifier: Apache-2.0 */
/* What the synthetic server's connections share, and what each thread has for itself. */
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
#define SERVE_WAITING_MAX (1U << 20) /* requests in the queue, of one thread's connections */
#define SERVE_DATAGRAM_MAX 65507     /* of UDP over IPv4 */

/* What all threads share. */
struct serve_shared {
	const struct serve_protocol *protocol;
	struct serve_settings settings;
	struct dist service; /* DIST_KIND_NONE: no time at all */
	bool spin;           /* a request is served by the thread that read it, which spins */
	bool at_once;        /* nothing is ever waited for */
	bool amplify;        /* datagrams of other hosts may have larger replies */
	bool stop;           /* nothing is served any more; atomic */
	struct serve_stall stall;
	pthread_mutex_t lock; /* of what follows */
	struct serve_queue queue;
	struct rng rng;
	struct link conns;   /* all that are open */
	uint32_t n_conns;    /* of these, streams */
};

struct serve_counts {
	uint64_t requests, replies;
	uint64_t received, sent;  /* bytes of them */
	uint64_t busy_ns;         /* sum of the service times */
	uint64_t closed;          /* connections that came to their end */
	uint64_t reset;           /* ... that the peer broke off */
	uint64_t garbled;         /* ... or datagrams, that weren't the protocol */
	uint64_t refused;         /* requests that found the queue full, or asked for too much */
	uint64_t unsent;          /* replies that had nowhere to go */
	uint64_t amplifying;      /* datagrams of other hosts whose reply would have been larger */
};

/* Of one thread. */
struct serve_context {
	struct serve_shared *shared;
	int epoll;
	bool one_shot;            /* several threads wait for the same connections */
	struct serve_counts counts;
	struct hist lag;          /* of departures, behind the queue's arithmetic */
	struct serve_agenda agenda;
	struct rng rng;           /* of service times that are spun */
	struct link closed;       /* connections to be freed when no event can name them */
	struct serve_waiting *spare;
	uint64_t read_ns;         /* spinning: when the bytes at hand were read */
	/* Replies on their way out, all to one peer. */
	size_t out_len;
	uint32_t n_stamps, stamp_at[SERVE_BUFFER / 40];
	char in[SERVE_BUFFER], out[SERVE_BUFFER];
};

#endif
