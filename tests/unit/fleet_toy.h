/* SPDX-License-Identifier: Apache-2.0 */
/* Small fleets by hand: connections with a constant share of one class, or with events. */
#ifndef TESTS_UNIT_FLEET_TOY_H
#define TESTS_UNIT_FLEET_TOY_H

#include "fleet/state.h"

#define TOY_START 1800000000000000000ULL
#define TOY_STEP 2000000000ULL
#define TOY_INTERVALS 300u

struct toy {
	struct fleet *f;
	double waiting;          /* time lost for each second with a problem; from 1 */
	struct fleet_result result;
};

/* Resources by number; all are FLEET_NONE but the host: none. */
struct toy_conn {
	uint32_t host, rack, app, link, service;
};

void toy_init(struct toy *toy);
void toy_release(struct toy *toy);

/* The fleet of a test program: made before each test, and released after it. */
extern struct toy toy;
int toy_begin(void **state);
int toy_end(void **state);

/* Returns the resource, such as "rack3". */
uint32_t toy_resource(struct toy *toy, enum fleet_kind kind, uint32_t which);

/* Adds a connection without readings. */
uint32_t toy_connect(struct toy *toy, const struct toy_conn *conn);

/* Adds a connection of application 0 that `host` recorded, to another host; without readings. */
uint32_t toy_connect_hosts(struct toy *toy, uint32_t host, uint32_t remote);

/* Adds a reading of intervals `from` to `to`: a share of the class, for which data waited. */
void toy_read(struct toy *toy, uint32_t conn, uint32_t from, uint32_t to, enum fleet_class class,
	      double share);

/*
 * Adds a connection that has this share of the class all the time, times 0.7 to 1.3: connections
 * are not all equal.
 */
uint32_t toy_add(struct toy *toy, const struct toy_conn *conn, enum fleet_class class,
		 double share);

/* Returns the only finding, of this evidence and resource; NULL: it is another one, or several. */
const struct fleet_finding *toy_only(struct toy *toy, enum fleet_evidence evidence,
				     enum fleet_kind kind, uint32_t which);

#endif
