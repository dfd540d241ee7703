/* SPDX-License-Identifier: Apache-2.0 */
#include "host/iface.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/sort.h"
#include "base/vec.h"
#include "host/netlink.h"

#define ATTEMPTS 3      /* dumps, at most: if an interface comes or goes, a dump is inconsistent */

static uint32_t iface_attr_u32(const struct rtattr *attr)
{
	uint32_t value = 0;

	if (attr && RTA_PAYLOAD(attr) >= sizeof(value))
		memcpy(&value, RTA_DATA(attr), sizeof(value));
	return value;
}

/* Formats an address as /sys/class/net/NAME/address does. */
static void iface_put_address(const struct rtattr *attr, char *buf, size_t size)
{
	const uint8_t *bytes = attr ? RTA_DATA(attr) : NULL;
	size_t n = attr ? RTA_PAYLOAD(attr) : 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && 3 * i + 3 <= size; i++)
		snprintf(buf + (i ? 3 * i - 1 : 0), 4, "%s%02x", i ? ":" : "", bytes[i]);
}

static int iface_add_link(void *ctx, const struct nlmsghdr *msg)
{
	const struct rtattr *attrs[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1];
	const struct ifinfomsg *link = NLMSG_DATA(msg);
	struct host_iface_vec *list = ctx;
	struct host_iface iface = { 0 };
	int err;

	if (msg->nlmsg_type != RTM_NEWLINK || msg->nlmsg_len < NLMSG_LENGTH(sizeof(*link)))
		return 0;
	netlink_attrs(msg, sizeof(*link), attrs, IFLA_MAX);
	netlink_nested(attrs[IFLA_LINKINFO], info, IFLA_INFO_MAX);
	iface.ifindex = link->ifi_index;
	iface.up = link->ifi_flags & IFF_UP;
	iface.loopback = link->ifi_flags & IFF_LOOPBACK;
	iface.mtu = iface_attr_u32(attrs[IFLA_MTU]);
	iface.txqlen = iface_attr_u32(attrs[IFLA_TXQLEN]);
	iface.rx_queues = iface_attr_u32(attrs[IFLA_NUM_RX_QUEUES]);
	iface.tx_queues = iface_attr_u32(attrs[IFLA_NUM_TX_QUEUES]);
	iface.master = iface_attr_u32(attrs[IFLA_MASTER]);
	iface.lower = attrs[IFLA_LINK_NETNSID] ? 0 : iface_attr_u32(attrs[IFLA_LINK]);
	netlink_string(attrs[IFLA_IFNAME], iface.name, sizeof(iface.name));
	iface_put_address(attrs[IFLA_ADDRESS], iface.address, sizeof(iface.address));
	netlink_string(attrs[IFLA_QDISC], iface.qdisc, sizeof(iface.qdisc));
	netlink_string(info[IFLA_INFO_KIND], iface.kind, sizeof(iface.kind));
	err = vec_push(list, iface);
	if (err == -E2BIG)
		list->truncated = true;
	return err;
}

static struct host_iface *iface_find(struct host_iface_vec *list, uint32_t ifindex)
{
	vec_for_each(list, iface)
		if (iface->ifindex == ifindex)
			return iface;
	return NULL;
}

/*
 * Sets the kind of the interface's leaf qdiscs from a dumped qdisc. Below a multiqueue root qdisc
 * (mq, mqprio), the leaves are the queues that hold packets.
 */
static int iface_add_qdisc(void *ctx, const struct nlmsghdr *msg)
{
	const struct rtattr *attrs[TCA_MAX + 1];
	const struct tcmsg *tc = NLMSG_DATA(msg);
	struct host_iface *iface;
	char kind[16];

	if (msg->nlmsg_type != RTM_NEWQDISC || msg->nlmsg_len < NLMSG_LENGTH(sizeof(*tc)) ||
	    tc->tcm_parent == TC_H_ROOT || tc->tcm_parent == TC_H_INGRESS)
		return 0;
	iface = iface_find(ctx, tc->tcm_ifindex);
	if (!iface || strncmp(iface->qdisc, "mq", 2))
		return 0;
	netlink_attrs(msg, sizeof(*tc), attrs, TCA_MAX);
	netlink_string(attrs[TCA_KIND], kind, sizeof(kind));
	if (iface->leaf[0] && strcmp(iface->leaf, kind))
		snprintf(kind, sizeof(kind), "mixed");
	memcpy(iface->leaf, kind, sizeof(kind));
	return 0;
}

static int iface_compare_index(const void *a, const void *b)
{
	const struct host_iface *x = a, *y = b;

	return sort_order(x->ifindex, y->ifindex);
}

int host_iface_list(const struct host_netns *ns, struct host_iface_vec *list)
{
	struct ifinfomsg links = { .ifi_family = AF_UNSPEC };
	struct tcmsg qdiscs = { .tcm_family = AF_UNSPEC };
	int err = -EAGAIN, fd;

	memset(list, 0, sizeof(*list));
	vec_init(list, HOST_IFACES_MAX);
	fd = host_netns_socket(ns, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	if (fd < 0)
		return fd;
	for (int i = 0; i < ATTEMPTS && err == -EAGAIN; i++) {
		vec_clear(list);
		err = netlink_dump(fd, RTM_GETLINK, &links, sizeof(links), iface_add_link, list);
	}
	if (err == -E2BIG || err == -EAGAIN)
		err = 0;
	/* Errors of this dump are ignored: only the kinds of the leaf qdiscs are unknown then. */
	if (!err)
		netlink_dump(fd, RTM_GETQDISC, &qdiscs, sizeof(qdiscs), iface_add_qdisc, list);
	close(fd);
	if (!err)
		qsort(list->items, list->len, sizeof(*list->items), iface_compare_index);
	return err;
}

void host_iface_vec_release(struct host_iface_vec *list)
{
	if (list)
		vec_release(list);
}

/*
 * Returns whether interfaces of this kind change a packet's interface within netif_receive_skb(),
 * which then continues (another_round), or, for VRF, in the IP layer. A bridge, a tunnel or a veth
 * calls netif_receive_skb() again.
 */
static bool iface_changes_within(const char *kind)
{
	static const char *const kinds[] = {
		"bond", "team", "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "vrf",
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

bool host_iface_comes_by(const struct host_iface_vec *list, const char *name,
			 struct strbuf *below)
{
	const struct host_iface *upper = NULL;

	vec_for_each(list, iface)
		if (!strcmp(iface->name, name))
			upper = iface;
	if (!upper || !iface_changes_within(upper->kind))
		return false;
	vec_for_each(list, iface)
		if (iface->master == upper->ifindex || iface->ifindex == upper->lower)
			strbuf_printf(below, "%s%s", below->len ? ", " : "", iface->name);
	return true;
}

static int iface_ioctl(const struct host_netns *ns, unsigned long request, struct ifreq *ifr)
{
	int fd = host_netns_socket(ns, AF_INET, SOCK_DGRAM, 0);
	int err;

	if (fd < 0)
		return fd;
	err = ioctl(fd, request, ifr) ? -errno : 0;
	close(fd);
	return err == -ENXIO ? -ENODEV : err;
}

int host_iface_index(const struct host_netns *ns, const char *name)
{
	struct ifreq ifr = { 0 };
	int err;

	if (!*name || strlen(name) >= sizeof(ifr.ifr_name))
		return -ENODEV;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	err = iface_ioctl(ns, SIOCGIFINDEX, &ifr);
	return err ? err : ifr.ifr_ifindex;
}

int host_iface_name(const struct host_netns *ns, uint32_t ifindex, char name[IFNAMSIZ])
{
	struct ifreq ifr = { .ifr_ifindex = ifindex };
	int err = iface_ioctl(ns, SIOCGIFNAME, &ifr);

	if (!err)
		memcpy(name, ifr.ifr_name, IFNAMSIZ);
	return err;
}

int host_iface_exists(const struct host_netns_vec *list, const char *name,
		      const struct host_netns **first, size_t *unknown)
{
	size_t failed = 0;
	int found = 0, index;

	for (size_t i = 0; i < list->len; i++) {
		index = host_iface_index(&list->items[i], name);
		if (index > 0 && !found++ && first)
			*first = &list->items[i];
		failed += index < 0 && index != -ENODEV && index != -ESTALE;
	}
	if (unknown)
		*unknown = failed;
	return found;
}
