/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/common/netfilter.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/netns.h"

/*
 * Priorities at the netfilter hook, tried from PRIORITY_FIRST up. A program with the first priority
 * runs before all rules, so that their time is not included. Only one BPF program can have a
 * priority: other instances of hostlat may use the first ones.
 */
#define PRIORITY_FIRST (-2147483647)
#define PRIORITY_TRIES 64

struct link_create {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint32_t pf, hooknum;
	int32_t priority;
	uint32_t netfilter_flags;
	uint8_t rest[64];
};

struct netfilter_request {
	int prog_fd;
	uint32_t hook;
	int *links;
};

static int netfilter_create_link(const struct netfilter_request *a, uint32_t family)
{
	struct link_create attr = {
		.prog_fd = a->prog_fd,
		.attach_type = NETFILTER_ATTACH_TYPE,
		.pf = family,
		.hooknum = a->hook,
	};
	long fd = -1;

	for (int i = 0; i < PRIORITY_TRIES; i++) {
		attr.priority = PRIORITY_FIRST + i;
		fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
		if (fd >= 0 || errno != EBUSY)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

/*
 * Attaches the program to its netfilter hook for IPv4 and IPv6. Runs on a thread of its own, which
 * has entered the network namespace.
 */
static int netfilter_attach_families(void *ctx)
{
	const struct netfilter_request *a = ctx;

	a->links[0] = netfilter_create_link(a, AF_INET);
	if (a->links[0] < 0)
		return a->links[0];
	a->links[1] = netfilter_create_link(a, AF_INET6);
	if (a->links[1] >= 0 || a->links[1] == -EAFNOSUPPORT || a->links[1] == -EOPNOTSUPP)
		return 0;
	close(a->links[0]);
	return a->links[1];
}

int netfilter_attach(int prog_fd, uint32_t hook, const struct host_netns *ns, int links[2])
{
	struct netfilter_request a = { .prog_fd = prog_fd, .hook = hook, .links = links };
	int err = host_netns_run(ns, netfilter_attach_families, &a);

	if (err)
		links[0] = links[1] = -1;
	else if (links[1] < 0)
		links[1] = -1;
	return err;
}
