/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines as sentences, and as a table. */
#ifndef HOSTLAT_FLEET_PIPELINES_REPORT_H
#define HOSTLAT_FLEET_PIPELINES_REPORT_H

#include "fleet/view.h"

/* Returns the pipeline with most waiting that this reader gets; NULL: there is none. */
const struct fleet_pipeline *pipelines_report_first(const struct fleet *f,
						    const struct fleet_result *result,
						    const struct fleet_view *view);

/*
 * Returns one sentence: which application waits, when, for how much of the time. The string belongs
 * to the report.
 */
const char *pipelines_report_verdict(const struct fleet *f, const struct fleet_pipeline *pipeline,
				     struct report *r);

/* Adds a finding for each pipeline that this reader gets, and their table. */
void pipelines_report(const struct fleet *f, const struct fleet_result *result,
		      const struct fleet_view *view, struct report *r);

#endif
