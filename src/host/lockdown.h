/* SPDX-License-Identifier: Apache-2.0 */
/* Lockdown of the kernel (lockdown=, secure boot), which restricts even root. */
#ifndef HOSTLAT_HOST_LOCKDOWN_H
#define HOSTLAT_HOST_LOCKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "host/root.h"

#define LOCKDOWN_READS "kernel lockdown (confidentiality) denies reading kernel memory"
#define LOCKDOWN_TAKES "boot with lockdown=none and without secure boot"

/*
 * Reads all levels, the current one in brackets: "[none] integrity confidentiality". Returns the
 * length or -errno. -ENOENT, -ENODEV: this kernel has no lockdown; others: unknown.
 */
int host_lockdown(const struct host_root *root, char *value, size_t size);

/* Returns true if lockdown denies programs and tracing kernel memory; false if unknown. */
bool host_is_confidential(const struct host_root *root);

#endif
