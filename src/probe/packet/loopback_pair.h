/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_PROBE_LOOPBACK_PAIR_H
#define HOSTLAT_PROBE_LOOPBACK_PAIR_H

#include <stdint.h>

/* Two connected sockets over loopback: data sent to tx arrives at rx. */
struct loopback_pair {
	int tx, rx;
	uint16_t port; /* local port of rx */
};

/* family: AF_INET or AF_INET6; type: SOCK_STREAM or SOCK_DGRAM. Returns 0 or -errno. */
int loopback_pair_open(int family, int type, struct loopback_pair *pair);
void loopback_pair_close(const struct loopback_pair *pair);

#endif
