/* SPDX-License-Identifier: Apache-2.0 */
/* Throttling of control groups by a CPU quota. */
#ifndef HOSTLAT_HOST_THROTTLED_H
#define HOSTLAT_HOST_THROTTLED_H

#include <stdint.h>

#include "host/root.h"

/*
 * Sums nr_throttled over all existing control groups of either hierarchy: how often a group was
 * throttled (Documentation/admin-guide/cgroup-v2.rst, cpu.stat); 0 without a hierarchy. Returns 0
 * or -errno; -E2BIG: there are more groups than are visited.
 */
int host_throttled(const struct host_root *root, uint64_t *times);

#endif
