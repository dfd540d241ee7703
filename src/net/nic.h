/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network card that a connection uses, and its hardware stamps of packets
 * (Documentation/networking/timestamping.rst, 3). Turning stamps on changes the card for all users
 * (CAP_NET_ADMIN), so the former settings are restored. A card that already stamps every packet is
 * not changed.
 */
#ifndef HOSTLAT_NET_NIC_H
#define HOSTLAT_NET_NIC_H

#include <net/if.h>
#include <stdbool.h>

#include <linux/net_tstamp.h>

#include "base/strbuf.h"
#include "net/address.h"

struct net_nic {
	char name[IF_NAMESIZE];
	int clock;                    /* N of the card's /dev/ptpN */
	struct hwtstamp_config former;
	bool changed; /* the card's settings were changed: `former` has to be restored */
};

/*
 * Finds the interface by which packets to `to` leave (RTM_GETROUTE, rtnetlink(7)); for an address
 * of this host it is the loopback. Returns 0 or -errno.
 */
int net_nic_towards(const struct net_address *to, char name[IF_NAMESIZE]);

/*
 * Parses the kernel's answer to RTM_GETROUTE, aligned to 4 bytes. Returns the index of the route's
 * interface, or -errno.
 */
int net_nic_route_answer(const void *datagram, size_t size);

/* Turns on stamps of every packet. 0 or -errno; then `why` has the interface and what it lacks. */
int net_nic_enable(struct net_nic *nic, const char *name, struct strbuf *why);

/* Restores the settings of an interface that was enabled. Accepts a zeroed `nic`. */
void net_nic_restore(struct net_nic *nic);

#endif
