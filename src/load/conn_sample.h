/* SPDX-License-Identifier: Apache-2.0 */
/* The sample of a request whose reply has come. */
#ifndef HOSTLAT_LOAD_CONN_SAMPLE_H
#define HOSTLAT_LOAD_CONN_SAMPLE_H

#include "load/thread.h"

/*
 * Fills in a request's times, by the thread's clock, and bytes. `rx`: stamp of the last byte read;
 * `last`: this byte ends the reply.
 */
void conn_sample_fill(struct load_thread *t, struct load_conn *c, struct load_request *r,
		      const struct reply *reply, const struct net_rx_stamp *rx, bool last);

/* Converts a time of CLOCK_REALTIME to CLOCK_MONOTONIC, ns; 0 (unknown) remains. */
uint64_t conn_sample_mono(const struct load_thread *t, uint64_t real_ns);

#endif
