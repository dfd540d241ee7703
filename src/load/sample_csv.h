/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as lines of CSV: hostlat-json(7), "Files of load". */
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
 * Largest number of connections whose addresses are stored, over all agents: as many as may be open
 * at a time. With more, CSV lines of later connections have no addresses. At most 150 MB.
 */
#define LOAD_FLOWS_MAX (1U << 20)

struct load_flows VEC_OF(struct event_flow);

/* The addresses of connections, for the lines. */
struct sample_csv {
	/* per agent, indexed by the number in the flow's id */
	struct load_flows flows[LOAD_AGENTS_MAX];
	uint32_t n_flows;                         /* entries over all agents */
	bool flows_full;
	/* lines without addresses because the limit was reached */
	uint64_t unaddressed;
};

void sample_csv_init(struct sample_csv *csv);
void sample_csv_release(struct sample_csv *csv);

/* Stores the addresses of an EV_FLOW. Returns 0 or -ENOMEM. */
int sample_csv_add_flow(struct sample_csv *csv, const struct event *event);

/* Appends a request's line. */
void sample_csv_put(struct sample_csv *csv, const struct event_sample *sample, struct strbuf *out);

#endif
