/* SPDX-License-Identifier: Apache-2.0 */
/* Lockdown of the kernel (lockdown=, secure boot), which restricts even root. */
#ifndef HOSTLAT_HOST_LOCKDOWN_H
#define HOSTLAT_HOST_LOCKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "host/root.h"

#define LOCKDOWN_READS "kernel lockdown (confidentiality) refuses what reads kernel memory"
#define LOCKDOWN_TAKES "boot with lockdown=none and without secure boot"

/*
 * All levels with the present one in brackets, "[none] integrity confidentiality". Its length or
 * -errno. -ENOENT, -ENODEV: this kernel has no lockdown; others: it is not known.
 */
int host_lockdown(const struct host_root *root, char *value, size_t size);

/* Whether nobody may read kernel memory, by programs or by tracing; false if it is not known. */
bool host_is_confidential(const struct host_root *root);

#endif
