/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of a thread of the data plane: connections, requests and counters. Only the thread uses it,
 * except before its start, and except the queues to the consuming thread.
 *
 * Life of a request: taken from the pool (`spare`) for a connection, in `sent`, in order of
 * `queued_ns`; at its end, moved to `awaiting_stamps`, in order of `done`, until its stamps have
 * arrived; put into the queue as a sample; returned to the pool. A failed request whose reply may
 * still arrive stays with its connection until then.
 */
#ifndef HOSTLAT_LOAD_THREAD_H
#define HOSTLAT_LOAD_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "base/rng.h"
#include "clock/clock.h"
#include "clock/follow.h"
#include "clock/phc.h"
#include "event/layout.h"
#include "load/causes.h"
#include "load/cluster_counts.h"
#include "load/config.h"
#include "load/dial_times.h"
#include "load/list.h"
#include "load/match.h"
#include "load/interference.h"
#include "load/protocol.h"
#include "load/spsc.h"
#include "load/schedule.h"
#include "load/scheduling.h"
#include "load/session.h"
#include "load/sources.h"
#include "load/statuses.h"
#include "load/tls_counts.h"
#include "load/workload.h"
#include "net/nic.h"
#include "net/stream.h"
#include "net/wait.h"

#define LOAD_NONE UINT32_MAX
#define LOAD_BACKOFFS 11 /* delays before reconnecting: 0, 1, 2, 4 ... 512 ms */

/* The requests of one URL of a target that has several (--urls). */
struct load_url {
	double until; /* sum of the shares of requests up to this URL's, at most 1 */
	struct workload workload;
};

struct load_target {
	struct target target;
	const struct protocol *protocol;
	struct workload workload;
	struct load_url *urls; /* owned; NULL: all requests are those of `workload` */
	uint32_t n_urls;
	struct resp_commands *commands; /* commands of --command; owned; NULL: none */
	struct net_address addresses[NET_ADDRESSES_MAX];
	/* with STAMPS_NIC: index in load_thread.nics of each address's NIC */
	uint8_t nics[NET_ADDRESSES_MAX];
	/* -errno of the last failed attempt to connect to each address; 0: none; atomic */
	int errors[NET_ADDRESSES_MAX];
	uint32_t n_addresses; /* 0: no network (null:) */
	/* host and port to connect to: the URL's, or those of --connect-to */
	char host[256], port[16];
	size_t request_max;
	char greeting[PROTOCOL_GREETING_MAX]; /* bytes sent first on a new connection */
	size_t greeting_size;     /* bytes of `greeting`; 0: none */
	unsigned int greeting_replies;
	uint64_t stored; /* number of keys sent by --preload */
};

enum load_failure {
	FAILURE_NONE,
	FAILURE_TIMEOUT,
	FAILURE_RESET,
	FAILURE_REFUSED,
	FAILURE_GARBLED,
};

struct load_conn;
struct route;

/*
 * Connections of a thread that may take the same requests: all or, in a cluster, those to one node.
 */
struct load_pool {
	uint32_t *free; /* indices of connections that accept a request; part of load_thread.free */
	uint32_t n_free;
	/* list of requests to be sent again on another connection */
	struct load_request *resend, **resend_end;
};

struct load_request {
	struct link link;          /* link in load_thread.sent or .awaiting_stamps */
	struct load_request *next; /* next in the queue of `conn`, the pool or the resend list */
	struct load_conn *conn;
	/* seed of the request's draws: the same number gives the same bytes */
	uint64_t number;
	/* when it was assigned to its connection; the timeout starts here */
	uint64_t queued_ns;
	uint32_t id, reply_id;
	uint8_t failure;           /* enum load_failure */
	bool queued;               /* the connection waits for the reply */
	bool emitted;
	bool begun;                /* the first byte was written */
	bool miss;                 /* the reply is a miss */
	bool awaits_resend;        /* queued to be sent again on another connection */
	bool asking;               /* cluster: it is sent behind ASKING */
	uint8_t redirects;         /* cluster: number of MOVED and ASK that it followed */
	struct match_tx tx;        /* transmit stamps; CLOCK_MONOTONIC except NET_STAMP_NIC */
	uint64_t rx_ns;            /* receive stamp; 0: none */
	uint64_t nic_rx_ns;        /* receive stamp by the NIC's clock; 0: none */
	const struct clock_phc *phc; /* clock of the connection's NIC; NULL without STAMPS_NIC */
	struct event_sample sample;
	uint16_t resend_pool;      /* with `awaits_resend`: index of the pool of the connection */
	uint16_t asked_type;       /* with `asking`: type of the reply that follows ASKING's */
	bool asking_answered;      /* with `asking`: the reply to ASKING has arrived */
};

enum conn_state { CONN_DOWN, CONN_CONNECTING, CONN_TLS, CONN_GREETING, CONN_OPEN };

struct load_conn {
	struct load_target *target;
	struct load_conn *dirty_next; /* next connection with requests to send */
	struct load_request *head, *tail; /* requests in order of sending */
	struct load_request *unwritten;   /* first request that is not completely written */
	uint64_t skip;             /* bytes of `unwritten` already written */
	uint32_t index;
	uint32_t generation;       /* changes with each socket: events of old sockets are ignored */
	uint32_t free_at;          /* index in pool->free; LOAD_NONE: not in it */
	struct load_pool *pool;    /* the connections that take the same requests */
	uint32_t outstanding;      /* number of requests from head to tail */
	uint32_t dead;             /* number of outstanding requests that timed out */
	uint32_t serial;           /* id of the next request */
	uint32_t flow;
	uint32_t address;          /* index of the target's address to try next */
	uint32_t tried;            /* number of addresses that failed since a connection was open */
	uint32_t source;           /* turn of this host's addresses (--bind), for sources_at() */
	const struct clock_phc *phc; /* clock of the connection's NIC; NULL without STAMPS_NIC */
	uint8_t state;             /* enum conn_state */
	uint8_t backoff;
	uint8_t greeted;           /* number of replies to the greeting received */
	bool dirty, blocked, retiring, failing;
	bool shut;                 /* a socket ended without a reply, and no reply came since */
	uint64_t requests, replies; /* counts of this socket; `replies` without refusals */
	uint64_t rx, reply_begin;  /* bytes received; offset where the current reply begins */
	uint64_t timer_ns;
	uint64_t began_ns;         /* begin of the connect or the TLS handshake */
	uint64_t lost_ns;          /* when the connection was lost; 0: it was not open yet */
	struct link timer;         /* link in load_thread.connecting or .retry */
	struct match match;
	struct net_stream stream;
	struct reply_parser parser;
	/* sessions: output that a blocked socket did not take; owned, NULL: none */
	char *pending;
	size_t pending_at, pending_size;
	uint64_t heard_ns;         /* sessions: when bytes came last */
};

enum load_thread_command {
	LOAD_GO,
	LOAD_STOP,    /* send no more requests */
	LOAD_CUT,     /* send no more requests and wait for no replies */
	LOAD_ABANDON, /* the consumer has exited: end at once */
};

enum load_phase { PHASE_CONNECT, PHASE_PRELOAD, PHASE_RUN };

/* A thread's counters at a tick, the end of each interval of LOAD_TICK_NS. */
struct load_tick {
	/* number of the tick, from the start of the run; UINT64_MAX: the thread's last */
	uint64_t number;
	uint64_t at_ns;
	uint64_t samples; /* records pushed into load_thread.samples before the tick */
	uint64_t preempted_ns;
	/* largest error of a NIC stamp's conversion to CLOCK_MONOTONIC so far, ns */
	uint64_t nic_error_ns;
	uint32_t cpu;
	struct event_clock clock; /* offsets of CLOCK_REALTIME and TAI; mono_ns 0: unknown */
	struct event_load load;
};

struct load_thread {
	/* Members set before the thread starts. */
	const struct load_config *config;
	const struct schedule *schedule;
	const struct statuses *expect;
	const int *command; /* enum load_thread_command; atomic */
	uint32_t index;
	uint32_t n_conns;
	int notify;        /* eventfd that wakes the thread that reads `samples` and `ticks` */
	uint64_t start_ns;
	int cpu;           /* CPU to which the thread is pinned; -1: any */
	pid_t tid;         /* the thread's own; 0: it has not started */
	const struct sources *sources; /* addresses to connect from; borrowed */
	const struct net_nic *nics; /* NICs that stamp packets; borrowed */
	uint32_t n_nics;
	enum load_phase phase;
	pthread_t pthread;

	/* Waiting and clocks; times are in ns of CLOCK_MONOTONIC. */
	struct net_wait wait;
	uint64_t now;      /* last reading of the clock */
	struct scheduling_yield yield;
	uint64_t tick_ns; /* time at which the thread's counters are due next, every LOAD_TICK_NS */
	uint64_t end_ns;   /* end of the schedule */
	bool stopped;
	struct clock_follow *follow;
	struct clock_follow_params clock;
	struct clock_phc *phcs; /* clocks of `nics`; not shared with other threads */
	/* largest error of a NIC stamp's conversion to CLOCK_MONOTONIC, ns */
	uint64_t nic_error_ns;

	/* Positions in the schedule, of which this thread uses every n-th request. */
	uint64_t next;     /* index in the schedule of the next request to send */
	uint64_t due; /* index of the first request not yet due at the last tick (LOAD_TICK_NS) */
	uint64_t taken;    /* number of requests assigned to connections so far */
	struct rng rng;    /* draws the connection of a request */

	/* Connections. */
	struct load_conn *conns;
	struct load_conn *filling; /* closed loop: gets the next requests while it is free */
	struct load_pool *pools;
	uint32_t n_pools;  /* 1 or, in a cluster, the number of nodes */
	uint32_t *free;    /* memory of the pools' lists */
	struct route *route; /* requests by node; NULL: no cluster */
	uint32_t n_open, n_connecting, n_failing;
	/* list of connections with requests to send, the oldest first */
	struct load_conn *dirty, **dirty_end;
	/*
	 * Lists in order of timer_ns: connections being opened and, for each delay, connections to
	 * be opened again.
	 */
	struct link connecting;
	struct link retry[LOAD_BACKOFFS];
	uint64_t flows_made;
	int dial_error;    /* -errno: first error in PHASE_CONNECT or PHASE_PRELOAD */
	const struct load_conn *dial_failed;
	char greeting_refusal[128]; /* text of the server's refusal of the greeting */
	uint8_t dial_state; /* enum conn_state in which dial_error happened */
	uint64_t shut;     /* number of connections that ended before a reply */
	uint64_t down_ns;  /* when the last connection was lost; 0: some are open, or unknown */
	uint64_t slowest_dial_ns; /* longest time that opening a connection took */

	/* Requests. */
	struct load_request *requests, *spare;
	struct link sent, awaiting_stamps;
	uint32_t n_resends; /* number of requests in the pools' lists `resend` */
	uint64_t unemitted;     /* number of requests that have not become samples yet */
	uint64_t assigned; /* number of requests in flight */
	struct event_load count;
	struct causes causes;
	struct tls_counts tls;
	struct cluster_counts cluster;
	struct dial_times dial_times;

	/* Buffers. */
	char *out, *in;
	size_t out_size;
	/* much data was copied since the last clock reading: the time taken is no preemption */
	bool bulky;

	/* Busy polling of the NIC's queue (polled.h). */
	int poll_error;      /* -errno of enabling busy polling; 0: enabled or not tried */
	uint64_t poll_asked; /* 1 + number of the request last checked for a NIC queue; 0: none */
	bool poll_known;     /* the socket of the request last checked has a NIC queue */
	bool poll_queue;     /* a socket has had a NIC queue to poll */

	/* Queues to the thread that writes the events. */
	struct spsc_queue samples, flows, ticks;
	struct interference_thread interference;
};

#define LOAD_IN_SIZE (256 << 10)
#define LOAD_OUT_SIZE (256 << 10)
/*
 * Bytes whose copying takes less than LOAD_STALL_NS. A longer time between two clock readings,
 * without a larger copy, counts as a gap in which the thread did not run.
 */
#define LOAD_BULK (32 << 10)
#define LOAD_STALL_NS 200000ULL

/*
 * Reads the clock. The thread never waits between two reads, so a longer distance means that the
 * thread did not run, unless it copied much data.
 */
static inline uint64_t thread_clock(struct load_thread *t)
{
	const uint64_t last = t->now;

	t->now = clock_now();
	if (__builtin_expect(t->now - last > LOAD_STALL_NS, 0) && !t->bulky)
		interference_gap(&t->interference, last, t->now);
	t->bulky = false;
	return t->now;
}

/* Initializes the random numbers of a request: the same number gives the same request. */
static inline void thread_request_rng(const struct load_thread *t, uint64_t number,
				      struct rng *rng)
{
	rng_init(rng, t->config->seed + (number + 1) * 0x9e3779b97f4a7c15ULL);
}

static inline void thread_notify(struct load_thread *t)
{
	const uint64_t one = 1;
	ssize_t n = write(t->notify, &one, sizeof(one));

	(void)n; /* EAGAIN: the eventfd's counter is full, so the reader is woken anyway */
}

#endif
