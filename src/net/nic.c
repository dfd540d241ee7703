/* SPDX-License-Identifier: Apache-2.0 */
#include "net/nic.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

/* ---- route ---- */

struct route_request {
	struct nlmsghdr head;
	struct rtmsg route;
	char attributes[64];
};

static void nic_add_attribute(struct route_request *r, unsigned short type, const void *data,
			      size_t size)
{
	struct rtattr *at = (void *)((char *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	at->rta_type = type;
	at->rta_len = RTA_LENGTH(size);
	memcpy(RTA_DATA(at), data, size);
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + RTA_SPACE(size);
}

static void nic_fill_request(struct route_request *r, const struct net_address *to)
{
	const struct sockaddr_in *v4 = (const void *)&to->addr;
	const struct sockaddr_in6 *v6 = (const void *)&to->addr;
	const bool is_v4 = to->addr.ss_family == AF_INET;

	*r = (struct route_request){
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(r->route)),
			  .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = to->addr.ss_family, .rtm_dst_len = is_v4 ? 32 : 128 },
	};
	if (is_v4) {
		nic_add_attribute(r, RTA_DST, &v4->sin_addr, sizeof(v4->sin_addr));
		return;
	}
	nic_add_attribute(r, RTA_DST, &v6->sin6_addr, sizeof(v6->sin6_addr));
	if (v6->sin6_scope_id)
		nic_add_attribute(r, RTA_OIF, &v6->sin6_scope_id, sizeof(v6->sin6_scope_id));
}

int net_nic_route_answer(const void *datagram, size_t size)
{
	const struct nlmsghdr *head = datagram;
	const struct nlmsgerr *error = NLMSG_DATA(head);
	const struct rtattr *at = RTM_RTA(NLMSG_DATA(head));
	int left, index; /* left: remaining bytes; < 0 if the last attribute lacks its padding */

	if (!NLMSG_OK(head, (long)size))
		return -EBADMSG;
	if (head->nlmsg_type == NLMSG_ERROR)
		return head->nlmsg_len >= NLMSG_LENGTH(sizeof(*error)) && error->error < 0 ?
			       error->error : -EBADMSG;
	left = (int)head->nlmsg_len - (int)NLMSG_SPACE(sizeof(struct rtmsg));
	for (; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
		if (at->rta_type != RTA_OIF || RTA_PAYLOAD(at) < sizeof(index))
			continue;
		memcpy(&index, RTA_DATA(at), sizeof(index));
		return index;
	}
	return -ENODEV; /* the route has no interface */
}

int net_nic_towards(const struct net_address *to, char name[IF_NAMESIZE])
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), index;
	_Alignas(NLMSG_ALIGNTO) char answer[4096];
	struct route_request request;
	ssize_t n;

	if (fd < 0)
		return -errno;
	nic_fill_request(&request, to);
	n = send(fd, &request, request.head.nlmsg_len, 0);
	if (n > 0)
		n = recv(fd, answer, sizeof(answer), 0);
	index = n < 0 ? -errno : net_nic_route_answer(answer, n);
	close(fd);
	if (index < 0)
		return index;
	return if_indextoname(index, name) ? 0 : -errno;
}

/* ---- capabilities ---- */

static int nic_ioctl(const char *name, unsigned long number, void *data)
{
	struct ifreq ifr = { .ifr_data = data };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	err = ioctl(fd, number, &ifr) ? -errno : 0;
	close(fd);
	return err;
}

static const char *nic_missing_support(const struct ethtool_ts_info *info)
{
	const bool clock = info->phc_index >= 0;

	if (!(info->so_timestamping & SOF_TIMESTAMPING_RAW_HARDWARE) && !clock)
		return "the interface has no hardware clock and no hardware timestamps";
	if (!clock)
		return "the interface has no hardware clock that can be read";
	if (!(info->so_timestamping & SOF_TIMESTAMPING_TX_HARDWARE) ||
	    !(info->tx_types >> HWTSTAMP_TX_ON & 1))
		return "the interface does not timestamp sent packets";
	if (!(info->so_timestamping & SOF_TIMESTAMPING_RX_HARDWARE) ||
	    !(info->rx_filters >> HWTSTAMP_FILTER_ALL & 1))
		return "the interface cannot timestamp all received packets";
	return NULL;
}

static int nic_refuse(const char *name, struct strbuf *why, const char *what, int err)
{
	strbuf_printf(why, "--timestamps nic: %s: %s; use --timestamps kernel", name, what);
	return err;
}

static int nic_find_clock(struct net_nic *nic, struct strbuf *why)
{
	struct ethtool_ts_info info = { .cmd = ETHTOOL_GET_TS_INFO, .phc_index = -1 };
	int err = nic_ioctl(nic->name, SIOCETHTOOL, &info);
	const char *lack = nic_missing_support(&info);

	if (err && err != -EOPNOTSUPP) {
		strbuf_printf(why, "--timestamps nic: %s: %s", nic->name, strerror(-err));
		return err;
	}
	nic->clock = info.phc_index;
	return lack ? nic_refuse(nic->name, why, lack, -EOPNOTSUPP) : 0;
}

/* ---- stamping on and off ---- */

static bool nic_stamps_all(const struct hwtstamp_config *config)
{
	return config->tx_type == HWTSTAMP_TX_ON && config->rx_filter == HWTSTAMP_FILTER_ALL;
}

static int nic_turn_on(struct net_nic *nic, struct strbuf *why)
{
	struct hwtstamp_config config = {
		.tx_type = HWTSTAMP_TX_ON, .rx_filter = HWTSTAMP_FILTER_ALL,
	};
	int err = nic_ioctl(nic->name, SIOCSHWTSTAMP, &config);

	if (err == -EPERM) {
		strbuf_printf(why, "--timestamps nic: enabling the timestamps of %s needs "
			      "CAP_NET_ADMIN; otherwise use --timestamps kernel", nic->name);
		return err;
	}
	nic->changed = !err;
	/* A driver may grant less than requested. */
	if (!err && !nic_stamps_all(&config)) {
		net_nic_restore(nic);
		err = -EOPNOTSUPP;
	}
	return err ? nic_refuse(nic->name, why,
				"its driver did not enable timestamps of all packets", err)
		   : 0;
}

int net_nic_enable(struct net_nic *nic, const char *name, struct strbuf *why)
{
	int err;

	*nic = (struct net_nic){};
	snprintf(nic->name, sizeof(nic->name), "%s", name);
	err = nic_find_clock(nic, why);
	if (err)
		return err;
	err = nic_ioctl(name, SIOCGHWTSTAMP, &nic->former);
	if (err)
		return nic_refuse(name, why,
				  "its driver does not report which packets it timestamps", err);
	return nic_stamps_all(&nic->former) ? 0 : nic_turn_on(nic, why);
}

void net_nic_restore(struct net_nic *nic)
{
	if (nic->changed)
		nic_ioctl(nic->name, SIOCSHWTSTAMP, &nic->former);
	nic->changed = false;
}
