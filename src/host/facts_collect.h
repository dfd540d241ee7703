/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the facts of host/facts.h from a machine. */
#ifndef HOSTLAT_HOST_FACTS_COLLECT_H
#define HOSTLAT_HOST_FACTS_COLLECT_H

#include "host/facts.h"
#include "host/root.h"

/*
 * Fills `facts`, to be released by the caller, also if this fails (facts->error). Works without any
 * privilege; what it may not see is in the list as unknown.
 */
int host_facts_collect(const struct host_root *root, struct host_facts *facts);

#endif
