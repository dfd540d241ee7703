/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network interfaces: names, indexes, kinds, queueing disciplines.
 *
 * `ns` NULL means the caller's namespace, as in host_netns_socket().
 */
#ifndef HOSTLAT_HOST_IFACE_H
#define HOSTLAT_HOST_IFACE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "host/netns.h"

#define HOST_IFACES_MAX  16384
#define HOST_ADDRESS_MAX 64     /* 20 bytes of InfiniBand, and more */

struct host_iface {
	uint32_t ifindex;
	uint32_t mtu;
	uint32_t txqlen;
	uint32_t rx_queues, tx_queues;
	uint32_t master;              /* ifindex of the bridge, bond ... that it is a part of; 0 */
	uint32_t lower;               /* interface below it (or a veth's peer), if in the same
				       * namespace; 0: none */
	bool up;                      /* administratively */
	bool loopback;
	char name[IFNAMSIZ];
	char address[HOST_ADDRESS_MAX]; /* "02:fc:00:00:00:01"; "" without one */
	char kind[16];                /* "veth", "bridge", ...; "" for hardware and loopback */
	char qdisc[16];               /* at its root: "fq", "mq", "noqueue" */
	char leaf[16];                /* below a multiqueue root: the kind of its leaves; "mixed"
				       * if they differ; else "" */
};

struct host_iface_vec {
	struct host_iface *items;     /* by ifindex; a base/vec.h vector */
	size_t len, cap, max;
	bool truncated;
};

int host_iface_list(const struct host_netns *ns, struct host_iface_vec *list);
void host_iface_vec_release(struct host_iface_vec *list);

/*
 * Whether the stack never receives a packet as this interface's: its packets come by those below
 * it, and are handed to it afterwards. If so, `below` gets their names, "eth0, eth1"; it stays
 * empty if they are in another namespace.
 */
bool host_iface_comes_by(const struct host_iface_vec *list, const char *name,
			 struct strbuf *below);

/* > 0, or -ENODEV. */
int host_iface_index(const struct host_netns *ns, const char *name);
int host_iface_name(const struct host_netns *ns, uint32_t ifindex, char name[IFNAMSIZ]);

/*
 * Returns in how many of the namespaces there is an interface of this name; `first` (may be NULL)
 * becomes the first of them. Namespaces that cannot be entered count in `unknown` (may be NULL).
 */
int host_iface_exists(const struct host_netns_vec *list, const char *name,
		      const struct host_netns **first, size_t *unknown);

#endif
