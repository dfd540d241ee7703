/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/standard.h"

int fleet_sums_init(struct fleet_sums *sums, uint32_t intervals)
{
	*sums = (struct fleet_sums){ .intervals = intervals };
	sums->z = calloc(2 * (size_t)intervals, sizeof(*sums->z));
	sums->weight = sums->z ? sums->z + intervals : NULL;
	return sums->z ? 0 : -ENOMEM;
}

void fleet_sums_release(struct fleet_sums *sums)
{
	free(sums->z);
	*sums = (struct fleet_sums){ 0 };
}

void fleet_sums_clear(struct fleet_sums *sums)
{
	memset(sums->z, 0, 2 * sums->intervals * sizeof(*sums->z));
	sums->connections = 0;
}

void fleet_sums_add(struct fleet_sums *sums, const uint64_t *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		sums->z[standard_step_at(steps[i])] += standard_step_z(steps[i]);
		sums->weight[standard_step_at(steps[i])] += standard_step_weight(steps[i]);
	}
	sums->connections++;
}

void fleet_sums_finish(struct fleet_sums *sums)
{
	for (uint32_t k = 1; k < sums->intervals; k++) {
		sums->z[k] += sums->z[k - 1];
		sums->weight[k] += sums->weight[k - 1];
	}
}

void fleet_sums_merge(struct fleet_sums *sums, const struct fleet_sums *other)
{
	for (size_t k = 0; k < 2 * (size_t)sums->intervals; k++)
		sums->z[k] += other->z[k];
	sums->connections += other->connections;
}

void fleet_sums_subtract(struct fleet_sums *sums, const struct fleet_sums *part)
{
	for (size_t k = 0; k < 2 * (size_t)sums->intervals; k++)
		sums->z[k] -= part->z[k];
	sums->connections -= part->connections;
}
