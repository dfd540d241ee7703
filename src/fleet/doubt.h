/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of an application of which a rack or link may be the cause. */
#ifndef HOSTLAT_FLEET_DOUBT_H
#define HOSTLAT_FLEET_DOUBT_H

#include "fleet/fleet.h"

/* Knowledge of the paths between hosts, by --topology. */
enum doubt_paths {
	DOUBT_PATHS_KNOWN,       /* links, or switches above racks; or one rack or host has all */
	DOUBT_NO_RACKS,          /* no racks, or one, and hosts that are in none */
	DOUBT_NO_LINKS,          /* two racks or more, and not what is between them */
};

enum doubt_paths doubt_paths(const struct fleet *f);

/*
 * Returns whether a rack or link that is not known may be behind a finding: losses of an
 * application, container or service, of which few hosts have nine tenths of the connections behind
 * it. Few are at most half of the hosts that its connections have. True as well without memory.
 * O(connections * DOUBT_HOSTS_MAX).
 */
bool doubt_is_path(const struct fleet *f, const struct fleet_result *result,
		   const struct fleet_finding *finding);

#endif
