/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one thread of the data plane: connections, requests and counters. Only that thread
 * uses it, except before its start, and for the queues to the consuming thread.
 *
 * Life of a request: from the pool (`spare`) to a connection (in `sent`, in order of `queued_ns`);
 * when it ends, to `awaiting_stamps`, in order of `done`, until its stamps have arrived; to the
 * queue as a sample; back to the pool. A failed request whose reply may still arrive stays with its
 * connection until then.
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
#include "load/config.h"
#include "load/list.h"
#include "load/match.h"
#include "load/interference.h"
#include "load/protocol.h"
#include "load/spsc.h"
#include "load/schedule.h"
#include "load/statuses.h"
#include "load/workload.h"
#include "net/nic.h"
#include "net/stream.h"
#include "net/wait.h"

#define LOAD_NONE UINT32_MAX
#define LOAD_BACKOFFS 11 /* 0, 1, 2, 4 ... 512 ms */

struct load_target {
	struct target target;
	const struct protocol *protocol;
	struct workload workload;
	struct net_address addresses[NET_ADDRESSES_MAX];
	/* with STAMPS_NIC: index in load_thread.nics, per address */
	uint8_t nics[NET_ADDRESSES_MAX];
	uint32_t n_addresses; /* 0: no network */
	size_t request_max;
	char greeting[PROTOCOL_GREETING_MAX]; /* first bytes of a new connection */
	size_t greeting_size;     /* 0: none */
	unsigned int greeting_replies;
	uint64_t stored; /* keys sent by --preload */
};

enum load_failure {
	FAILURE_NONE,
	FAILURE_TIMEOUT,
	FAILURE_RESET,
	FAILURE_REFUSED,
	FAILURE_GARBLED,
};

struct load_conn;

struct load_request {
	struct link link;          /* in `sent` or `awaiting_stamps` */
	struct load_request *next; /* next on its connection, in the pool or in `resend` */
	struct load_conn *conn;
	/* seeds its random numbers: the same number gives the same bytes */
	uint64_t number;
	/* when it was assigned to its connection; its timeout counts from here */
	uint64_t queued_ns;
	uint32_t id, reply_id;
	uint8_t failure;           /* enum load_failure */
	bool queued;               /* the connection still waits for its reply */
	bool emitted;
	bool begun;                /* its first byte was written */
	bool miss;                 /* its reply is a miss */
	bool awaits_resend;                /* in `resend` */
	struct match_tx tx;        /* stamps by the monotonic clock, except NET_STAMP_NIC */
	uint64_t rx_ns;            /* 0: no stamp */
	uint64_t nic_rx_ns;        /* by the NIC's clock; 0: no stamp */
	const struct clock_phc *phc; /* clock of its connection's NIC */
	struct event_sample sample;
};

enum conn_state { CONN_DOWN, CONN_CONNECTING, CONN_TLS, CONN_GREETING, CONN_OPEN };

struct load_conn {
	struct load_target *target;
	struct load_conn *dirty_next; /* next in the list of connections with requests to send */
	struct load_request *head, *tail; /* in order of sending */
	struct load_request *unwritten;   /* first request that is not completely written */
	uint64_t skip;             /* bytes of `unwritten` already written */
	uint32_t index;
	uint32_t generation;       /* identifies events of an earlier socket */
	uint32_t free_at;          /* index in load_thread.free; LOAD_NONE */
	uint32_t outstanding;      /* requests from head to tail */
	uint32_t dead;             /* requests among them that timed out */
	uint32_t serial;           /* id of the last request */
	uint32_t flow;
	uint32_t address;          /* index of the target's address to try next */
	const struct clock_phc *phc; /* clock of its NIC; NULL without STAMPS_NIC */
	uint8_t state;             /* enum conn_state */
	uint8_t backoff;
	uint8_t greeted;           /* replies received to its greeting */
	bool dirty, blocked, retiring, failing;
	bool shut;                 /* its last socket ended before a reply, with no reply since */
	uint64_t requests, replies; /* since its opening; a refusal does not count as a reply */
	uint64_t rx, reply_begin;  /* position in the received bytes; start of the current reply */
	uint64_t timer_ns;
	struct link timer;         /* in `connecting` or `retry` of the thread */
	struct match match;
	struct net_stream stream;
	struct reply_parser parser;
};

enum load_thread_command {
	LOAD_GO,
	LOAD_STOP,    /* send nothing more */
	LOAD_CUT,     /* send nothing more and wait for no reply */
	LOAD_ABANDON, /* the consumer has gone: end at once */
};

enum load_phase { PHASE_CONNECT, PHASE_PRELOAD, PHASE_RUN };

/* A thread's part of a tick. */
struct load_tick {
	uint64_t number; /* number since the start; UINT64_MAX: the thread's last */
	uint64_t at_ns;
	uint64_t samples; /* position in its queue: those before it belong before the tick */
	uint64_t preempted_ns;
	uint64_t nic_error_ns; /* largest error of a stamp's conversion so far */
	uint32_t cpu;
	struct event_clock clock; /* mono_ns 0: unknown */
	struct event_load load;
};

struct load_thread {
	/* Set before the start. */
	const struct load_config *config;
	const struct schedule *schedule;
	const struct statuses *expect;
	const int *command; /* enum load_thread_command; atomic */
	uint32_t index;
	uint32_t n_conns;
	int notify;        /* eventfd of the consuming thread */
	uint64_t start_ns;
	int cpu;           /* -1: any */
	const struct net_nic *nics; /* NICs that stamp packets */
	uint32_t n_nics;
	enum load_phase phase;
	pthread_t pthread;

	/* Time. */
	struct net_wait wait;
	uint64_t now;      /* last reading of the clock */
	uint64_t tick_ns;  /* time of the next tick */
	uint64_t end_ns;   /* end of the schedule */
	bool stopped;
	struct clock_follow *follow;
	struct clock_follow_params clock;
	struct clock_phc *phcs; /* clocks of `nics`; each thread has its own */
	uint64_t nic_error_ns; /* largest error of a stamp's conversion */

	/* Positions in the schedule; each thread uses its share of it. */
	uint64_t next;     /* next request to send */
	uint64_t due;      /* first request not yet due at the last tick */
	uint64_t taken;    /* requests assigned to connections */
	struct rng rng;    /* to choose connections */

	/* Connections. */
	struct load_conn *conns;
	uint32_t *free;    /* indices of connections that can take a request */
	uint32_t n_free, n_open, n_connecting, n_failing;
	/* connections with requests to send, the oldest first */
	struct load_conn *dirty, **dirty_end;
	struct link connecting; /* ordered by timer_ns, as are the lists below */
	struct link retry[LOAD_BACKOFFS];
	uint64_t flows_made;
	int dial_error;    /* first error in PHASE_CONNECT or PHASE_PRELOAD */
	const struct load_conn *dial_failed;
	char greeting_refusal[128]; /* the server's refusal of the greeting, printable */
	bool dial_in_tls;  /* the first error was in the TLS handshake */
	uint64_t shut;     /* connections that ended before a reply */
	uint64_t down_ns;  /* no connection is open since then; 0: some are, or unknown */
	uint64_t slowest_dial_ns; /* longest time to open a connection */

	/* Requests. */
	struct load_request *requests, *spare;
	struct link sent, awaiting_stamps;
	/* requests to send again on another connection */
	struct load_request *resend, **resend_end;
	uint64_t unemitted;     /* requests in `sent` and `awaiting_stamps` */
	uint64_t assigned; /* in flight */
	struct event_load count;
	struct causes causes;

	/* Buffers. */
	char *out, *in;
	size_t out_size;
	bool bulky;        /* the last operation copied much: its time is no gap */

	/* Polling of the network card's queue (polled.h). */
	int poll_error;      /* why busy polling is not permitted, or 0 */
	uint64_t poll_asked; /* number + 1 of the request for which the queue was queried */
	bool poll_known;     /* that request's connection has a queue */
	bool poll_queue;     /* some connection had a queue */

	/* Queues to the consuming thread. */
	struct spsc_queue samples, flows, ticks;
	struct interference_thread interference;
};

#define LOAD_IN_SIZE (256 << 10)
#define LOAD_OUT_SIZE (256 << 10)
/* A call that copies less than LOAD_BULK takes less than LOAD_STALL_NS. */
#define LOAD_BULK (32 << 10)
#define LOAD_STALL_NS 200000ULL

/*
 * Reads the clock. The thread never waits between two readings, so if they lie far apart, it was
 * not running, unless it copied much.
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

static inline void thread_notify(struct load_thread *t)
{
	const uint64_t one = 1;
	ssize_t n = write(t->notify, &one, sizeof(one));

	(void)n; /* EAGAIN: the consumer has not read 2^64 - 2 notifications */
}

#endif
