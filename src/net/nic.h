/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network card that a connection uses, and its stamps of packets
 * (Documentation/networking/timestamping.rst, 3). Turning them on changes the card for everybody
 * (CAP_NET_ADMIN), so what it was set to is put back. A card that already stamps every packet is
 * left alone.
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
	int clock;                    /* N of /dev/ptpN */
	struct hwtstamp_config former;
	bool changed;                 /* `former` is to be put back */
};

/*
 * The interface that packets to it leave by (RTM_GETROUTE, rtnetlink(7)): to an address of this
 * host it is the loopback. Returns 0 or -errno.
 */
int net_nic_towards(const struct net_address *to, char name[IF_NAMESIZE]);

/* Parses the kernel's answer, aligned to 4. Returns the interface's number or -errno. */
int net_nic_route_answer(const void *datagram, size_t size);

/* Turns on stamps of every packet. On failure `why` names the interface and what it lacks. */
int net_nic_enable(struct net_nic *nic, const char *name, struct strbuf *why);

/* Restores the settings of an interface that was enabled. Accepts a zeroed one. */
void net_nic_restore(struct net_nic *nic);

#endif
