/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of the watch probe, and what a recording says of what was. */
#ifndef HOSTLAT_CMD_SESSION_OPTIONS_H
#define HOSTLAT_CMD_SESSION_OPTIONS_H

#include "base/opt.h"
#include "event/source.h"

#define SESSION_FACT_PORT "watch.port"

/* What to measure. The rows of these options are shared. */
struct probe_options {
	uint64_t stages;      /* mask of 1 << enum stage; 0: not asked, see session_stages() */
	uint32_t origin;      /* enum origin; ORIGIN_NONE: by packet */
	uint32_t backend;     /* enum watch_backend */
	uint32_t hol;         /* enum hol */
	uint64_t by;          /* mask of 1 << enum group_key; 0: no groups */
	uint64_t pid, port;
	const char *ifname, *netns, *cgroup, *probe;
	uint64_t one_in;      /* of so many packets one is measured; 0: each */
	double max_overhead;  /* share of the CPUs' time; 0: no limit */
	uint64_t min_queue;   /* 0: however many packets wait in the socket */
	uint64_t slower_than_ns; /* 0: slow messages aren't told of one by one */
	uint64_t memory;
};

extern const struct opt probe_option_rows[];

/* What is measured live if --stages doesn't say. A recording is shown with all that it has. */
uint64_t session_stages(const struct probe_options *options);

/*
 * What a snapshot may take as events, if the maps take `memory` bytes: a counter there has 8 bytes
 * and as an event 16; the rest is for names, counts and facts. Memory is taken as it is needed.
 */
uint64_t session_queue_bytes(uint64_t memory);

#define OPTIONS_PROBE(config, member)                                                              \
	OPT_ROWS(config, member, struct probe_options, probe_option_rows)

/* What was asked for and of whom, as EV_FACTs. 0 or an error of the sink. */
int session_put_facts(const struct probe_options *options, uint64_t interval_ns,
		      struct event_sink *sink, uint64_t now);

/*
 * A recording measured what it measured: with --from, options that ask for something else are
 * refused. Compares a fact of the file with the options; returns the name of the option that
 * differs, or NULL.
 */
const char *session_fact_differs(const struct probe_options *options, const char *key,
				 const char *value);

/*
 * The same at the end of the facts: `recorded` has the keys that were there, each as a bit of
 * session_fact_bit(). The option that asks for what no fact names, or NULL.
 */
const char *session_fact_missing(const struct probe_options *options, uint32_t recorded);
uint32_t session_fact_bit(const char *key);

#endif
