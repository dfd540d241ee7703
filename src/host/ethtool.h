/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a network driver (SIOCETHTOOL). `fd` is any socket in the interface's namespace.
 * -EOPNOTSUPP: the driver has no such thing; -ENODEV: no such interface. Unprivileged.
 */
#ifndef HOSTLAT_HOST_ETHTOOL_H
#define HOSTLAT_HOST_ETHTOOL_H

#include <linux/ethtool.h>
#include <net/if.h>

#include "base/strbuf.h"

/* `request` is one of the structures of linux/ethtool.h, with its cmd set; it takes the answer. */
int ethtool_ask(int fd, const char *iface, void *request);

/* Names of the features that are on, by the kernel's names, separated by spaces. */
int ethtool_features(int fd, const char *iface, struct strbuf *names);

/* The driver's name. */
int ethtool_driver(int fd, const char *iface, char *name, size_t size);

#endif
