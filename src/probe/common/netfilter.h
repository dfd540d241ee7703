/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netfilter BPF links (kernel 6.4). They belong to one network namespace each, so there is one per
 * namespace, protocol family and hook. libbpf 1.1 and its headers don't know them: the numbers and
 * the layout of the system call are include/uapi/linux/bpf.h of 6.4.
 */
#ifndef HOSTLAT_PROBE_NETFILTER_H
#define HOSTLAT_PROBE_NETFILTER_H

#include <stddef.h>
#include <stdint.h>

#define NETFILTER_PROG_TYPE 32
#define NETFILTER_ATTACH_TYPE 45
#define NETFILTER_PRE_ROUTING 0
#define NETFILTER_LOCAL_IN 1
#define NETFILTER_FORWARD 2
#define NETFILTER_HOOKS 3

struct host_netns;

/*
 * Attaches a program to a hook of both IPv4 and IPv6 in a namespace. Fills links[2], owned by the
 * caller; -1 where there is none. Returns 0 or -errno, with nothing attached.
 */
int netfilter_attach(int prog_fd, uint32_t hook, const struct host_netns *ns, int links[2]);

#endif
