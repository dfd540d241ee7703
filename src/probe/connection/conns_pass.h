/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of connections (conns_probe.h, conns_diag.h) say of their work. */
#ifndef HOSTLAT_PROBE_CONNS_PASS_H
#define HOSTLAT_PROBE_CONNS_PASS_H

#include <stdbool.h>
#include <stdint.h>

/* One per thing that is not told: "what: why". */
#define CONNS_PROBE_FACT_MISSING "conns.missing"

/* Whose calls are logged, each of them. Zeroed: nobody's. */
struct conns_log {
	bool on;
	bool all;           /* of all connections; else of those that are chosen: */
	uint64_t cookie;    /* from the beginning on; 0: none */
};

/* What a pass has met. */
struct conns_pass {
	uint64_t members;   /* connections of the level that it has visited */
	uint64_t reported;  /* records */
	uint64_t cpu_ns;    /* of this thread, the kernel's part included */
	bool ended;         /* it has visited all */
};

/* What the programs have cost in others' time. */
struct conns_push {
	uint64_t ns;
	uint64_t ends_ns;   /* of it, for connections that began and ended */
	bool exact;         /* by the kernel's statistics; else by how often they ran */
};

/* Of connections that come and go, so far. */
struct conns_ends {
	uint64_t records;   /* that were told, of all */
	uint64_t closed;    /* of these, of connections that had closed */
	uint64_t begun;     /* connections that began; */
	uint64_t left_out;  /* ... that are not followed */
};

/* What is lost so far. */
struct conns_lost {
	uint64_t no_memory; /* connections that are not followed */
	uint64_t ring;      /* closed ones whose end was not told */
	uint64_t timers;    /* delayed ACKs, and probes, that were not counted */
	uint64_t skipped;   /* runs of programs that would have interrupted themselves */
};

#endif
