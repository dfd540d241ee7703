/* SPDX-License-Identifier: Apache-2.0 */
/* Connections for tests: events into the analysis, rows out of its reports. */
#ifndef HOSTLAT_TESTS_CONNS_RIG_H
#define HOSTLAT_TESTS_CONNS_RIG_H

#include "conns/conns.h"
#include "conns/view.h"

#define RIG_KNOWN 0x7ff /* all of enum conn_known */

struct conns_rig {
	struct conns *c;
	uint64_t now;         /* where the interval begins */
};

void rig_init(struct conns_rig *rig, const struct conns_options *options);
void rig_release(struct conns_rig *rig);

/* "10.0.0.1", 80: IPv4 */
void rig_flow(struct conns_rig *rig, uint32_t id, const char *local, uint16_t local_port,
	      const char *remote, uint16_t remote_port, uint64_t netns);
void rig_name(struct conns_rig *rig, uint32_t id, const char *text); /* DICT_STRING */

/* A record from `now` on for a second, of which the application takes what nothing else has. */
struct event_conn rig_conn(const struct conns_rig *rig, uint64_t cookie, uint32_t flow);
void rig_put(struct conns_rig *rig, const struct event_conn *e);
/* One that has sent up to `sent`, and received up to `received`. */
void rig_put_end(struct conns_rig *rig, uint64_t cookie, uint32_t flow, uint32_t sent,
		 uint32_t received, uint32_t flags);
/* Puts it with its application's time made to fit. */
void rig_put_fitted(struct conns_rig *rig, struct event_conn e);
void rig_record(struct conns_rig *rig, uint16_t kind, const void *payload, size_t size);
void rig_interval(struct conns_rig *rig); /* Ends an interval of one second. */

void rig_report(struct conns_rig *rig, enum conns_span span, struct report *r);

/* The cell of a table's row; fails if there is none. */
const struct value *rig_cell(const struct table *t, const struct table_row *row,
			     const char *column);
const struct table *rig_table(const struct report *r, const char *name);
const struct value *rig_field(const struct object *o, const char *name);
/* NULL if there is none. */
const struct table_row *rig_connection(const struct report *r, uint64_t cookie);
const struct table_row *rig_problem(const struct report *r, uint64_t cookie, enum conn_class class);
/* Whether the report of the span has it. */
bool rig_has(struct conns_rig *rig, enum conns_span span, uint64_t cookie, enum conn_class class);

#endif
