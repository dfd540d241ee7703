/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections with a problem at the same times also share resources that have nothing to do with
 * it. Where one resource has the problem for more of the time than comparable connections
 * elsewhere, it explains why the same connections have it together, or at once.
 */
#ifndef HOSTLAT_FLEET_EXPLAINED_H
#define HOSTLAT_FLEET_EXPLAINED_H

#include "fleet/state.h"

/*
 * Removes findings of a class with other evidence than FLEET_MORE if half or more of their
 * connections are behind one with that evidence. One of the same resource leaves its correlation
 * there. Returns 0 or -ENOMEM.
 */
int fleet_explained(const struct fleet *f, struct fleet_result *result);

#endif
