/* SPDX-License-Identifier: Apache-2.0 */
/* Throttling of control groups by a CPU quota. */
#ifndef HOSTLAT_HOST_THROTTLED_H
#define HOSTLAT_HOST_THROTTLED_H

#include <stdint.h>

#include "host/root.h"

/*
 * How many times a control group was throttled: the sum of nr_throttled of all that there are now,
 * in either hierarchy (Documentation/admin-guide/cgroup-v2.rst, cpu.stat). Without a hierarchy that
 * is none. 0; -E2BIG: there are more groups than are visited.
 */
int host_throttled(const struct host_root *root, uint64_t *times);

#endif
