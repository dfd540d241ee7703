/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/over_time.h"

#include "base/bug.h"
#include "fleet/state.h"

struct over_time_point {
	uint64_t sum;            /* sum of shares, in steps of 1/FLEET_STEPS */
	uint64_t known;
};

static void fleet_over_time_add(const struct fleet *f, const struct fleet_series *s,
				enum fleet_class class, uint32_t width,
				struct over_time_point *points)
{
	struct fleet_runs_cursor at = fleet_series_runs(f, s, class);

	for (struct fleet_run run; fleet_runs_next(&at, &run);)
		for (uint32_t k = run.from, to; k < run.to; k = to) {
			struct over_time_point *point = &points[k / width];
			const uint32_t end = (k / width + 1) * width;

			to = run.to < end ? run.to : end;
			point->sum += (uint64_t)(to - k) * run.cell;
			point->known += to - k;
		}
}

struct value fleet_over_time(const struct fleet *f, const struct fleet_finding *finding,
			     struct report *r)
{
	static const struct column columns[] = {
		{ .name = "offset_ns" }, { .name = "length_ns" }, { .name = "share" },
	};
	const uint32_t k = f->grid.intervals, width = (k + FLEET_POINTS - 1) / FLEET_POINTS;
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct over_time_point points[FLEET_POINTS] = { 0 };

	vec_for_each(&f->all, s)
		if (fleet_series_shares(f, s, finding->resource))
			fleet_over_time_add(f, s, finding->class, width, points);
	for (uint32_t i = 0; i * width < k; i++) {
		const uint32_t n = k - i * width < width ? k - i * width : width;
		const double all = (double)points[i].known * FLEET_STEPS;

		TABLE_ADD(t, value_ns(f->grid.step_ns * i * width), value_ns(f->grid.step_ns * n),
			  points[i].known ? value_fraction((double)points[i].sum / all) :
					    value_null());
	}
	return value_table(t);
}
