/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration of the running kernel, where it is readable. */
#ifndef HOSTLAT_HOST_KCONFIG_H
#define HOSTLAT_HOST_KCONFIG_H

#include <stddef.h>

#include "host/root.h"

/*
 * The value of an option ("CONFIG_HZ" gives "250", "CONFIG_KPROBES" "y" or "m"; "n" if it is
 * not set), from /proc/config.gz or from /boot/config-RELEASE. -ENOENT: neither is there.
 */
int host_kconfig(const struct host_root *root, const char *option, char *value, size_t size);

#endif
