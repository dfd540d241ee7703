/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `explain` says of the connections of its run: which limits they had, by what
 * `hostlat conns` recorded beside it; and where an application was what was waited for, what the
 * thread that serves the connection was doing, by the recording of the server's host.
 */
#ifndef HOSTLAT_CMD_EXPLAIN_CONNS_H
#define HOSTLAT_CMD_EXPLAIN_CONNS_H

#include "diagnose/diagnose.h"
#include "event/reader.h"
#include "report/report.h"

/* What explain keeps of them in its folder. */
#define EXPLAIN_CONNS "conns.hlat"

struct explain_conns;

/*
 * Reads `path`. `why`: it was not recorded, for this reason (NULL: it was); borrowed. To be freed
 * in either case. 0 or -errno.
 */
int explain_conns_new(struct explain_conns **out, const char *path, const char *why,
		      struct event_reader *server, struct event_reader *load);
void explain_conns_free(struct explain_conns *e);

/*
 * Adds "limits" and sentences to `r`, and fills in `document`, which is initialised, with what
 * `hostlat conns` says of these connections, if there is anything. Both borrow from `e`. 0 or
 * -errno.
 */
int explain_conns_report(struct explain_conns *e, const struct diagnosis *d, struct report *r,
			 struct report *document);

/* Whether `document` has something. */
bool explain_conns_known(const struct explain_conns *e);

#endif
