/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of a connection from inet_diag's answer, by the rules of bpf/conn_poll.bpf.h as far as the
 * answer allows. Pure functions.
 */
#ifndef HOSTLAT_PROBE_DIAG_STATE_H
#define HOSTLAT_PROBE_DIAG_STATE_H

#include "bpf/abi_conns.h"
#include "probe/connection/diag.h"

/* Returns whether the answer includes a connection's byte counters. */
bool diag_has_bytes(const struct diag_sock *sock);

/*
 * Returns the fields (enum conn_known) that `info_size` bytes of TCP_INFO show; `memory`:
 * DIAG_MEMORY is known.
 */
uint32_t diag_known(uint32_t info_size, bool memory);

/* Returns a sample's state; CONN_AT_MAX: several states are possible. Not for a listener. */
enum conn_sample_state diag_sampled_state(const struct diag_sock *sock);

/* Returns whether the peer's window is 0. */
bool diag_is_shut(const struct diag_sock *sock);

/* Returns whether unread data fill three quarters of the receive buffer. */
bool diag_is_unread(const struct diag_sock *sock);

/* Stores the socket's current state; unknown fields are 0. `rto` and `chrono` are in us. */
void diag_now(const struct diag_sock *sock, struct conn_now *now);

#endif
