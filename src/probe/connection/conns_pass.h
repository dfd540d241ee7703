/* SPDX-License-Identifier: Apache-2.0 */
/* Results of the sources of connections (conns_probe.h, conns_diag.h). */
#ifndef HOSTLAT_PROBE_CONNS_PASS_H
#define HOSTLAT_PROBE_CONNS_PASS_H

#include <stdbool.h>
#include <stdint.h>

/* Name of the facts (EV_FACT) on values that are not measured: "what: why". */
#define CONNS_PROBE_FACT_MISSING "conns.missing"

/* Selects the connections whose calls are logged. Zeroed: none. */
struct conns_log {
	bool on;
	bool all;           /* log calls of all connections; else of chosen connections */
	uint64_t cookie;    /* cookie of a connection chosen at the start; 0: none */
};

/* Result of a pass over the connections of an activity level, or of its part up to a quota. */
struct conns_pass {
	uint64_t members;   /* number of connections visited */
	uint64_t reported;  /* number of changed connections that were reported */
	uint64_t cpu_ns;    /* CPU time of this thread, including the kernel's part */
	bool ended;         /* the pass has visited all its connections */
};

/* CPU time that hostlat's BPF programs took from other processes. */
struct conns_push {
	uint64_t ns;
	uint64_t ends_ns;   /* part of `ns` for connections that began or ended */
	/* `ns` is exact; else estimated from the number of runs */
	bool exact;
};

/* Counts of beginning and ending connections so far. */
struct conns_ends {
	uint64_t records;   /* reported records */
	uint64_t closed;    /* reported records of closed connections */
	uint64_t begun;     /* connections that began */
	uint64_t left_out;  /* connections that began and are not followed */
};

/* Numbers of connections, events and program runs that were missed so far. */
struct conns_lost {
	uint64_t no_memory; /* connections not followed, for lack of memory */
	uint64_t ring;      /* closed connections whose end was not reported */
	uint64_t timers;    /* delayed ACKs and probes that were not counted */
	/* program runs that the kernel skipped as they would have interrupted themselves */
	uint64_t skipped;
};

#endif
