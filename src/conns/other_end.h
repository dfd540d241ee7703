/* SPDX-License-Identifier: Apache-2.0 */
/* The other end of a connection, in another host's recording: as that host tells of it. */
#ifndef HOSTLAT_CONNS_OTHER_END_H
#define HOSTLAT_CONNS_OTHER_END_H

#include "conns/shown.h"
#include "report/report.h"

/* An object, or null. */
struct value other_end_value(const struct conns *c, const struct conns_shown *s,
			     const struct shown *one, struct report *r);

#endif
