/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the connections in the recordings of `conns` on two hosts. */
#ifndef HOSTLAT_CMD_CONNS_PEER_H
#define HOSTLAT_CMD_CONNS_PEER_H

#include "cmd/conns_view.h"

/*
 * Shows the recording `from` for the time that the recording `peer` covers as well, with the remote
 * ends found in `peer`. `view` is open. Returns an enum exit_code, after a message if it failed.
 */
int conns_peer_show(const char *from, const char *peer, struct conns_view *view);

#endif
