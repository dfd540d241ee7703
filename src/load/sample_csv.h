/* SPDX-License-Identifier: Apache-2.0 */
/* Writes requests as lines of CSV; hostlat-json(7), "Files of load", describes the columns. */
#ifndef HOSTLAT_LOAD_SAMPLE_CSV_H
#define HOSTLAT_LOAD_SAMPLE_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "event/source.h"
#include "load/config.h"

#define SAMPLE_CSV_HEAD                                                                            \
	"intended_ns,sent_ns,sched_ns,snd_ns,ack_ns,server_in_ns,server_out_ns,rx_ns,wake_ns,"     \
	"done_ns,tx_bytes,rx_bytes,tx_offset,rx_offset,netns,local,remote,type,status,flags\n"

/*
 * Largest number of connections, over all agents, whose addresses are stored: as many as may be
 * open at a time (at most 150 MB). Lines of later connections have no addresses.
 */
#define LOAD_FLOWS_MAX (1U << 20)

struct load_flows VEC_OF(struct event_flow);

/* Addresses of the connections, which the lines of requests contain. */
struct sample_csv {
	/* per agent: addresses, indexed by the number in the flow id */
	struct load_flows flows[LOAD_AGENTS_MAX];
	uint32_t n_flows;                         /* number of stored addresses, over all agents */
	bool flows_full;
	/* lines without addresses, because LOAD_FLOWS_MAX was reached */
	uint64_t unaddressed;
};

void sample_csv_init(struct sample_csv *csv);
void sample_csv_release(struct sample_csv *csv);

/* Stores the addresses of a connection from an EV_FLOW event. Returns 0 or -ENOMEM. */
int sample_csv_add_flow(struct sample_csv *csv, const struct event *event);

/* Appends the line of a request. */
void sample_csv_put(struct sample_csv *csv, const struct event_sample *sample, struct strbuf *out);

#endif
