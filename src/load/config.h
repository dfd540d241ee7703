/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of `load` is to do, as data: made by the command from its options, sent to agents as
 * the same options in text, and kept in recordings as facts. Strings are borrowed: they point into
 * argv or into whatever the config was read from.
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
	LOOP_CLOSED, /* a request follows a reply: says nothing of latency at a rate */
};

enum load_stamps {
	STAMPS_USER,   /* our own clock reads only */
	STAMPS_KERNEL, /* also the kernel's software stamps */
	STAMPS_NIC,    /* ... but when a packet left and came in is told by the NIC */
};

enum load_role {
	ROLE_SYMMETRIC,  /* loads and measures */
	ROLE_THROUGHPUT, /* loads; its samples are not part of any latency */
	ROLE_LATENCY,    /* probes at intended times, never sleeps while a reply is due */
};

struct net_resolving;

struct load_config {
	const char *targets[LOAD_TARGETS_MAX]; /* URLs; connections are dealt to them in turn */
	uint32_t n_targets;
	uint32_t loop;   /* enum load_loop */
	uint32_t stamps; /* enum load_stamps */
	uint32_t role;   /* enum load_role */
	double rate;     /* requests per second, of this agent, all threads; > 0 */
	const char *arrival;  /* for arrival_parse(): "poisson", "lognormal:2", a file ... */
	const char *workload; /* for workload_parse(): NULL is the protocol's own default */
	uint32_t connections; /* in all; at least one per thread */
	uint32_t outstanding; /* per connection, 1 to LOAD_OUTSTANDING_MAX */
	uint32_t threads;
	uint32_t agent; /* our number, from 0: part of core and flow numbers */
	uint64_t requests_per_connection; /* then it is closed and made anew; 0: never */
	uint64_t duration_ns; /* of the schedule */
	uint64_t timeout_ns;  /* of a request, from its actual send; of a connect, too */
	uint64_t drain_ns;    /* how long replies are waited for after the last send */
	uint64_t seed;        /* two agents of one run never have the same */
	bool pin;             /* a CPU per thread, from those this process may use */
	bool spin;            /* never sleep: only with `pin` and a CPU that is free for it */
	bool preload;         /* store every key first, before the schedule begins */
	bool insecure;        /* TLS: don't check certificates */
	/* TLS: trust these instead of the system's; NULL */
	const char *ca_file;
	const char *cert_file, *key_file; /* TLS: our own, if the server asks; NULL */
	const char *expect;   /* HTTP statuses that are a success (statuses.h); NULL: by class */
	/* how names are waited for; NULL: patiently */
	const struct net_resolving *resolving;
};

/* `core` of a sample's block, and flow numbers: distinct over all agents of a run. */
#define LOAD_CORE(agent, thread) ((agent) * LOAD_THREADS_MAX + (thread))
#define LOAD_FLOW(agent, n) (((uint32_t)(agent) << 26 | ((n) & 0x3ffffffU)))

#endif
