/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of a resource's children: sums of each host's connections, or, if all are of one host, its
 * connections. Many children are put into bundles by their names: pairs within a bundle do not
 * count, a sixty-fourth of all. Load that is common to all connections is removed first.
 */
#ifndef HOSTLAT_FLEET_CHILDREN_H
#define HOSTLAT_FLEET_CHILDREN_H

#include "fleet/class_sums.h"

#define CHILDREN_BUNDLES 64u

/* So many connections outside of a resource tell what load is common to all. */
#define CHILDREN_OUTSIDE_MIN 10u

/* Connections of a resource without those that share one of others, too. */
struct fleet_subset {
	uint32_t resource;
	uint32_t around;         /* those outside of it tell the common load; NONE: it stays */
	const uint32_t *without;
	size_t n_without;
};

/*
 * Common load. `series` is the mean z of connections outside of the resource in each interval;
 * NULL: there are too few, and each series' own moving mean is removed instead.
 *
 * The mean is the load and an error, which is removed from all children and makes them correlate.
 * How much is known: `noise`, the square of the error that a coefficient of 1 leaves in an
 * interval. With f . f = L + E, the load's and the error's share, it is E / (1 - E / (f . f)) by
 * interval; L is the correlation of the hosts outside with each other.
 */
struct common_load {
	uint32_t intervals;
	bool none;               /* nothing is removed */
	double *series;          /* owned */
	double noise;
};

/* A defined connection and the number of the series that it belongs to. */
struct child_conn {
	uint32_t at, child;      /* in class_sums.conns */
};

struct children {
	uint32_t n;              /* series: children, or bundles of them */
	uint32_t hosts, connections; /* with defined connections; defined connections */
	uint32_t intervals;
	bool are_connections;
	bool bundled;
	struct child_conn *conns; /* all `connections` */
	double *z;               /* z of child u in interval k: [u * intervals + k] */
	double *weight;          /* sum of the weights of known connections */
	double *sum, *sum_weight; /* totals of interval k */
	uint32_t *known;         /* children that are known in interval k */
	double bias;             /* U of the error of the common load */
	uint64_t *keys;          /* seed of child u's circular shifts */
	struct common_load load;
};

/*
 * Makes the series of a subset; n is 0 if no connection is defined. Returns 0 or -ENOMEM;
 * children_release() follows in either case.
 */
int children_make(struct class_sums *sums, const struct fleet_subset *subset,
		  struct children *out);
void children_release(struct children *children);

/*
 * Adds the steps of class_sums.conns[at] to z and weight, which are zeros before the first one.
 * children_add_up() then makes series of the sums of steps.
 */
void children_add_steps(const struct class_sums *sums, uint32_t at, double *z, double *weight);
void children_add_up(double *z, double *weight, uint32_t intervals);

/* Removes the common load from a series with its weights; returns its coefficient. */
double children_remove_load(const struct common_load *load, double *z, const double *weight);

/*
 * Removes a series' own moving mean, of a load without a series; its weights keep the scale of what
 * is left. Returns their factor.
 */
double children_smooth(const struct common_load *load, double *z, double *weight);

/* Returns the key of a resource or connection: the same in all runs, in any order of the input. */
uint64_t children_key(const char *name, uint64_t cookie);

#endif
