/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network interfaces: names, indexes, kinds, queueing disciplines.
 *
 * `ns` NULL means the caller's namespace, as for host_netns_socket().
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
#define HOST_ADDRESS_MAX 64     /* 20 bytes of InfiniBand as text, and more */

struct host_iface {
	uint32_t ifindex;
	uint32_t mtu;
	uint32_t txqlen;
	uint32_t rx_queues, tx_queues;
	uint32_t master;              /* ifindex of its bridge, bond ...; 0: none */
	uint32_t lower;               /* ifindex of the lower interface (or veth peer) if in this
				       * namespace; 0: none */
	bool up;                      /* administratively up */
	bool loopback;
	char name[IFNAMSIZ];
	char address[HOST_ADDRESS_MAX]; /* "02:fc:00:00:00:01"; "": none */
	char kind[16];                /* "veth", "bridge", ...; "": hardware or loopback */
	char qdisc[16];               /* kind of its root qdisc: "fq", "mq", "noqueue" */
	char leaf[16];                /* kind of the leaf qdiscs below a multiqueue root qdisc;
				       * "mixed": several kinds; "": other root qdisc */
};

struct host_iface_vec {
	struct host_iface *items;     /* sorted by ifindex; base/vec.h vector */
	size_t len, cap, max;
	bool truncated;
};

int host_iface_list(const struct host_netns *ns, struct host_iface_vec *list);
void host_iface_vec_release(struct host_iface_vec *list);

/*
 * Returns true if the stack receives this interface's packets as those of the interfaces below, and
 * assigns them to this interface later. `below` gets the lower interfaces' names, "eth0, eth1"; it
 * stays empty if they are in another namespace.
 */
bool host_iface_comes_by(const struct host_iface_vec *list, const char *name,
			 struct strbuf *below);

/* Returns the index > 0, or -errno; -ENODEV: no such interface. */
int host_iface_index(const struct host_netns *ns, const char *name);
int host_iface_name(const struct host_netns *ns, uint32_t ifindex, char name[IFNAMSIZ]);

/*
 * Returns the number of namespaces with an interface of this name; `first` (may be NULL): the first
 * of them. `unknown` (may be NULL): the number of namespaces that could not be entered.
 */
int host_iface_exists(const struct host_netns_vec *list, const char *name,
		      const struct host_netns **first, size_t *unknown);

#endif
