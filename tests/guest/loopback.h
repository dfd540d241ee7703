/* SPDX-License-Identifier: Apache-2.0 */
/* A pair of sockets connected over 127.0.0.1, for the programs that run in the guest. */
#ifndef HOSTLAT_TESTS_GUEST_LOOPBACK_H
#define HOSTLAT_TESTS_GUEST_LOOPBACK_H

struct loopback_pair {
	int sender;
	int receiver;
};

/*
 * Both ends belong to the caller. type is SOCK_STREAM or SOCK_DGRAM; the receiver's local port is
 * port, 0 for any. Returns 0 or -errno.
 */
int loopback_open(struct loopback_pair *pair, int type, int port);

#endif
