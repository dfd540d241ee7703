/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the facts of host/facts.h from a machine. */
#ifndef HOSTLAT_HOST_FACTS_COLLECT_H
#define HOSTLAT_HOST_FACTS_COLLECT_H

#include "host/facts.h"
#include "host/root.h"

/*
 * Fills `facts`, which the caller releases even if this fails (facts->error). Needs no privilege;
 * facts that it may not see are added as unknown.
 */
int host_facts_collect(const struct host_root *root, struct host_facts *facts);

#endif
