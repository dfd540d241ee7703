/* SPDX-License-Identifier: Apache-2.0 */
/* What the watch probe is to measure. */
#ifndef HOSTLAT_PROBE_WATCH_CONFIG_H
#define HOSTLAT_PROBE_WATCH_CONFIG_H

#include <stdint.h>

#include "event/layout.h"

struct watch_probe_config {
	uint32_t stages;      /* 1 << enum stage of the ingress stages that are asked for */
	uint32_t origin;      /* enum origin; ORIGIN_NONE: by packet */
	uint32_t pid;         /* process (thread group); 0 = all */
	uint16_t port;        /* local port; 0 = all */
	const char *ifname;   /* NULL = all */
	uint64_t netns;       /* inode; 0 = all */
	uint64_t memory;      /* bytes that the maps may take */
};

#define WATCH_MEMORY_DEFAULT (64ULL << 20)

#endif
