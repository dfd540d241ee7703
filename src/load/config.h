/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of a run of `load`. The command makes it from its options; agents get the same
 * options as text; recordings hold it as facts. Strings are borrowed: they point into argv or into
 * the buffer that the config was read from.
 */
#ifndef HOSTLAT_LOAD_CONFIG_H
#define HOSTLAT_LOAD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "load/request_options.h"

#define LOAD_TARGETS_MAX 64
#define LOAD_THREADS_MAX 64
#define LOAD_CONNECTIONS_MAX 1000000
#define LOAD_OUTSTANDING_MAX 1024
#define LOAD_AGENTS_MAX 64
#define LOAD_LAW_MAX 4352 /* bytes of an arrival process's text: a path, with a prefix */

/* Period in ns at which an engine reports counters (EV_LOAD) and a run may be ended early. */
#define LOAD_TICK_NS 100000000ULL

enum load_loop {
	LOOP_OPEN,   /* requests are due by a schedule, independent of replies */
	LOOP_CLOSED, /* a request follows a reply, so there is no latency at a given rate */
};

enum load_priority {
	PRIORITY_NORMAL,   /* as this process was started */
	PRIORITY_HIGH,     /* nice -20 */
	PRIORITY_REALTIME, /* SCHED_RR */
	PRIORITY_UNKNOWN,  /* the threads are those of agents, each granted what its host allows */
};

enum load_stamps {
	STAMPS_USER,   /* only clock reads by hostlat */
	STAMPS_KERNEL, /* clock reads, and the kernel's software time stamps */
	STAMPS_NIC,    /* as STAMPS_KERNEL, with the NIC's stamps of packets sent and received */
};

enum load_role {
	ROLE_SYMMETRIC,  /* generates load and measures latency */
	ROLE_THROUGHPUT, /* generates load; its samples are not part of any latency */
	ROLE_LATENCY,    /* measures latency; never sleeps while a reply is due */
};

struct net_resolving;

struct load_config {
	const char *targets[LOAD_TARGETS_MAX]; /* URLs, which the connections use in turn */
	uint32_t n_targets;
	uint32_t loop;   /* enum load_loop */
	uint32_t stamps; /* enum load_stamps */
	uint32_t role;   /* enum load_role */
	uint32_t priority; /* enum load_priority of the threads: scheduling_granted() */
	double rate;     /* requests per second of this agent, over all threads; > 0 */
	/* rate that one connection reached, of which `rate` is the half; 0: the user chose it */
	double rate_probed;
	const char *arrival;  /* text for arrival_parse(): "poisson", "lognormal:2", a file ... */
	const char *workload; /* text for workload_parse(); NULL: the protocol's default */
	uint32_t connections; /* connections of all threads; at least one per thread */
	uint32_t outstanding; /* outstanding requests per connection, 1 to LOAD_OUTSTANDING_MAX */
	uint32_t threads;
	uint32_t agent; /* number of this agent, from 0, for LOAD_CORE() and LOAD_FLOW() */
	uint64_t requests_per_connection; /* requests until a reconnect; 0: unlimited */
	uint64_t duration_ns; /* length of the schedule in ns */
	/* time limit of a connect, and of a request since its assignment to a connection */
	uint64_t timeout_ns;
	uint64_t drain_ns;    /* time to wait for replies after the last send */
	uint64_t seed;        /* seed of random numbers, different for each agent of a run */
	bool pin;             /* pin each thread to a CPU that this process may use */
	bool spin;            /* threads never sleep; only with `pin` */
	bool preload;         /* store every key before the schedule begins */
	bool insecure;        /* TLS: do not check certificates */
	/* TLS: certificates to trust instead of the system's; NULL: the system's */
	const char *ca_file;
	const char *cert_file, *key_file; /* TLS: client certificate and key (PEM); NULL: none */
	struct request_options request;
	const char *abort_on; /* conditions that end the run (abort_on.h); NULL: none */
	const char *urls_file; /* file of URLs instead of `targets` (url_list.h); NULL: none */
	const char *bind;     /* addresses to connect from (sources.h); NULL: the kernel chooses */
	bool bind_any;        /* not all of `bind` are addresses of this agent's host */
	bool spread;          /* connections use all addresses of a name in turn, not the first */
	struct opt_list commands; /* Redis: commands (resp_command.h) instead of operations */
	const char *replay;   /* file of recorded requests (replay.h), which are sent; NULL: none */
	char law[LOAD_LAW_MAX]; /* text of `arrival` if hostlat makes it; `arrival` points here */
	const char *expect;   /* HTTP statuses that count as success (statuses.h); NULL: default */
	/* how to wait for name resolution; NULL: the wait cannot be stopped */
	const struct net_resolving *resolving;
};

/*
 * LOAD_CORE() numbers threads (`core` of a block of samples) and LOAD_FLOW() numbers connections,
 * such that the numbers are unique over all agents of a run.
 */
#define LOAD_CORE(agent, thread) ((agent) * LOAD_THREADS_MAX + (thread))
#define LOAD_FLOW(agent, n) (((uint32_t)(agent) << 26 | ((n) & 0x3ffffffU)))

#endif
