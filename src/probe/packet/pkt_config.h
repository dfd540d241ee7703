/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration of the packet probe. */
#ifndef HOSTLAT_PROBE_PKT_CONFIG_H
#define HOSTLAT_PROBE_PKT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

/* --backend: kind of hook of the stages that both a tracepoint and a function can measure. */
enum pkt_backend {
	BACKEND_AUTO,       /* the first hook that works */
	BACKEND_TRACEPOINT, /* no function hooks; netfilter and cgroup hooks count as tracepoints */
	BACKEND_FENTRY,
};

/* Boundary of the messages that `record` writes, see pkt_probe_messages(). */
enum message_boundary {
	MESSAGES_NONE,
	MESSAGES_BY_CALL,    /* bytes of a receive call, or of a send call */
	MESSAGES_BY_REQUEST, /* an answered request, until its reply's send call */
	MESSAGES_BY_MARK,    /* a thread's reads before its begin mark, until its end mark */
};

/* A USDT probe: a place that an executable or library names in its .note.stapsdt. */
struct pkt_mark {
	const char *path, *provider, *name;
};

struct pkt_marks {
	struct pkt_mark begin, end;
	bool by_id; /* marks match by their first argument; else by thread */
};

struct activity;

struct pkt_probe_config {
	/* Command line options; cmd/live_options.c has a row and a name in recordings for each. */
	uint64_t stages;      /* mask of 1 << enum stage; 0: replaced by live_options_stages() */
	uint32_t origin;      /* enum origin; ORIGIN_NONE: the best origin known for each packet */
	uint32_t backend;     /* enum pkt_backend */
	uint32_t hol;         /* enum hol */
	uint64_t by;          /* mask of 1 << enum group_key that divides the histograms; 0: none */
	uint64_t pid;         /* process (thread group); 0 = all */
	uint64_t port;        /* local port; 0 = all */
	const char *ifname, *netns, *cgroup; /* as the user gave them; NULL = all */
	const char *probe;    /* function or tracepoint, at most PKT_PROBE_MAX bytes; or NULL */
	uint64_t one_in;      /* one packet in this many is measured; 0, 1: each */
	double max_overhead;  /* highest overhead, as a share of the CPUs' time; 0: no limit */
	uint64_t min_queue;   /* measures packets that find this many packets unread; 0 = all */
	uint64_t slower_than_ns; /* slower messages are reported one by one; 0 = none */
	uint64_t memory;      /* bytes that the maps may take */

	/* Set by live_check(): inode of `netns`; id of `cgroup` and its depth in cgroup2. */
	uint64_t netns_inode, cgroup_id;
	uint32_t cgroup_level;

	/* Set by `record` only. */
	uint32_t messages;    /* enum message_boundary, for pkt_probe_messages() */
	const struct pkt_marks *marks; /* the marks for MESSAGES_BY_MARK; else NULL */
	/* CPU activity, whose programs add to the overhead; or NULL */
	const struct activity *activity;
};

#define PKT_MEMORY_DEFAULT (64ULL << 20)
/*
 * Minimum of --memory in KiB, fixed and per CPU, as literals that --help can print. loader.c
 * asserts that the maps fit.
 */
#define PKT_MEMORY_FIXED_KIB 2352
#define PKT_MEMORY_PER_CPU_KIB 444
#define PKT_MEMORY_FIXED ((uint64_t)PKT_MEMORY_FIXED_KIB << 10)
#define PKT_MEMORY_PER_CPU ((uint64_t)PKT_MEMORY_PER_CPU_KIB << 10)

#define PKT_PROBE_MAX 128

#endif
