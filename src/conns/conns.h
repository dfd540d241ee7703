/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis behind `hostlat conns`: what limits each connection. Events in, report out.
 *
 * Live or from a file, the events are the same: facts and names, EV_FLOW of a connection before
 * its first EV_CONN, then the EV_CONN of each interval, closed by an EV_INTERVAL. What the rules
 * are and why: docs/design/connections.md.
 */
#ifndef HOSTLAT_CONNS_CONNS_H
#define HOSTLAT_CONNS_CONNS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/source.h"
#include "report/report.h"

/* Of the JSON document; for struct provenance. */
#define CONNS_SCHEMA 1

/* Facts about the run that have a place in the report (EV_FACT). */
#define CONNS_FACT_BUDGET_LOW "conns.budget_low"   /* share of one core, "0.01" */
#define CONNS_FACT_BUDGET_HIGH "conns.budget_high"
#define CONNS_FACT_MISSING "conns.missing"         /* one per thing not measured: "name: why" */

enum conns_span { CONNS_INTERVAL, CONNS_TOTAL, CONNS_SPANS };

enum conns_result {
	CONNS_MORE,
	CONNS_CLOSED, /* an interval is complete */
};

#endif
