/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain ways to look for common times, each of which falls into a trap that hostlat's way avoids:
 * tests show both on the same fleet. docs/results/fleet-traps.md lists them.
 */
#ifndef TESTS_SIM_FLEET_PLAIN_H
#define TESTS_SIM_FLEET_PLAIN_H

#include "fleet_model.h"
#include "fleet/synchrony.h"

/*
 * Returns the mean correlation of all pairs, of vectors in which `classes` classes follow each
 * other, all but one of them constant. Without a reading: 0.
 */
double plain_correlation(const struct model *m, unsigned int classes);

/* Returns the correlation of a resource's children whose common load stays, and its z. */
struct synchrony plain_synchrony(const struct model *m, uint32_t resource);

/* Returns the greatest z of a kind's resources, each tested by itself with the load that it has. */
double plain_z(const struct model *m, enum fleet_kind kind);

/* Returns how many of a kind's resources are significant at alpha, each tested by itself. */
uint32_t plain_significant(const struct model *m, enum fleet_kind kind, double alpha);

/* Returns z of all pairs of a resource's connections, also of pairs on the same host. */
double plain_pairs_z(const struct model *m, uint32_t resource);

/*
 * Returns the greatest z of a kind's resources if the load is removed by regression on the mean of
 * the connections outside, as if that mean had no error.
 */
double plain_regressed_z(const struct model *m, enum fleet_kind kind);

/*
 * Returns the correlation of the sums of the first n connections and of the next `others` if
 * readings of the first ones come `late` intervals later.
 */
double plain_late(const struct model *m, uint32_t n, uint32_t others, uint32_t late);

#endif
