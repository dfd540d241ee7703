/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a problem rests on and what may be done about it, with figures. Each function fills in a
 * struct conn_telling for one row of conns/rules.c. Advice is from what the connection shows:
 * sections 5 and 6 of Yu et al. (NSDI 2011), for a kernel that tunes its buffers itself.
 */
#ifndef HOSTLAT_CONNS_EVIDENCE_H
#define HOSTLAT_CONNS_EVIDENCE_H

#include "conns/problem.h"

void tell_send_buffer(struct conn_telling *t);
void tell_fast_retransmit(struct conn_telling *t);
void tell_timeout(struct conn_telling *t);
void tell_tail_loss_probe(struct conn_telling *t);
void tell_spurious(struct conn_telling *t);
void tell_receiver_window(struct conn_telling *t);
void tell_zero_window(struct conn_telling *t);
void tell_not_reading(struct conn_telling *t);
void tell_delayed_ack(struct conn_telling *t);
void tell_own_delayed_ack(struct conn_telling *t);
void tell_nagle(struct conn_telling *t);
void tell_small_writes(struct conn_telling *t);
void tell_burst(struct conn_telling *t);
void tell_restart(struct conn_telling *t);

#endif
