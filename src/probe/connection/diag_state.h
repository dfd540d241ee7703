/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection is doing, and how it stands, by what inet_diag tells of it: the rules of
 * bpf/conn_poll.bpf.h as far as they can be told. Pure.
 */
#ifndef HOSTLAT_PROBE_DIAG_STATE_H
#define HOSTLAT_PROBE_DIAG_STATE_H

#include "bpf/abi_conns.h"
#include "probe/connection/diag.h"

/* Is there enough to tell of a connection: its bytes? */
bool diag_has_bytes(const struct diag_sock *sock);

/* enum conn_known, of a kernel whose answers have so much of struct diag_info. */
uint32_t diag_known(uint32_t info_size, bool memory);

/* CONN_AT_MAX: it fits to several. Not for a listener. */
enum conn_doing diag_sampled_state(const struct diag_sock *sock);

/* The peer's window is 0. */
bool diag_is_shut(const struct diag_sock *sock);

/* Three quarters of the receive buffer hold what the application has not read. */
bool diag_is_unread(const struct diag_sock *sock);

/* As it stands; what is not known is 0. Ticks are microseconds. */
void diag_now(const struct diag_sock *sock, struct conn_now *now);

#endif
