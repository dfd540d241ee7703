/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration of the running kernel, if it is readable. */
#ifndef HOSTLAT_HOST_KCONFIG_H
#define HOSTLAT_HOST_KCONFIG_H

#include <stddef.h>

#include "host/root.h"

/*
 * Reads the value of an option: "250" for "CONFIG_HZ", "y" or "m" for "CONFIG_KPROBES"; "n": not
 * set. Sources: /proc/config.gz, or /boot/config-RELEASE. -ENOENT: neither exists.
 */
int host_kconfig(const struct host_root *root, const char *option, char *value, size_t size);

#endif
