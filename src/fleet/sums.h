/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over connections of standardized series, by interval. Integers: connections may be added
 * and sums merged in any order, and a host that turns out to be wrong is subtracted again, with the
 * same bits as if it had never been there. They hold 2^44 connections without overflow.
 */
#ifndef HOSTLAT_FLEET_SUMS_H
#define HOSTLAT_FLEET_SUMS_H

#include <stddef.h>
#include <stdint.h>

struct fleet_sums {
	uint32_t intervals;
	uint32_t connections;
	int64_t *z;              /* sum of z in interval k, in 1/STANDARD_ONE */
	int64_t *weight;         /* sum of weights where known; both in one piece of memory */
};

/* Makes sums of no connections. Returns 0 or -ENOMEM. */
int fleet_sums_init(struct fleet_sums *sums, uint32_t intervals);
/* Accepts zeroed sums, and leaves such. */
void fleet_sums_release(struct fleet_sums *sums);

void fleet_sums_clear(struct fleet_sums *sums);
/*
 * Adds the n steps of a connection's series. The sums are then their own steps, until
 * fleet_sums_finish() makes sums of them.
 */
void fleet_sums_add(struct fleet_sums *sums, const uint64_t *steps, size_t n);
void fleet_sums_finish(struct fleet_sums *sums);
/* Both sums have the same intervals. */
void fleet_sums_merge(struct fleet_sums *sums, const struct fleet_sums *other);
void fleet_sums_subtract(struct fleet_sums *sums, const struct fleet_sums *part);

#endif
