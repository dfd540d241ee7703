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

#define LOAD_TARGETS_MAX 64
#define LOAD_THREADS_MAX 64
#define LOAD_CONNECTIONS_MAX 1000000
#define LOAD_OUTSTANDING_MAX 1024
#define LOAD_AGENTS_MAX 64

/* How often an engine closes a tick (EV_LOAD); every decision is made at a tick. */
#define LOAD_TICK_NS 100000000ULL

enum load_loop {
	LOOP_OPEN,   /* requests are due when the schedule says, whatever the replies do */
	LOOP_CLOSED, /* a request follows a reply: gives no latency at a rate */
};

enum load_stamps {
	STAMPS_USER,   /* clock reads of hostlat only */
	STAMPS_KERNEL, /* also the kernel's software stamps */
	STAMPS_NIC,    /* as STAMPS_KERNEL, with the NIC's stamps of packets sent and received */
};

enum load_role {
	ROLE_SYMMETRIC,  /* loads and measures */
	ROLE_THROUGHPUT, /* loads; its samples are not part of any latency */
	ROLE_LATENCY,    /* probes at intended times, never sleeps while a reply is due */
};

struct net_resolving;

struct load_config {
	const char *targets[LOAD_TARGETS_MAX]; /* URLs; connections are assigned to them in turn */
	uint32_t n_targets;
	uint32_t loop;   /* enum load_loop */
	uint32_t stamps; /* enum load_stamps */
	uint32_t role;   /* enum load_role */
	double rate;     /* requests per second of this agent, over all threads; > 0 */
	const char *arrival;  /* for arrival_parse(): "poisson", "lognormal:2", a file ... */
	const char *workload; /* for workload_parse(): NULL is the protocol's own default */
	uint32_t connections; /* over all threads; at least one per thread */
	uint32_t outstanding; /* per connection, 1 to LOAD_OUTSTANDING_MAX */
	uint32_t threads;
	uint32_t agent; /* this agent's number, from 0: part of core and flow numbers */
	uint64_t requests_per_connection; /* reconnect after so many requests; 0: never */
	uint64_t duration_ns; /* length of the schedule */
	uint64_t timeout_ns;  /* timeout of a request since its actual send, and of a connect */
	uint64_t drain_ns;    /* how long replies are waited for after the last send */
	uint64_t seed;        /* different for each agent of a run */
	bool pin;             /* pin each thread to a CPU that this process may use */
	bool spin;            /* never sleep; only with `pin` */
	bool preload;         /* store every key first, before the schedule begins */
	bool insecure;        /* TLS: don't check certificates */
	/* TLS: certificates to trust instead of the system's; NULL: the system's */
	const char *ca_file;
	const char *cert_file, *key_file; /* TLS: client certificate and key (PEM); NULL: none */
	const char *expect;   /* HTTP statuses that count as success (statuses.h); NULL: default */
	/* how to wait for name resolution; NULL: without a way to stop it */
	const struct net_resolving *resolving;
};

/* `core` of a block of samples, and flow numbers: unique over all agents of a run. */
#define LOAD_CORE(agent, thread) ((agent) * LOAD_THREADS_MAX + (thread))
#define LOAD_FLOW(agent, n) (((uint32_t)(agent) << 26 | ((n) & 0x3ffffffU)))

#endif
