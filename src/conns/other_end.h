/* SPDX-License-Identifier: Apache-2.0 */
/* The other end of a connection, in another host's recording: as that host tells of it. */
#ifndef HOSTLAT_CONNS_OTHER_END_H
#define HOSTLAT_CONNS_OTHER_END_H

#include "conns/state.h"
#include "report/report.h"

/* Its view, judged. False if there is none. */
bool other_end_view(const struct conns *c, uint32_t conn, struct conn_room *room);

/* An object, or null. */
struct value other_end_value(const struct conns *c, uint32_t conn, struct report *r);

#endif
