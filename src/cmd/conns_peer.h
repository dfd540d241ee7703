/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the connections of two hosts' recordings of `conns`. */
#ifndef HOSTLAT_CMD_CONNS_PEER_H
#define HOSTLAT_CMD_CONNS_PEER_H

#include "cmd/conns_view.h"

/*
 * Shows `from` as far as `peer` was recorded at the same time, with the other ends that are in
 * that one. `view` is open. Returns an enum exit_code, after a message if it failed.
 */
int conns_peer_show(const char *from, const char *peer, struct conns_view *view);

#endif
