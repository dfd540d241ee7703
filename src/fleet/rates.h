/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of fleet_more(): the share of time with a problem of a resource's connections, against
 * comparable connections outside of it. Times are in ns of connections.
 */
#ifndef HOSTLAT_FLEET_RATES_H
#define HOSTLAT_FLEET_RATES_H

#include <stdbool.h>

#include "fleet/strata.h"
#include "fleet/units.h"

/* A resource as a suspect. Sums are over the connections for which there are comparable ones. */
struct rates_suspect {
	uint32_t resource;
	enum fleet_kind kind;
	size_t entry, entries;   /* in rates.kinds[kind] */
	size_t unit, units;      /* in rates.units, until the next kind is measured */
	double known_ns, limited_ns, expected_ns, lost_ns, lost_expected_ns;
	double all_known_ns, all_limited_ns; /* all its connections */
	double z;
	double p_rank;           /* its children against all others */
	double p_usual;          /* it against others of its kind; 0: not asked, NaN: too few */
	double p;                /* the larger one, adjusted for all resources of the kind */
	double middle;           /* over half of its children have this ratio or a larger one */
	double worst_limited_ns, worst_expected_ns; /* the child with most of the excess */
	bool testable;
};

struct rates_suspects VEC_OF(struct rates_suspect);

/*
 * A child of a resource. A connection is a child of both its hosts, and must not be an other of
 * itself: both children have one place among those that are ranked.
 */
struct rates_unit {
	double limited_ns, expected_ns;
	double aligned_ns;       /* expected by strata_rates.aligned, for ranks */
	uint32_t conn;           /* one of the child's connections */
	uint32_t place;          /* among the `ranked` */
	bool is_own;             /* the resource is the host that was recorded, or holds hosts */
};

struct rates {
	const struct fleet *f;
	const struct fleet_options *options;
	enum fleet_class class;
	double families;         /* evidence, kinds and classes that are tested */
	struct units kinds[FLEET_KINDS];
	struct strata strata;
	bool *left;              /* for each connection: known, and no finding explains it */
	struct rates_suspects suspects;
	struct rates_units VEC_OF(struct rates_unit) units;
	uint32_t ranked;         /* places of `units` */
	uint32_t *places;        /* scratch: by connection; FLEET_NONE: not yet */
};

/* Replace `units` by those of a kind, and append its resources to the suspects. 0 or -ENOMEM. */
int rates_measure(struct rates *r, enum fleet_kind kind);

/* Computes z, p and the other statistics of the suspects of one kind. Returns 0 or -ENOMEM. */
int rates_judge(struct rates *r, struct rates_suspect *suspects, size_t n);

/* Returns the time with the problem over the expected one; above 0 only if there is any. */
double rates_ratio(const struct rates *r, double limited_ns, double expected_ns);

/* Sets the guilty resource that explains most; returns false if none is guilty. */
bool rates_strongest(const struct rates *r, struct rates_suspect *out);

/* Appends a finding and its members. Returns 0 or -ENOMEM. */
int rates_tell(const struct rates *r, const struct rates_suspect *suspect,
	       struct fleet_result *out);

#endif
