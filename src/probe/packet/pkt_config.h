/* SPDX-License-Identifier: Apache-2.0 */
/* What the watch probe is to measure. */
#ifndef HOSTLAT_PROBE_PKT_CONFIG_H
#define HOSTLAT_PROBE_PKT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

/* Where a stage can be measured by a tracepoint and by a function: which. */
enum pkt_backend {
	BACKEND_AUTO,       /* the first that works */
	BACKEND_TRACEPOINT, /* no function; netfilter and cgroup hooks count as tracepoints */
	BACKEND_FENTRY,
};

/* What a message of pkt_probe_messages() is, of those that are received. */
enum message_boundary {
	MESSAGES_NONE,
	MESSAGES_BY_CALL,    /* a receive call; what is sent: a send call */
	MESSAGES_BY_REQUEST, /* a request that is answered, until its reply's send call */
	MESSAGES_BY_MARK,    /* what a thread read before its begin mark, until the end mark */
};

/* A USDT probe: a place that an executable or library names in its .note.stapsdt. */
struct pkt_mark {
	const char *path, *provider, *name;
};

struct pkt_marks {
	struct pkt_mark begin, end;
	bool by_id; /* which belong together says their first argument, not their thread */
};

struct activity;

struct pkt_probe_config {
	/* Options: cmd/live_options.c has a row for each, and what a recording calls it. */
	uint64_t stages;      /* mask of 1 << enum stage; 0 only before live_options_stages() */
	uint32_t origin;      /* enum origin; ORIGIN_NONE: by packet */
	uint32_t backend;     /* enum pkt_backend */
	uint32_t hol;         /* enum hol */
	uint64_t by;          /* 1 << enum group_key of what rows are divided by; 0: not at all */
	uint64_t pid;         /* process (thread group); 0 = all */
	uint64_t port;        /* local port; 0 = all */
	const char *ifname, *netns, *cgroup; /* as they were typed; NULL = all */
	const char *probe;    /* function or tracepoint, at most PKT_PROBE_MAX; or NULL */
	uint64_t one_in;      /* of so many packets one is measured; 0, 1: each */
	double max_overhead;  /* share of the CPUs' time above which less is; 0: no limit */
	uint64_t min_queue;   /* unread packets that one must find in its socket; 0 = any number */
	uint64_t slower_than_ns; /* messages that are told of one by one; 0 = none */
	uint64_t memory;      /* bytes that the maps may take */

	/* Set by live_check(): inode of `netns`, id and depth of `cgroup` in cgroup2. */
	uint64_t netns_inode, cgroup_id;
	uint32_t cgroup_level;

	/* Set by `record` alone. */
	uint32_t messages;    /* enum message_boundary: kept for pkt_probe_messages() */
	const struct pkt_marks *marks; /* MESSAGES_BY_MARK: which; else NULL */
	const struct activity *activity; /* whose programs are part of the own cost; or NULL */
};

#define PKT_MEMORY_DEFAULT (64ULL << 20)
/* The least that will do; --help says it, too. loader.c sees to it that it does. */
#define PKT_MEMORY_FIXED (2352ULL << 10)
#define PKT_MEMORY_PER_CPU (444ULL << 10)

#define PKT_PROBE_MAX 128

#endif
