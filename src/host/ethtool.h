/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries a network driver (SIOCETHTOOL). `fd` is any socket in the interface's namespace. Returns
 * 0 or -errno: -EOPNOTSUPP: the driver lacks it; -ENODEV: no such interface. Unprivileged.
 */
#ifndef HOSTLAT_HOST_ETHTOOL_H
#define HOSTLAT_HOST_ETHTOOL_H

#include <linux/ethtool.h>
#include <net/if.h>

#include "base/strbuf.h"

/* Sends `request`, a structure of linux/ethtool.h with its cmd set, which receives the answer. */
int ethtool_ask(int fd, const char *iface, void *request);

/* Adds the kernel's names of the enabled features, separated by spaces. */
int ethtool_features(int fd, const char *iface, struct strbuf *names);

/* Copies the driver's name to `name`. */
int ethtool_driver(int fd, const char *iface, char *name, size_t size);

#endif
