/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_look.h"

#include "base/log.h"
#include "cmd/fleet_read.h"

#define SHIFTS_SEED 1u

int fleet_look_find(const struct fleet_config *c, struct fleet_inputs *in, struct fleet_look *look)
{
	int code;

	if (c->store)
		return fleet_stored_find(c, in, &look->stored);
	code = fleet_scan_read(&in->scan, c->files.items, c->files.len);
	if (code == EXIT_OK && !fleet_scan_grid(&in->scan, c->step_ns, c->last_ns, &in->grid))
		code = EXIT_USAGE;
	return code;
}

int fleet_look_read(const struct fleet_config *c, struct fleet_inputs *in, struct fleet_look *look)
{
	if (fleet_windows_init(&look->windows, &in->grid, in->grid.intervals)) {
		log_error("out of memory");
		return EXIT_CANNOT;
	}
	return c->store ? fleet_stored_read(&look->stored, in, look->windows.fleets[0]) :
			  fleet_read(in, &look->windows, NULL, NULL);
}

int fleet_look_analyze(struct fleet_look *look)
{
	const struct fleet_options options = { .alpha = FLEET_FALSE_FINDINGS,
					       .seed = SHIFTS_SEED };

	if (!fleet_analyze(look->windows.fleets[0], &options, &look->result))
		return EXIT_OK;
	log_error("out of memory");
	return EXIT_CANNOT;
}

void fleet_look_release(struct fleet_look *look)
{
	fleet_result_release(&look->result);
	fleet_windows_release(&look->windows);
	fleet_stored_release(&look->stored);
}
