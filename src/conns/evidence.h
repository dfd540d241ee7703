/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains a problem: its evidence and advice, with numbers. Each function fills in a struct
 * conn_finding for one row of conns/rules.c. Advice follows from the connection's data: sections 5
 * and 6 of Yu et al. (NSDI 2011), for a kernel that tunes its buffers itself.
 */
#ifndef HOSTLAT_CONNS_EVIDENCE_H
#define HOSTLAT_CONNS_EVIDENCE_H

#include "conns/problem.h"

void explain_send_buffer(struct conn_finding *t);
void explain_fast_retransmit(struct conn_finding *t);
void explain_timeout(struct conn_finding *t);
void explain_tail_loss_probe(struct conn_finding *t);
void explain_spurious(struct conn_finding *t);
void explain_receiver_window(struct conn_finding *t);
void explain_zero_window(struct conn_finding *t);
void explain_not_reading(struct conn_finding *t);
void explain_delayed_ack(struct conn_finding *t);
void explain_own_delayed_ack(struct conn_finding *t);
void explain_delayed_repair(struct conn_finding *t);
void explain_nagle(struct conn_finding *t);
void explain_small_writes(struct conn_finding *t);
void explain_tiny_buffer(struct conn_finding *t);
void explain_burst(struct conn_finding *t);
void explain_restart(struct conn_finding *t);

#endif
