/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparable connections: those of the same application, the same host or both, outside of the
 * resource that is tested. Comparing within such strata keeps a rack from looking guilty because
 * its applications are other ones than elsewhere (Simpson 1951), and an application from looking
 * guilty because its racks are.
 *
 *	strata_init(&s, f)
 *	strata_count(&s, class, left)          for each class, and when `left` has changed
 *	strata_own(&s, conn, class)            for each connection of the resource
 *	strata_rates(&s, kind, conn, &rates)   for each connection of the resource
 *	strata_disown(&s, conn)                for each connection of the resource
 */
#ifndef HOSTLAT_FLEET_STRATA_H
#define HOSTLAT_FLEET_STRATA_H

#include <stdbool.h>

#include "fleet/state.h"

/* So many connections outside of the resource make a stratum comparable. */
#define STRATA_CONNECTIONS_MIN 3u

enum strata_level {
	STRATA_END,
	STRATA_FLEET,
	STRATA_APP,
	STRATA_RACK,
	STRATA_HOST,
	STRATA_HOST_APP,
	STRATA_LEVELS,
};

struct strata_sum {
	double known_ns, limited_ns, lost_ns;
	uint32_t connections;
};

/* Shares of known time, of the connections outside of the resource. */
struct strata_rates {
	double limited, lost;
	/*
	 * Limited, with as much of the resource's own connections mixed in that the mean of their
	 * deviations from it varies by chance as if the others' rate were known.
	 */
	double aligned;
};

struct strata {
	const struct fleet *f;
	uint32_t *keys[STRATA_LEVELS];          /* stratum of each connection */
	uint32_t sizes[STRATA_LEVELS];          /* strata */
	struct strata_sum *all[STRATA_LEVELS];  /* connections that count */
	struct strata_sum *own[STRATA_LEVELS];  /* those of the resource */
};

/* Returns 0 or -ENOMEM; strata_release() follows in either case. */
int strata_init(struct strata *s, const struct fleet *f);
void strata_release(struct strata *s);

/* Sums up the connections with left[connection]. */
void strata_count(struct strata *s, enum fleet_class class, const bool *left);

/* Add a counted connection to those of the resource, and forget all in its strata. */
void strata_own(struct strata *s, enum fleet_class class, uint32_t conn);
void strata_disown(struct strata *s, uint32_t conn);

/*
 * Sets the rates in the finest stratum of the connection with enough connections outside of the
 * resource, which is of this kind. Returns false if there is none.
 */
bool strata_rates(const struct strata *s, enum fleet_kind kind, uint32_t conn,
		  struct strata_rates *out);

#endif
