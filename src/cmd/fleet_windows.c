/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_windows.h"

#include <errno.h>
#include <stdlib.h>

int fleet_windows_init(struct fleet_windows *w, const struct fleet_grid *grid, uint32_t each)
{
	struct fleet_grid one = *grid;

	*w = (struct fleet_windows){ .start_ns = grid->start_ns,
				     .length_ns = each * grid->step_ns };
	w->fleets = calloc(grid->intervals / each, sizeof(*w->fleets));
	if (!w->fleets)
		return -ENOMEM;
	one.intervals = each;
	for (; w->n < grid->intervals / each; w->n++) {
		w->fleets[w->n] = fleet_new(&one);
		if (!w->fleets[w->n])
			return -ENOMEM;
		one.start_ns += w->length_ns;
	}
	return 0;
}

void fleet_windows_release(struct fleet_windows *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		fleet_free(w->fleets[i]);
	free(w->fleets);
	*w = (struct fleet_windows){ 0 };
}

int fleet_windows_add(const struct fleet_windows *w, uint32_t conn,
		      const struct fleet_reading *reading)
{
	const uint64_t end = w->start_ns + w->n * w->length_ns;
	int err = 0;

	if (reading->from_ns >= reading->to_ns)
		return -EINVAL;
	if (reading->from_ns >= end || reading->to_ns <= w->start_ns)
		return 0;
	for (uint64_t i = reading->from_ns <= w->start_ns ? 0 :
			  (reading->from_ns - w->start_ns) / w->length_ns;
	     i < w->n && w->start_ns + i * w->length_ns < reading->to_ns && !err; i++)
		err = fleet_add(w->fleets[i], conn, reading);
	return err;
}
