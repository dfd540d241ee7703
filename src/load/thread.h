/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one thread of the data plane owns: its connections, its requests and what it counts. Only
 * that thread touches it, but for the rings, whose other side is the pulling thread, and before the
 * thread is started.
 *
 * A request's way: from the pool (`spare`) to a connection (in `sent`, in order of `given_ns`);
 * with its outcome to `held`, in order of `done`, until its stamps are in; to the ring as a sample;
 * back to the pool. One whose reply may still come stays with its connection until then.
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
	uint8_t nics[NET_ADDRESSES_MAX]; /* with STAMPS_NIC: of each address, in load_thread.nics */
	uint32_t n_addresses; /* 0: no network */
	size_t request_max;
	char greeting[PROTOCOL_GREETING_MAX]; /* what a new connection says first */
	size_t greeting_size;     /* 0: nothing */
	unsigned int greeting_replies;
	uint64_t stored; /* keys that preloading has sent */
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
	struct link link;          /* in `sent` or `held` */
	struct load_request *next; /* on its connection, or in the pool */
	struct load_conn *conn;
	uint64_t number;           /* chance is drawn from it: the same number, the same bytes */
	uint64_t queued_ns;         /* to its connection; its timeout counts from here */
	uint32_t id, reply_id;
	uint8_t failure;           /* enum load_failure */
	bool queued;               /* its connection still waits for the reply */
	bool emitted;
	bool begun;                /* its first byte is on its way */
	bool miss;                 /* its reply holds nothing */
	bool awaits_resend;                /* in `again` */
	struct match_tx tx;        /* ns by the monotonic clock, but for NET_STAMP_NIC */
	uint64_t rx_ns;            /* 0: no stamp */
	uint64_t nic_rx_ns;        /* by the NIC's clock; 0: no stamp */
	const struct clock_phc *phc; /* its connection's */
	struct event_sample sample;
};

enum conn_state { CONN_DOWN, CONN_CONNECTING, CONN_TLS, CONN_GREETING, CONN_OPEN };

struct load_conn {
	struct load_target *target;
	struct load_conn *dirty_next; /* requests were given to it and not sent yet */
	struct load_request *head, *tail; /* in order of sending */
	struct load_request *unwritten;   /* the first that isn't sent wholly */
	uint64_t skip;             /* bytes of it that are */
	uint32_t index;
	uint32_t generation;       /* tells events of an earlier socket */
	uint32_t free_at;          /* in load_thread.free; LOAD_NONE */
	uint32_t outstanding;      /* from head to tail */
	uint32_t dead;             /* of these timed out */
	uint32_t serial;           /* the last request's id */
	uint32_t flow;
	uint32_t address;          /* of the target's, next to be tried */
	const struct clock_phc *phc; /* of its NIC; NULL without STAMPS_NIC */
	uint8_t state;             /* enum conn_state */
	uint8_t backoff;
	uint8_t greeted;           /* replies to its greeting that have come */
	bool dirty, blocked, retiring, failing;
	bool shut;                 /* the last one ended before a reply, and none came since */
	uint64_t requests, replies; /* since it was made; a refusal is no reply */
	uint64_t rx, reply_begin;  /* bytes in the flow */
	uint64_t timer_ns;
	struct link timer;         /* in `connecting` or `retry` */
	struct match match;
	struct net_stream stream;
	struct reply_parser parser;
};

enum load_thread_command {
	LOAD_GO,
	LOAD_STOP,    /* send nothing more */
	LOAD_CUT,     /* and wait for no reply: what is in flight stays so */
	LOAD_ABANDON, /* nobody pulls any more: end at once */
};

enum load_phase { PHASE_CONNECT, PHASE_PRELOAD, PHASE_RUN };

/* A tick as one thread sees it. */
struct load_tick {
	uint64_t number; /* since the start; UINT64_MAX: the thread's last */
	uint64_t at_ns;
	uint64_t samples; /* position in its ring: those before it belong before the tick */
	uint64_t preempted_ns;
	uint64_t nic_error_ns; /* of all conversions so far, the widest bound */
	uint32_t cpu;
	struct event_clock clock; /* mono_ns 0: none */
	struct event_load load;
};

struct load_thread {
	/* Set before the start. */
	const struct load_config *config;
	const struct schedule *schedule;
	const struct statuses *expect;
	const int *command; /* enum load_command; atomic */
	uint32_t index;
	uint32_t n_conns;
	int notify;        /* eventfd of the pulling thread */
	uint64_t start_ns;
	int cpu;           /* -1: any */
	const struct net_nic *nics; /* those that stamp */
	uint32_t n_nics;
	enum load_phase phase;
	pthread_t pthread;

	/* Time. */
	struct net_wait wait;
	uint64_t now;      /* the last reading of the clock */
	uint64_t tick_ns;  /* the next tick is due */
	uint64_t end_ns;   /* no request is due from here on */
	bool stopped;
	struct clock_follow *follow;
	struct clock_follow_params clock;
	struct clock_phc *phcs; /* of `nics`; each thread has its own */
	uint64_t nic_error_ns; /* the widest bound of a conversion */

	/* What is due: positions in the schedule, this thread's share of it. */
	uint64_t next;     /* the next to be sent */
	uint64_t due;      /* the first whose time has not come, as of the last tick */
	uint64_t taken;    /* requests given to connections */
	struct rng rng;    /* chooses connections */

	/* Connections. */
	struct load_conn *conns;
	uint32_t *free;    /* indices of those that take a request */
	uint32_t n_free, n_open, n_connecting, n_failing;
	struct load_conn *dirty, **dirty_end; /* whose requests are due for long come first */
	struct link connecting; /* in order of timer_ns, as are those below */
	struct link retry[LOAD_BACKOFFS];
	uint64_t flows_made;
	int dial_error;    /* of PHASE_CONNECT and PHASE_PRELOAD */
	const struct load_conn *dial_failed;
	char greeting_refusal[128]; /* the server's refusal of a greeting, for people */
	bool dial_in_tls;  /* it failed in the handshake */
	uint64_t shut;     /* connections that ended before a reply */
	uint64_t down_ns;  /* since then none is open; 0: some are, or it is not known */
	uint64_t slowest_dial_ns; /* of the connections that could be opened */

	/* Requests. */
	struct load_request *requests, *spare;
	struct link sent, awaiting_stamps;
	struct load_request *resend, **resend_end; /* lost their connection, wait for another */
	uint64_t unemitted;     /* in `sent` and `held`, and not emitted */
	uint64_t assigned; /* in flight */
	struct event_load count;
	struct causes causes;

	/* Buffers. */
	char *out, *in;
	size_t out_size;
	bool bulky;        /* the last operation moved much: its time is no gap */

	/* Polling of the network card's queue (polled.h). */
	int poll_error;      /* why it isn't permitted, or 0 */
	uint64_t poll_asked; /* number + 1 of the request whose connection was asked for one */
	bool poll_known;     /* that connection has a queue */
	bool poll_queue;     /* some connection had one */

	/* To the pulling thread. */
	struct spsc_queue samples, flows, ticks;
	struct interference_thread interference;
};

#define LOAD_IN_SIZE (256 << 10)
#define LOAD_OUT_SIZE (256 << 10)
/* No call that copies less than this takes that long. */
#define LOAD_BULK (32 << 10)
#define LOAD_STALL_NS 200000ULL

/*
 * Reads the clock. Between two readings nothing waits: if they lie far apart, then the thread was
 * not running, unless it had much to copy.
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

	(void)n; /* EAGAIN: it has not looked for 2^64 - 2 times */
}

#endif
